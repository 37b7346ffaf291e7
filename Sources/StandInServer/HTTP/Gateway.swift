import LosslessJSON

/// What stands in front of the services on a Supabase project: routes, the project's key, the swap of keys for tokens.
enum Gateway {
  /// The services by their paths.
  enum Service {
    case rest
    case auth
    case realtime
    case storage
    case none
  }

  static func service(of path: String) -> Service {
    if path == "/rest/v1" || path.hasPrefix("/rest/v1/") { return .rest }
    if path.hasPrefix("/auth/v1/") { return .auth }
    if path.hasPrefix("/realtime/v1/") { return .realtime }
    if path.hasPrefix("/storage/v1/") { return .storage }
    return .none
  }

  /// Whether the one `Host` field names this machine itself.
  static func isLoopback(_ hosts: [String]) -> Bool {
    // Only programs speak HTTP/1.0 without one; a browser always says where it thinks it is.
    guard let host = hosts.first else { return true }
    guard hosts.count == 1 else { return false }
    var name = Substring(host)
    if name.hasPrefix("[") {
      guard let end = name.firstIndex(of: "]") else { return false }
      let port = name[name.index(after: end)...]
      guard port.isEmpty || isPort(port) else { return false }
      name = name[name.index(after: name.startIndex)..<end]
      return name == "::1"
    }
    if let colon = name.firstIndex(of: ":") {
      guard isPort(name[colon...]) else { return false }
      name = name[..<colon]
    }
    return name == "127.0.0.1" || isSameFieldName(String(name), "localhost")
  }

  /// Whether a browser sends the request for a page of this machine, or no browser for no page.
  ///
  /// A page from elsewhere can make a browser send what needs no answer; it says then whose page it is.
  static func isFromHere(_ origins: [String]) -> Bool {
    origins.allSatisfy { origin in
      guard let range = origin.firstRange(of: "://"), ["http", "https"].contains(origin[..<range.lowerBound]) else {
        return false
      }
      return isLoopback([String(origin[range.upperBound...])])
    }
  }

  private static func isPort(_ text: Substring) -> Bool {
    text.hasPrefix(":") && text.utf8.count <= 6 && text.utf8.dropFirst().allSatisfy(isDigit)
  }

  /// The project's key that a request carries, in the field or in the query.
  static func key(of request: StandInRequest) -> String? {
    for name in ["apikey", "x-api-key"] { if let key = request.field(name), !key.isEmpty { return key } }
    return QueryText.parameters(request.query).first { $0.name == "apikey" }?.value
  }

  /// The request as the service gets it: a key in the query is the gateway's and would be taken for a filter.
  static func withoutKeyInQuery(_ request: StandInRequest) -> StandInRequest {
    guard request.query.utf8.count >= 7, hasKeyInQuery(request.query) else { return request }
    var stripped = request
    stripped.query = request.query.split(separator: "&").filter { !$0.hasPrefix("apikey=") }.joined(separator: "&")
    return stripped
  }

  /// The request as a PostgREST behind the gateway gets it: its own path, and a token it can verify.
  static func forPostgREST(_ request: StandInRequest, token: String) -> StandInRequest {
    var forwarded = withoutKeyInQuery(request)
    forwarded.path = String(request.path.dropFirst("/rest/v1".count))
    if forwarded.path.isEmpty { forwarded.path = "/" }
    forwarded.fields.removeAll { isSameFieldName($0.name, "Authorization") }
    forwarded.fields.append(("Authorization", "Bearer \(token)"))
    return forwarded
  }

  /// Whether a query holds a key.
  static func hasKeyInQuery(_ query: String) -> Bool {
    var rest = query.utf8[...]
    while !rest.starts(with: "apikey=".utf8) {
      guard let end = rest.firstIndex(of: UInt8(ascii: "&")) else { return false }
      rest = rest[rest.index(after: end)...]
    }
    return true
  }

  /// The token that the service judges.
  ///
  /// A missing one, or the key itself in its place, stands for the key's role.
  static func token(of request: StandInRequest, key: String) -> String? {
    guard let token = bearer(of: request) else { return nil }
    if token.hasPrefix("sb_"), token == key { return nil }
    return token
  }

  /// What follows `Bearer`, in any case of that word; `nil` for no such field or another scheme.
  static func bearer(of request: StandInRequest) -> String? {
    guard let field = request.field("Authorization") else { return nil }
    let scheme = field.prefix(6)
    guard isSameFieldName(String(scheme), "Bearer") else { return nil }
    let rest = field.dropFirst(6)
    guard rest.isEmpty || rest.first == " " else { return nil }
    return String(decoding: trimmedBytes(String(rest)), as: UTF8.self)
  }

  static let noKey = refusal(
    401, "No API key found in request", hint: "No `apikey` request header or url param was found.")

  /// Whether a browser shows a secret key to whoever looks at its page.
  static func isSecretInBrowser(_ key: String, _ request: StandInRequest) -> Bool {
    key.hasPrefix("sb_secret_") && request.field("User-Agent")?.hasPrefix("Mozilla/") == true
  }

  static let secretInBrowser = refusal(
    401, "Forbidden use of secret API key in browser",
    hint: "A secret API key sees every row: it belongs where nobody else can read it.")

  static let wrongKey = refusal(
    401, "Invalid API key", hint: "Double check your Supabase `anon` or `service_role` API key.")

  /// The gateway's own words, which have no `code`.
  static func refusal(_ status: Int, _ message: String, hint: String? = nil) -> StandInAnswer {
    var body: JSONObject = ["message": .string(message)]
    body["hint"] = hint.map(JSONValue.string)
    return .json(status, .object(body))
  }
}
