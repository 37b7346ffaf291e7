import LosslessJSON
import SQLite

/// Answers `/auth/v1` as Supabase Auth does, as far as anonymous and password sign-in go.
///
/// Every email counts as confirmed.
struct AuthService: Sendable {
  private let database: SharedDatabase
  private let jwtSecret: [UInt8]
  private let passwords: Passwords
  private let sessions: AuthSessions
  private let effects: StandInEffects

  init(
    database: SharedDatabase, jwtSecret: [UInt8], accessTokenSeconds: Int, refreshReuseSeconds: Int,
    passwordRounds: Int, effects: StandInEffects
  ) {
    self.database = database
    self.jwtSecret = jwtSecret
    self.effects = effects
    passwords = Passwords(rounds: passwordRounds, effects: effects)
    sessions = AuthSessions(
      jwtSecret: jwtSecret, accessTokenSeconds: accessTokenSeconds, refreshReuseSeconds: refreshReuseSeconds,
      effects: effects)
  }

  /// The tables of users, sessions and refresh tokens.
  static let migrations = [
    Migration(
      "users, sessions, refresh tokens",
      """
      CREATE TABLE auth_users (
        id TEXT PRIMARY KEY, email TEXT UNIQUE, password_hash TEXT, metadata TEXT NOT NULL,
        is_anonymous INTEGER NOT NULL, identity_id TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
        last_sign_in_at INTEGER, confirmed_at INTEGER);
      CREATE TABLE auth_sessions (
        id TEXT PRIMARY KEY, user_id TEXT NOT NULL, method TEXT NOT NULL, created_at INTEGER NOT NULL);
      CREATE INDEX auth_sessions_user ON auth_sessions (user_id);
      CREATE TABLE auth_refresh_tokens (
        number INTEGER PRIMARY KEY AUTOINCREMENT, token TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL, parent TEXT,
        revoked_at INTEGER, created_at INTEGER NOT NULL);
      CREATE INDEX auth_refresh_tokens_session ON auth_refresh_tokens (session_id);
      """)
  ]

  private static let prefix = "/auth/v1/"

  /// The size of a body that Auth takes.
  private static let bodyBytesMax = 1 << 20

  /// Whether the gateway lets a request pass without the project's key.
  static func isOpen(_ path: String) -> Bool { path == prefix + ".well-known/jwks.json" }

  /// Answers one request.
  func answer(_ request: StandInRequest) -> StandInAnswer {
    do {
      guard request.body.count <= Self.bodyBytesMax else { throw AuthError.tooLarge }
      return try answer(request, now: Timestamp(microseconds: effects.now()))
    } catch let error as AuthError {
      return error.answer(to: request)
    } catch {
      return AuthError(500, "unexpected_failure", "the stand-in's database failed: \(error)").answer(to: request)
    }
  }

  private func answer(_ request: StandInRequest, now: Timestamp) throws -> StandInAnswer {
    switch (request.method, String(request.path.dropFirst(Self.prefix.count))) {
    case ("POST", "signup"): return try signUp(request, now: now)
    case ("POST", "token"): return try token(request, now: now)
    case ("GET", "user"):
      return .json(200, try database.use { try user(of: request, now: now, in: $0).user.json })
    case ("PUT", "user"): return try updateUser(request, now: now)
    case ("POST", "logout"): return try signOut(request, now: now)
    case ("GET", "health"):
      return .json(
        200,
        [
          "version": "stand-in", "name": "GoTrue",
          "description": "GoTrue is a user registration and authentication API",
        ])
    case ("GET", "settings"): return .json(200, Self.settings)
    case ("GET", ".well-known/jwks.json"):
      // Keys that sign and verify with one secret are never shown.
      return .json(200, ["keys": []], fields: [("Cache-Control", "public, max-age=600")])
    case (_, "signup"), (_, "token"), (_, "user"), (_, "logout"), (_, "health"), (_, "settings"),
      (_, ".well-known/jwks.json"):
      return StandInAnswer(status: 405)
    default:
      return StandInAnswer(
        status: 404, fields: [("Content-Type", "text/plain; charset=utf-8")], body: Array("404 page not found\n".utf8))
    }
  }

  private static let settings: JSONValue = [
    "external": ["anonymous_users": true, "email": true, "phone": false], "disable_signup": false,
    "mailer_autoconfirm": true, "phone_autoconfirm": false, "sms_provider": "", "saml_enabled": false,
    "saml_private_key_next_configured": false, "passkeys_enabled": false,
  ]

  // MARK: Signing in and out

  private func signUp(_ request: StandInRequest, now: Timestamp) throws -> StandInAnswer {
    let body = try Self.body(of: request)
    let metadata = body["data"]?.objectValue ?? [:]
    guard let email = try Self.text("email", in: body), !email.isEmpty else {
      if let phone = try Self.text("phone", in: body), !phone.isEmpty {
        throw AuthError(400, "phone_provider_disabled", "Phone signups are disabled")
      }
      if let password = try Self.text("password", in: body), !password.isEmpty {
        throw AuthError(400, "validation_failed", "To signup, please provide your email")
      }
      return .json(
        200,
        .object(
          try database.use { database in
            try database.transaction {
              var user = AuthUser(id: UUIDText.random(effects.randomBytes), createdAt: now)
              user.metadata = metadata
              user.lastSignInAt = now
              try user.save(in: database)
              return try sessions.begin(for: user, method: "anonymous", now: now, in: database)
            }
          }))
    }
    let address = try Self.normalisedEmail(email)
    guard let password = try Self.text("password", in: body), !password.isEmpty else {
      throw AuthError(400, "validation_failed", "Signup requires a valid password")
    }
    try Self.checkStrength(password)
    // Hashing is slow on purpose: it runs before the database is taken.
    let hash = passwords.hash(password)
    let session = try database.use { database in
      try database.transaction {
        guard try AuthUser.find(email: address, in: database) == nil else {
          throw AuthError(422, "user_already_exists", "User already registered")
        }
        var user = AuthUser(id: UUIDText.random(effects.randomBytes), createdAt: now)
        user.metadata = metadata
        user.lastSignInAt = now
        user.passwordHash = hash
        makePermanent(&user, email: address, now: now)
        try user.save(in: database)
        return try sessions.begin(for: user, method: "password", now: now, in: database)
      }
    }
    return .json(200, .object(session))
  }

  private func makePermanent(_ user: inout AuthUser, email: String, now: Timestamp) {
    user.email = email
    user.isAnonymous = false
    user.confirmedAt = user.confirmedAt ?? now
    user.identityID = user.identityID ?? UUIDText.random(effects.randomBytes)
  }

  private func token(_ request: StandInRequest, now: Timestamp) throws -> StandInAnswer {
    let grant = QueryText.parameters(request.query).first { $0.name == "grant_type" }?.value
    switch grant {
    case "password": return try signIn(request, now: now)
    case "refresh_token": return try refresh(request, now: now)
    default: throw AuthError(400, "invalid_credentials", "unsupported_grant_type")
    }
  }

  private func signIn(_ request: StandInRequest, now: Timestamp) throws -> StandInAnswer {
    let body = try Self.body(of: request)
    guard let email = try Self.text("email", in: body), !email.isEmpty else {
      throw AuthError(400, "validation_failed", "missing email or phone")
    }
    let password = try Self.text("password", in: body) ?? ""
    let address = email.lowercased()
    let found = try database.use { try AuthUser.find(email: address, in: $0) }
    guard let found, let hash = found.passwordHash, passwords.isCorrect(password, for: hash) else {
      throw AuthError.invalidCredentials
    }
    let session = try database.use { database in
      try database.transaction {
        // Changed while the password was hashed: the answer is to the password of that moment.
        guard var user = try AuthUser.find(id: found.id, in: database), user.passwordHash == hash else {
          throw AuthError.invalidCredentials
        }
        user.lastSignInAt = now
        user.updatedAt = now
        try user.save(in: database)
        return try sessions.begin(for: user, method: "password", now: now, in: database)
      }
    }
    return .json(200, .object(session))
  }

  private func refresh(_ request: StandInRequest, now: Timestamp) throws -> StandInAnswer {
    let body = try Self.body(of: request)
    guard let token = try Self.text("refresh_token", in: body), !token.isEmpty else {
      throw AuthError(400, "validation_failed", "refresh_token required")
    }
    do {
      let session = try database.use { database in
        try database.transaction { try sessions.refresh(token, now: now, in: database) }
      }
      return .json(200, .object(session))
    } catch let reuse as RefreshReuse {
      try database.use { try sessions.revoke(session: reuse.session, now: now, in: $0) }
      throw AuthError.refreshTokenAlreadyUsed
    }
  }

  private func signOut(_ request: StandInRequest, now: Timestamp) throws -> StandInAnswer {
    let word = QueryText.parameters(request.query).first { $0.name == "scope" }?.value ?? "global"
    guard let scope = AuthSessions.Scope(rawValue: word) else {
      throw AuthError(400, "validation_failed", "Unsupported logout scope \"\(word)\"")
    }
    try database.use { database in
      try database.transaction {
        let (user, session) = try user(of: request, now: now, in: database)
        try sessions.end(scope, of: user.id, session: session, in: database)
      }
    }
    return StandInAnswer(status: 204)
  }

  // MARK: The user

  /// The user and session that the Bearer token names.
  ///
  /// Auth gives clocks no leeway.
  private func user(
    of request: StandInRequest, now: Timestamp, in database: Database
  ) throws -> (user: AuthUser, session: String?) {
    guard let text = Gateway.bearer(of: request), !text.isEmpty else { throw AuthError.noAuthorization }
    let token: JSONWebToken
    do {
      token = try JSONWebToken(text, secret: jwtSecret)
    } catch {
      throw AuthError.badToken
    }
    do {
      try token.checkTimes(now: now.microseconds / 1_000_000, by: .auth)
    } catch {
      throw error == .expired ? AuthError.expired : AuthError.badToken
    }
    guard let subject = token.claims["sub"]?.stringValue, UUIDText.normalised(subject) != nil else {
      throw AuthError(403, "bad_jwt", "invalid claim: missing sub claim")
    }
    guard let user = try AuthUser.find(id: subject, in: database) else { throw AuthError.userNotFound }
    let session = token.claims["session_id"]?.stringValue
    if let session {
      let found = try database.first(
        "SELECT 1 FROM auth_sessions WHERE id = ? AND user_id = ?", [.text(session), .text(user.id)])
      guard found != nil else { throw AuthError.sessionNotFound }
    }
    return (user, session)
  }

  private func updateUser(_ request: StandInRequest, now: Timestamp) throws -> StandInAnswer {
    let body = try Self.body(of: request)
    let before = try database.use { try user(of: request, now: now, in: $0).user }
    if let metadata = body["app_metadata"], !metadata.isNull {
      throw AuthError(403, "not_admin", "Updating app_metadata requires admin privileges")
    }
    let email = try Self.text("email", in: body).flatMap { $0.isEmpty ? nil : $0 }
    let address = try email.map(Self.normalisedEmail)
    var hash: String?
    if let password = try Self.text("password", in: body), !password.isEmpty {
      if before.isAnonymous, address == nil {
        throw AuthError(
          422, "validation_failed", "Updating password of an anonymous user without an email or phone is not allowed")
      }
      try Self.checkStrength(password)
      if let old = before.passwordHash, passwords.isCorrect(password, for: old) {
        throw AuthError(422, "same_password", "New password should be different from the old password.")
      }
      hash = passwords.hash(password)
    }
    let newHash = hash
    let updated = try database.use { database in
      try database.transaction {
        var (user, session) = try user(of: request, now: now, in: database)
        if let address, address != user.email {
          if let other = try AuthUser.find(email: address, in: database), other.id != user.id {
            throw AuthError(422, "email_exists", "A user with this email address has already been registered")
          }
          makePermanent(&user, email: address, now: now)
        }
        if let newHash {
          user.passwordHash = newHash
          try sessions.end(.others, of: user.id, session: session, in: database)
        }
        for (name, value) in body["data"]?.objectValue ?? [:] {
          // A plain nil would be JSON's null, which is a value.
          user.metadata[name] = value.isNull ? Optional<JSONValue>.none : value
        }
        user.updatedAt = now
        try user.save(in: database)
        return user
      }
    }
    return .json(200, updated.json)
  }

  // MARK: Bodies

  /// The body as a JSON object, whatever the content type says.
  private static func body(of request: StandInRequest) throws(AuthError) -> JSONObject {
    guard let body = try? JSONValue(parsing: request.body).objectValue else { throw .badJSON }
    return body
  }

  private static func text(_ name: String, in body: JSONObject) throws(AuthError) -> String? {
    guard let value = body[name], !value.isNull else { return nil }
    guard let text = value.stringValue else { throw .badJSON }
    return text
  }

  private static func normalisedEmail(_ email: String) throws(AuthError) -> String {
    let parts = email.split(separator: "@", omittingEmptySubsequences: false)
    let isPlausible =
      parts.count == 2 && parts.allSatisfy { !$0.isEmpty } && email.utf8.count <= 255
      && !email.unicodeScalars.contains { $0.value <= 0x20 || $0.value == 0x7F }
    guard isPlausible else {
      throw AuthError(400, "validation_failed", "Unable to validate email address: invalid format")
    }
    return email.lowercased()
  }

  private static func checkStrength(_ password: String) throws(AuthError) {
    guard password.unicodeScalars.count >= Passwords.lengthMin else { throw .weakPassword }
    // The hash of the real server takes no more.
    guard password.utf8.count <= 72 else {
      throw AuthError(400, "validation_failed", "Password cannot be longer than 72 characters")
    }
  }
}
