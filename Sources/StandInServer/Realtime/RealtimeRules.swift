import LosslessJSON

/// What every connection needs to judge who asks and for what.
struct RealtimeRules: Sendable {
  let schema: Schema
  let keys: Keys
  /// The time between a join's answer and the moment from which changes are told.
  let subscribeMicroseconds: Int64
  let randomBytes: @Sendable (Int) -> [UInt8]

  /// The most channels of one connection.
  static let channelCountMax = 100
  /// A client that says nothing for so long is gone.
  static let silenceMicroseconds: Int64 = 60_000_000
  /// A connection without a channel ends after this.
  static let emptyMicroseconds: Int64 = 600_000_000
  /// A longer message ends the connection.
  static let messageBytesMax = 5_000_000

  /// Who a token says the subscriber is, and until when.
  struct Grant {
    var caller: Caller
    /// The token; `nil` where the connection's key speaks.
    var token: String?
    /// Microseconds of the Unix epoch; `nil` for ever.
    var expiresAt: Int64?
  }

  /// Why a token is none.
  struct Refusal: Error {
    /// The code that a refused join has in front.
    let code: String
    let message: String
  }

  /// Judges a token, which the service does not take for longer than it says.
  func grant(_ token: String?, keyRole: Role, now: Int64) throws(Refusal) -> Grant {
    guard let token, !token.hasPrefix("sb_") else {
      return Grant(caller: Caller(role: keyRole, subject: nil), token: nil, expiresAt: nil)
    }
    let claims: JSONObject
    do throws(JSONWebToken.Fault) {
      claims = try keys.token(token).claims
    } catch {
      switch error {
      case .parts, .undecodable:
        throw Refusal(code: "MalformedJWT", message: "The token provided is not a valid JWT")
      case .unsecured, .algorithm:
        throw Refusal(code: "JwtSignerError", message: "Failed to generate JWT signer")
      case .signature:
        throw Refusal(code: "JwtSignatureError", message: "Failed to validate JWT signature")
      }
    }
    guard let role = claims["role"]?.stringValue.flatMap(Role.init(rawValue:)),
      let expiry = claims["exp"]?.numberValue?.double, let seconds = Int64(exactly: expiry.rounded(.down)),
      seconds < Int64.max / 1_000_000
    else { throw Refusal(code: "InvalidJWTToken", message: "Fields `role` and `exp` are required in JWT") }
    guard now < seconds * 1_000_000 else { throw Self.expired(since: seconds * 1_000_000, now: now) }
    return Grant(
      caller: Caller(role: role, subject: claims["sub"].flatMap { ColumnType.plainText($0) }), token: token,
      expiresAt: seconds * 1_000_000)
  }

  static func expired(since expiry: Int64, now: Int64) -> Refusal {
    Refusal(code: "InvalidJWTToken", message: "Token has expired \((now - expiry) / 1_000_000) seconds ago")
  }
}
