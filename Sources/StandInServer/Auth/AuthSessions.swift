import LosslessJSON
import SQLite

/// Sessions and their refresh tokens.
///
/// Each refresh gives a new token and revokes the old one. A revoked token is still good for a short time after its
/// revocation, and for ever while its child is the session's active token: a client that lost the answer asks again
/// with the old one and gets the same new one. Any other use of an old token revokes the whole session's tokens.
struct AuthSessions: Sendable {
  let keys: Keys
  let settings: AuthSettings
  let effects: StandInEffects

  /// Begins a session and answers with it.
  ///
  /// - Parameters:
  ///   - method: How the user signed in: "anonymous", "password" or "otp".
  ///   - issuer: The `iss` of the access token.
  func begin(
    for user: AuthUser, method: String, issuer: String, now: Timestamp, in database: Database
  ) throws -> JSONObject {
    let id = UUIDText.random(effects.randomBytes)
    try database.execute(
      "INSERT INTO auth_sessions (id, user_id, method, created_at, refreshed_at) VALUES (?, ?, ?, ?, ?)",
      [.text(id), .text(user.id), .text(method), .integer(now.microseconds), .integer(now.microseconds)])
    let token = try newToken(session: id, parent: nil, now: now, in: database)
    let session = Session(id: id, method: method, createdAt: now, refreshedAt: now)
    return answer(user, session: session, refreshToken: token, issuer: issuer, now: now)
  }

  /// What is kept of a session.
  private struct Session {
    let id: String
    let method: String
    let createdAt: Timestamp
    let refreshedAt: Timestamp
  }

  /// Exchanges a refresh token.
  func refresh(_ token: String, issuer: String, now: Timestamp, in database: Database) throws -> JSONObject {
    guard token.utf8.count >= 12 else {
      throw AuthError(400, "validation_failed", "Refresh token is not valid")
    }
    guard
      let row = try database.first(
        """
        SELECT t.revoked_at, s.id, s.user_id, s.method, s.created_at, s.refreshed_at
        FROM auth_refresh_tokens t JOIN auth_sessions s ON s.id = t.session_id WHERE t.token = ?
        """, [.text(token)]),
      let id = row.text("id"), let userID = row.text("user_id"), let method = row.text("method"),
      let createdAt = row.integer("created_at"), let user = try AuthUser.find(id: userID, in: database)
    else { throw AuthError.refreshTokenNotFound }
    let session = Session(
      id: id, method: method, createdAt: Timestamp(microseconds: createdAt),
      refreshedAt: Timestamp(microseconds: row.integer("refreshed_at") ?? createdAt))
    guard !user.isBanned(at: now) else {
      throw AuthError(400, "user_banned", "Invalid Refresh Token: User Banned")
    }
    try checkLimits(of: session, user: user, now: now, in: database)
    if let revokedAt = row.integer("revoked_at") {
      let active = try database.first(
        """
        SELECT token, parent FROM auth_refresh_tokens WHERE session_id = ? AND revoked_at IS NULL
        ORDER BY number DESC LIMIT 1
        """, [.text(id)])
      if let active, active.text("parent") == token, let current = active.text("token") {
        return answer(user, session: session, refreshToken: current, issuer: issuer, now: now)
      }
      guard now.microseconds <= revokedAt + Int64(settings.reuseSeconds) * 1_000_000 else {
        throw RefreshReuse(session: id)
      }
    }
    try database.execute(
      "UPDATE auth_refresh_tokens SET revoked_at = ? WHERE token = ?", [.integer(now.microseconds), .text(token)])
    try database.execute(
      "UPDATE auth_sessions SET refreshed_at = ? WHERE id = ?", [.integer(now.microseconds), .text(id)])
    let next = try newToken(session: id, parent: token, now: now, in: database)
    return answer(user, session: session, refreshToken: next, issuer: issuer, now: now)
  }

  /// A session's limits are looked at when it is refreshed, and only then.
  private func checkLimits(of session: Session, user: AuthUser, now: Timestamp, in database: Database) throws {
    func isOver(_ since: Timestamp, _ seconds: Int?) -> Bool {
      seconds.map { now.microseconds >= since.microseconds + Int64($0) * 1_000_000 } ?? false
    }
    if isOver(session.createdAt, settings.sessionSeconds) {
      throw AuthError(400, "session_expired", "Invalid Refresh Token: Session Expired")
    }
    if isOver(session.refreshedAt, settings.idleSeconds) {
      throw AuthError(400, "session_expired", "Invalid Refresh Token: Session Expired (Inactivity)")
    }
    guard settings.hasSingleSession else { return }
    let newest = try database.first(
      "SELECT id FROM auth_sessions WHERE user_id = ? ORDER BY created_at DESC, rowid DESC LIMIT 1", [.text(user.id)])
    if newest?.text("id") != session.id {
      throw AuthError(400, "session_expired", "Invalid Refresh Token: Session Expired (Revoked by Newer Login)")
    }
  }

  /// When a session began; `nil` for one that there is not.
  func beginning(of id: String, in database: Database) throws -> Timestamp? {
    try database.first("SELECT created_at FROM auth_sessions WHERE id = ?", [.text(id)])?.integer("created_at")
      .map { Timestamp(microseconds: $0) }
  }

  /// Revokes every token of a session, which keeps its row.
  func revoke(session: String, now: Timestamp, in database: Database) throws {
    try database.execute(
      "UPDATE auth_refresh_tokens SET revoked_at = coalesce(revoked_at, ?) WHERE session_id = ?",
      [.integer(now.microseconds), .text(session)])
  }

  /// Ends sessions of a user: all, one, or all but one.
  func end(_ scope: Scope, of userID: String, session: String?, in database: Database) throws {
    let condition: String
    var bindings: [SQLiteValue] = [.text(userID)]
    switch scope {
    case .global: condition = "user_id = ?"
    case .local: condition = "user_id = ? AND id = ?"
    case .others: condition = "user_id = ? AND id <> ?"
    }
    if scope != .global { bindings.append(.text(session ?? "")) }
    try database.execute(
      "DELETE FROM auth_refresh_tokens WHERE session_id IN (SELECT id FROM auth_sessions WHERE \(condition))", bindings)
    try database.execute("DELETE FROM auth_sessions WHERE \(condition)", bindings)
  }

  /// Which sessions a sign-out ends.
  enum Scope: String {
    case global
    case local
    case others
  }

  private func newToken(session: String, parent: String?, now: Timestamp, in database: Database) throws -> String {
    let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
    // 252 is the greatest multiple of 36 in a byte: greater bytes would make some letters more frequent.
    var letters: [UInt8] = []
    while letters.count < 12 {
      for byte in effects.randomBytes(16) where byte < 252 && letters.count < 12 {
        letters.append(alphabet[Int(byte) % alphabet.count])
      }
    }
    let token = String(decoding: letters, as: UTF8.self)
    try database.execute(
      "INSERT INTO auth_refresh_tokens (token, session_id, parent, created_at) VALUES (?, ?, ?, ?)",
      [.text(token), .text(session), .optional(parent), .integer(now.microseconds)])
    return token
  }

  private func answer(
    _ user: AuthUser, session: Session, refreshToken: String, issuer: String, now: Timestamp
  ) -> JSONObject {
    let issued = now.microseconds / 1_000_000
    let expires = issued + Int64(settings.tokenSeconds)
    let claims: JSONObject = [
      "iss": .string(issuer), "sub": .string(user.id), "aud": "authenticated",
      "exp": .number(JSONNumber(expires)), "iat": .number(JSONNumber(issued)), "email": .string(user.email ?? ""),
      "phone": "", "app_metadata": user.appMetadata, "user_metadata": .object(user.metadata),
      "role": "authenticated", "aal": "aal1",
      "amr": [
        [
          "method": .string(session.method),
          "timestamp": .number(JSONNumber(session.createdAt.microseconds / 1_000_000)),
        ]
      ],
      "session_id": .string(session.id), "is_anonymous": .bool(user.isAnonymous),
    ]
    return [
      "access_token": .string(keys.sign(claims)), "token_type": "bearer",
      "expires_in": .number(JSONNumber(Int64(settings.tokenSeconds))), "expires_at": .number(JSONNumber(expires)),
      "refresh_token": .string(refreshToken), "user": user.json,
    ]
  }
}

/// An old refresh token was used outside its allowances: its session's tokens are to be revoked, and that must be kept
/// although the request fails.
struct RefreshReuse: Error {
  let session: String
}
