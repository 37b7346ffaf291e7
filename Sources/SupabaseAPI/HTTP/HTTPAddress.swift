/// Where a request goes: the parts of a URL that decide about proxies and appear in messages.
///
/// Stricter than libcurl's own parser, so that the two can never read one URL differently.
struct HTTPAddress: Sendable, Hashable {
  /// `http` or `https`.
  let scheme: String
  /// The host in lower case, an IPv6 address in its brackets.
  let host: String
  /// The port, where the URL names one.
  let port: Int?
  /// The path and the query, as written; empty where there is none.
  let rest: String

  /// Scheme, host and port: all that a message may show of a URL.
  var origin: String { "\(scheme)://\(authority)" }

  /// Host and port, as `Host` names them.
  var authority: String { host + (port.map { ":\($0)" } ?? "") }

  /// Whether the host is this machine, where a proxy could not reach it.
  var isLoopback: Bool {
    host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
      || (host.hasPrefix("127.") && host.utf8.allSatisfy { ASCII.isDigit($0) || $0 == UInt8(ascii: ".") })
  }

  /// Reads a URL.
  ///
  /// - Throws: `HTTPError.badRequest` with what is wrong, never with the URL itself.
  init(_ url: String) throws(HTTPError) {
    guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw .badRequest(reason: "the URL holds a blank, a control character or a character that is not ASCII")
    }
    guard !url.utf8.contains(where: { "#\\\"<>^`{|}".utf8.contains($0) }) else {
      throw .badRequest(reason: "the URL holds a character that must be percent-encoded, or a fragment")
    }
    guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://") else {
      throw .badRequest(reason: "the URL does not start with http:// or https://")
    }
    scheme = url[..<colon].lowercased()
    guard scheme == "http" || scheme == "https" else {
      throw .badRequest(reason: "the URL does not start with http:// or https://")
    }
    let afterScheme = url[url.index(colon, offsetBy: 3)...]
    let authority = afterScheme.prefix { $0 != "/" && $0 != "?" }
    rest = String(afterScheme[authority.endIndex...])
    guard !authority.contains("@") else {
      throw .badRequest(reason: "the URL holds a user name or a password")
    }
    (host, port) = try Self.split(authority)
  }

  private static func split(_ authority: Substring) throws(HTTPError) -> (host: String, port: Int?) {
    let hostEnd: Substring.Index
    if authority.hasPrefix("[") {
      guard let bracket = authority.firstIndex(of: "]"),
        authority[..<bracket].dropFirst().utf8.allSatisfy({ isAddressByte($0) })
      else { throw .badRequest(reason: "the IPv6 address in the URL is not complete") }
      hostEnd = authority.index(after: bracket)
    } else {
      hostEnd = authority.firstIndex(of: ":") ?? authority.endIndex
      guard authority[..<hostEnd].utf8.allSatisfy({ isNameByte($0) }) else {
        throw .badRequest(reason: "the host of the URL holds a character that is not allowed there")
      }
    }
    let host = authority[..<hostEnd].lowercased()
    guard !host.isEmpty, host != "[]" else { throw .badRequest(reason: "the URL names no host") }
    guard hostEnd != authority.endIndex else { return (host, nil) }
    guard authority[hostEnd] == ":",
      let port = ASCII.number(authority[authority.index(after: hostEnd)...]), (1...65_535).contains(port)
    else { throw .badRequest(reason: "the port of the URL is not a number from 1 to 65535") }
    return (host, Int(port))
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    ASCII.isAlphanumeric(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
  }

  private static func isAddressByte(_ byte: UInt8) -> Bool {
    ASCII.isAlphanumeric(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
  }
}
