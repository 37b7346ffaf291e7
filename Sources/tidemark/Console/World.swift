import OfflineEngine
import SupabaseAPI

/// The live world of one command.
struct World {
  let http: CurlExchange
  let environment: EngineEnvironment

  /// The world with the proxies and certificates of the process's environment.
  init(_ variables: [String: String]) {
    let variable = { (name: String) in
      (variables[name] ?? variables[name.uppercased()]).flatMap { $0.isEmpty ? nil : $0 }
    }
    // The upper-case HTTP_PROXY is left alone, as curl does: a web server would let a request set it.
    let settings = CurlSettings(
      httpProxy: variables["http_proxy"].flatMap { $0.isEmpty ? nil : $0 } ?? variable("all_proxy"),
      httpsProxy: variable("https_proxy") ?? variable("all_proxy"),
      hostsWithoutProxy: variable("no_proxy") ?? "",
      authoritiesFile: variables["CURL_CA_BUNDLE"] ?? variables["SSL_CERT_FILE"])
    http = CurlExchange(settings)
    environment = .live(http: http, sockets: CurlWebSocketOpener(settings))
  }
}
