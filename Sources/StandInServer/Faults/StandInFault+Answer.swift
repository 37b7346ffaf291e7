import LosslessJSON

extension StandInFault.Kind {
  /// What the client gets instead of the server's own answer.
  func answer(to request: StandInRequest) -> StandInAnswer {
    switch self {
    case .unavailable(let seconds):
      var answer = Self.unavailable(request)
      answer.fields += Self.retryAfter(seconds)
      return answer
    case .rateLimit(let seconds):
      var answer = Self.rateLimited(request)
      answer.fields += Self.retryAfter(seconds)
      return answer
    case .schemaCache("PGRST002"):
      return RestError(
        503, "PGRST002", "Could not query the database for the schema cache. Retrying.",
        fields: [("Retry-After", "1")]
      ).answer
    case .schemaCache("PGRST204"):
      return RestError(400, "PGRST204", "Could not find the column in the schema cache").answer
    case .schemaCache(let code):
      return RestError(404, code, "Could not find the table '\(request.path)' in the schema cache").answer
    case .expiredToken:
      if request.path.hasPrefix("/auth/") { return AuthError.expired.answer(to: request) }
      if request.path.hasPrefix("/storage/") {
        return Self.storage(400, "403", "Unauthorized", "\"exp\" claim timestamp check failed")
      }
      return RestError.badToken("PGRST303", "JWT expired").answer
    case .answer(let status, let contentType, let headers, let body):
      let fields = headers.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
      return StandInAnswer(status: status, fields: [("Content-Type", contentType)] + fields, body: Array(body.utf8))
    case .dropBefore, .dropAfter, .truncate, .latency, .slowUpload, .clockSkew, .realtimeSilence, .realtimeDisconnect:
      var answer = StandInAnswer(status: 200)
      answer.delivery = .dropped
      return answer
    }
  }

  private static func unavailable(_ request: StandInRequest) -> StandInAnswer {
    guard request.path.hasPrefix("/rest/") else { return Gateway.refusal(503, "The service is not available") }
    return RestError(503, "PGRST001", "Database client error. Retrying the connection.").answer
  }

  private static func rateLimited(_ request: StandInRequest) -> StandInAnswer {
    if request.path.hasPrefix("/auth/") { return AuthError.rateLimited.answer(to: request) }
    if request.path.hasPrefix("/storage/") {
      return storage(429, "429", "too_many_connections", "Too many connections issued to the database")
    }
    return Gateway.refusal(429, "API rate limit exceeded")
  }

  private static func storage(_ status: Int, _ code: String, _ error: String, _ message: String) -> StandInAnswer {
    .json(status, ["statusCode": .string(code), "error": .string(error), "message": .string(message)])
  }

  private static func retryAfter(_ seconds: Int?) -> [(name: String, value: String)] {
    seconds.map { [("Retry-After", String($0))] } ?? []
  }
}
