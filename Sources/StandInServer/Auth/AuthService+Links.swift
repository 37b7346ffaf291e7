import LosslessJSON
import SQLite

/// The links of mails: `GET verify` uses a code up and leads back into an app, with a session or with a code for one.
extension AuthService {
  /// How long the code that a link leads back with is good.
  private static let flowSeconds: Int64 = 300
  /// Where a link leads that names no place of this machine.
  static let site = "http://localhost:3000"
  /// What a link says of a token whose app asked with a challenge.
  private static let challengedPrefix = "pkce_"

  /// What a person would click; `nil` where a code is typed in only.
  func link(
    _ purpose: OneTimeCode.Purpose, _ code: OneTimeCode, challenge: CodeChallenge?, _ asked: AuthRequest
  ) -> String? {
    let type: String
    switch purpose {
    case .confirmation: type = "signup"
    // A sign-in by mail and a forgotten password have the same codes; the page that the link leads to is told which.
    case .recovery: type = asked.isRecovery ? "recovery" : "magiclink"
    case .emailChange, .invite: type = purpose.rawValue
    case .reauthentication: return nil
    }
    let token = (challenge == nil ? "" : Self.challengedPrefix) + code.hash
    let target = asked.parameter("redirect_to").map { "&redirect_to=\(QueryText.encoded($0))" } ?? ""
    return "\(asked.issuer)/verify?token=\(token)&type=\(type)\(target)"
  }

  /// Follows a link: always to a page, which is told what went wrong.
  func follow(_ asked: AuthRequest) throws -> StandInAnswer {
    let target = asked.parameter("redirect_to").flatMap { Self.isOfThisMachine($0) ? $0 : nil } ?? Self.site
    let token = asked.parameter("token") ?? ""
    let isChallenged = token.hasPrefix(Self.challengedPrefix)
    let hash = String(isChallenged ? token.dropFirst(Self.challengedPrefix.count) : token[...])
    do {
      let purposes = asked.parameter("type").flatMap { Self.purposes[$0] } ?? []
      let told = try database.use { database in
        try database.transaction {
          try follow(hash, for: purposes, asked, in: database)
        }
      }
      return Self.redirect(to: target, told, inQuery: isChallenged)
    } catch let error as AuthError {
      let told = [
        ("error", "access_denied"), ("error_code", error.code),
        ("error_description", error.code == "otp_expired" ? "Email link is invalid or has expired" : error.message),
      ]
      return Self.redirect(to: target, told, inQuery: isChallenged)
    }
  }

  private func follow(
    _ hash: String, for purposes: [OneTimeCode.Purpose], _ asked: AuthRequest, in database: Database
  ) throws -> [(name: String, value: String)] {
    let used = try use(hash, for: purposes, now: asked.now, in: database)
    guard let challenge = used.challenge else {
      let session = try beginSession(for: used.user, method: "otp", asked, in: database)
      return ["access_token", "expires_at", "expires_in", "refresh_token", "token_type"].map { name in
        (name, session[name]?.stringValue ?? session[name]?.serialized() ?? "")
      } + [("type", asked.parameter("type") ?? "")]
    }
    try used.user.save(in: database)
    let code = UUIDText.random(effects.randomBytes)
    try database.execute(
      """
      INSERT INTO auth_flows (code, user_id, method, challenge, challenge_method, created_at) VALUES (?, ?, ?, ?, ?, ?)
      """,
      [
        .text(code), .text(used.user.id), .text(Self.method(asked.parameter("type"))), .text(challenge.text),
        .text(challenge.method.rawValue), .integer(asked.now.microseconds),
      ])
    return [("code", code)]
  }

  /// How a user signed in who followed a link of a type.
  private static func method(_ type: String?) -> String {
    switch type {
    case "signup": "email/signup"
    case "recovery", "invite", "magiclink", "email_change": type ?? "otp"
    default: "otp"
    }
  }

  /// Exchanges the code that a link led back with.
  func exchangeCode(_ asked: AuthRequest) throws -> StandInAnswer {
    let body = try asked.body()
    guard let code = try body.filled("auth_code"), let verifier = try body.filled("code_verifier") else {
      throw AuthError(
        400, "validation_failed", "invalid request: both auth code and code verifier should be non-empty")
    }
    return try database.use { database in
      try database.transaction {
        let row = try database.first("SELECT * FROM auth_flows WHERE code = ?", [.text(code)])
        guard let row, let challenge = CodeChallenge(row: row), let createdAt = row.integer("created_at"),
          let user = try row.text("user_id").flatMap({ try AuthUser.find(id: $0, in: database) })
        else { throw AuthError(404, "flow_state_not_found", "invalid flow state, no valid flow state found") }
        guard asked.now.microseconds < createdAt + Self.flowSeconds * 1_000_000 else {
          throw AuthError(422, "flow_state_expired", "invalid flow state, flow state has expired")
        }
        guard challenge.isMet(by: verifier) else {
          throw AuthError(
            400, "bad_code_verifier", "code challenge does not match previously saved code verifier")
        }
        guard !user.isBanned(at: asked.now) else { throw AuthError(403, "user_banned", "User is banned") }
        try database.execute("DELETE FROM auth_flows WHERE code = ?", [.text(code)])
        return try begin(for: user, method: row.text("method") ?? "otp", asked, in: database)
      }
    }
  }

  // MARK: Where a link leads

  /// A link leads nowhere but to this machine: elsewhere its session would be somebody else's.
  private static func isOfThisMachine(_ address: String) -> Bool {
    guard let range = address.firstRange(of: "://"), ["http", "https"].contains(address[..<range.lowerBound]) else {
      return false
    }
    let rest = address[range.upperBound...]
    let isPlain = rest.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }
    return isPlain && Gateway.isLoopback([String(rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" })])
  }

  private static func redirect(
    to target: String, _ told: [(name: String, value: String)], inQuery: Bool
  ) -> StandInAnswer {
    let text = told.map { "\($0.name)=\(QueryText.encoded($0.value))" }.joined(separator: "&")
    var address = String(target.prefix { $0 != "#" })
    if inQuery {
      address += (address.contains("?") ? "&" : "?") + text
    } else {
      address += "#" + text
    }
    return StandInAnswer(status: 303, fields: [("Location", address)])
  }
}
