import LosslessJSON

extension TableAnswer {
  /// Tells an answer of PostgREST from everything that only looks like one.
  ///
  /// A refusal needs PostgREST's own word: a 4xx whose body has a `code` that is a text, or whose `Proxy-Status` names
  /// PostgREST with one. 413 is a refusal whoever sends it, since the same bytes will be too many again.
  public init(judging response: HTTPResponse, to request: TableRequest) throws(SupabaseError) {
    let answer = RawAnswer(response)
    guard (200...299).contains(response.status) else { throw Self.failure(answer) }
    try self.init(success: answer, to: request)
  }

  /// What an answer without success means.
  static func failure(_ answer: RawAnswer) -> SupabaseError {
    switch answer.status {
    case 408, 425, 429, 500...:
      .unavailable(
        status: answer.status, retryAfter: answer.response.retryAfter, ServerError(postgREST: answer))
    case 400...499: refusal(answer)
    default: answer.notAnAnswer
    }
  }

  private static func refusal(_ answer: RawAnswer) -> SupabaseError {
    guard let error = ServerError(postgREST: answer) else {
      if answer.status == 413 {
        return .refused(ServerError(status: 413, code: "413", message: "the request is too large"))
      }
      if answer.status == 401 || answer.status == 403, let message = answer.text("message", "msg", "error") {
        return .gatewayRefused(status: answer.status, message: PrintableText.of(message))
      }
      return answer.notAnAnswer
    }
    return switch kinds[error.code] ?? .refused {
    case .token where error.status == 401: .tokenRefused(error)
    case .schema: .schemaCache(error)
    case .wait:
      .unavailable(status: error.status, retryAfter: answer.response.retryAfter, error)
    case .refused, .token: .refused(error)
    }
  }

  private enum Kind {
    case token
    case schema
    case wait
    case refused
  }

  /// The codes that do not mean a plain refusal.
  private static let kinds: [String: Kind] = [
    "PGRST301": .token,  // Not decodable, bad signature; expired, up to version 12.
    "PGRST302": .token,  // Anonymous access is off, so the token did not arrive.
    "PGRST303": .token,  // Expired, not yet valid, for somebody else.
    "22023": .token,  // With 401: the role in the token does not exist.
    "PGRST204": .schema,  // Unknown column in a body or in `columns`.
    "PGRST205": .schema,  // Unknown table.
    "42P01": .schema,  // Unknown table, up to version 12.
    "42703": .schema,  // Unknown column in a filter, an order or a list of columns.
    "PGRST000": .wait, "PGRST001": .wait, "PGRST002": .wait, "PGRST003": .wait,
  ]

  private init(success answer: RawAnswer, to request: TableRequest) throws(SupabaseError) {
    let response = answer.response
    let rangeText = response.fields["Content-Range"]
    let range = rangeText.flatMap(ContentRange.init)
    var rows: [JSONObject] = []
    if request.returnsRows {
      guard response.status == 200 || response.status == 201 || response.status == 206 else { throw answer.notAnAnswer }
      guard let values = request.isSingle ? answer.json.map({ [$0] }) : answer.json?.arrayValue else {
        throw answer.notAnAnswer
      }
      rows = values.compactMap(\.objectValue)
      guard rows.count == values.count else { throw answer.notAnAnswer }
    } else {
      // Nothing but the head says who answered: PostgREST sends a range with each of these.
      guard response.body.isEmpty, range != nil || response.status == 201 || response.status == 204 else {
        throw answer.notAnAnswer
      }
    }
    if request.count != nil, range?.total == nil {
      throw .notAnAnswer(status: response.status, reason: "no count, although one was asked for", retryAfter: nil)
    }
    self.init(
      rows: rows, total: range?.total, rangeCount: range?.count, serverDate: response.serverDate,
      status: response.status, appliedPreferences: Self.preferences(response), sends: response.sends)
  }

  private static func preferences(_ response: HTTPResponse) -> [String] {
    response.fields.all("Preference-Applied").flatMap { $0.split(separator: ",").map { ASCII.trimmed($0) } }
  }
}

extension ServerError {
  /// PostgREST's own error, or nil where the answer is not PostgREST's.
  init?(postgREST answer: RawAnswer) {
    guard let code = answer.json?["code"]?.stringValue ?? Self.proxyStatusCode(answer.response), !code.isEmpty else {
      return nil
    }
    self.init(
      status: answer.status, code: code, message: answer.text("message") ?? "",
      details: answer.details("details"), hint: answer.details("hint"))
  }

  /// The code in `Proxy-Status: PostgREST; error=23514`, all that an answer to HEAD has.
  ///
  /// Other proxies use the header for errors of their own, so the name before the semicolon counts.
  private static func proxyStatusCode(_ response: HTTPResponse) -> String? {
    for entry in response.fields.all("Proxy-Status").flatMap({ $0.split(separator: ",") }) {
      let parts = entry.split(separator: ";").map { ASCII.trimmed($0) }
      guard parts.first == "PostgREST" else { continue }
      for part in parts where part.hasPrefix("error=") { return String(part.dropFirst("error=".count)) }
    }
    return nil
  }
}
