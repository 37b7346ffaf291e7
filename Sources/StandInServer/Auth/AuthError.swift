import LosslessJSON

/// An error as Supabase Auth answers it.
struct AuthError: Error, Equatable {
  let status: Int
  let code: String
  let message: String
  /// Why a password is weak.
  var weakPasswordReasons: [String] = []

  init(_ status: Int, _ code: String, _ message: String, weakPasswordReasons: [String] = []) {
    self.status = status
    self.code = code
    self.message = message
    self.weakPasswordReasons = weakPasswordReasons
  }

  /// The answer, in the shape that the request's `X-Supabase-Api-Version` asks for: from 2024-01-01 on `code` is the
  /// word, before it was the status.
  func answer(to request: StandInRequest) -> StandInAnswer {
    var body: JSONObject
    var fields: [(name: String, value: String)] = [("x-sb-error-code", code)]
    if let version = request.field("X-Supabase-Api-Version"), Self.isCurrent(version) {
      body = ["code": .string(code), "message": .string(message)]
      fields.append(("X-Supabase-Api-Version", "2024-01-01"))
    } else {
      body = ["code": .number(JSONNumber(Int64(status))), "error_code": .string(code), "msg": .string(message)]
    }
    if !weakPasswordReasons.isEmpty {
      body["weak_password"] = ["reasons": .array(weakPasswordReasons.map(JSONValue.string))]
    }
    return .json(status, .object(body), fields: fields)
  }

  /// Whether a text is a date from 2024-01-01 on.
  private static func isCurrent(_ version: String) -> Bool {
    let parts = version.split(separator: "-").compactMap { Int($0) }
    guard parts.count == 3, version.utf8.count == 10 else { return false }
    return CivilDate(year: parts[0], month: parts[1], day: parts[2]) != nil && parts[0] >= 2024
  }

  static let badJSON = AuthError(400, "bad_json", "Could not parse request body as JSON")
  static let expired = AuthError(
    403, "bad_jwt", "invalid JWT: unable to parse or verify signature, token has invalid claims: token is expired")
  static let badToken = AuthError(403, "bad_jwt", "invalid JWT: unable to parse or verify signature")
  static let noAuthorization = AuthError(401, "no_authorization", "This endpoint requires a valid Bearer token")
  static let invalidCredentials = AuthError(400, "invalid_credentials", "Invalid login credentials")
  static let rateLimited = AuthError(429, "over_request_rate_limit", "Request rate limit reached")
  static let tooLarge = AuthError(413, "request_entity_too_large", "Request body too large")
  static let refreshTokenNotFound = AuthError(
    400, "refresh_token_not_found", "Invalid Refresh Token: Refresh Token Not Found")
  static let refreshTokenAlreadyUsed = AuthError(
    400, "refresh_token_already_used", "Invalid Refresh Token: Already Used")
  static let sessionNotFound = AuthError(
    403, "session_not_found", "Session from session_id claim in JWT does not exist")
  static let userNotFound = AuthError(403, "user_not_found", "User from sub claim in JWT does not exist")
}
