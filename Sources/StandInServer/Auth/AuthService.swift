import LosslessJSON
import SQLite

/// Answers `/auth/v1` as Supabase Auth does: anonymous users, passwords, codes by email, sessions, and the service key's
/// own calls.
struct AuthService: Sendable {
  let database: SharedDatabase
  let keys: Keys
  let settings: AuthSettings
  let passwords: Passwords
  let sessions: AuthSessions
  let outbox = Outbox()
  let effects: StandInEffects

  init(database: SharedDatabase, keys: Keys, settings: AuthSettings, effects: StandInEffects) {
    self.database = database
    self.keys = keys
    self.settings = settings
    self.effects = effects
    passwords = Passwords(cost: settings.passwordCost, effects: effects)
    sessions = AuthSessions(keys: keys, settings: settings, effects: effects)
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
      """),
    Migration(
      "codes by email, bans, the age of sessions",
      """
      ALTER TABLE auth_users ADD COLUMN app_metadata TEXT NOT NULL DEFAULT '{}';
      ALTER TABLE auth_users ADD COLUMN new_email TEXT;
      ALTER TABLE auth_users ADD COLUMN banned_until INTEGER;
      ALTER TABLE auth_users ADD COLUMN confirmation_sent_at INTEGER;
      ALTER TABLE auth_users ADD COLUMN recovery_sent_at INTEGER;
      ALTER TABLE auth_users ADD COLUMN email_change_sent_at INTEGER;
      ALTER TABLE auth_users ADD COLUMN reauthentication_sent_at INTEGER;
      ALTER TABLE auth_users ADD COLUMN invited_at INTEGER;
      ALTER TABLE auth_sessions ADD COLUMN refreshed_at INTEGER;
      CREATE TABLE auth_codes (
        hash TEXT PRIMARY KEY, user_id TEXT NOT NULL, purpose TEXT NOT NULL, created_at INTEGER NOT NULL);
      CREATE INDEX auth_codes_user ON auth_codes (user_id);
      """),
    Migration(
      "links that lead back with a code",
      """
      ALTER TABLE auth_codes ADD COLUMN challenge TEXT;
      ALTER TABLE auth_codes ADD COLUMN challenge_method TEXT;
      CREATE TABLE auth_flows (
        code TEXT PRIMARY KEY, user_id TEXT NOT NULL, method TEXT NOT NULL, challenge TEXT NOT NULL,
        challenge_method TEXT NOT NULL, created_at INTEGER NOT NULL);
      CREATE INDEX auth_flows_user ON auth_flows (user_id);
      """),
  ]

  static let prefix = "/auth/v1/"

  /// The size of a body that Auth takes.
  private static let bodyBytesMax = 1 << 20

  /// Whether the gateway lets a request pass without the project's key.
  static func isOpen(_ path: String) -> Bool {
    [".well-known/jwks.json", "verify", "callback", "authorize"].contains { path == prefix + $0 }
  }

  /// Answers one request.
  ///
  /// - Parameters:
  ///   - request: The request as it came.
  ///   - keyRole: The role of the key that let it in; `nil` where none is needed.
  ///   - token: The token that it carries in place of the key.
  func answer(_ request: StandInRequest, keyRole: Role?, token: String?) -> StandInAnswer {
    do {
      guard request.body.count <= Self.bodyBytesMax else { throw AuthError.tooLarge }
      let now = Timestamp(microseconds: effects.now())
      return try answer(AuthRequest(request: request, keyRole: keyRole, token: token, now: now))
    } catch let error as AuthError {
      return error.answer(to: request)
    } catch {
      return AuthError(500, "unexpected_failure", "the stand-in's database failed: \(error)").answer(to: request)
    }
  }

  private func answer(_ asked: AuthRequest) throws -> StandInAnswer {
    let path = asked.path
    switch (asked.request.method, path) {
    case ("POST", "signup"): return try signUp(asked)
    case ("POST", "token"): return try token(asked)
    case ("GET", "user"): return .json(200, try database.use { try caller(asked, in: $0).user.json })
    case ("PUT", "user"): return try updateUser(asked)
    case ("POST", "logout"): return try signOut(asked)
    case ("POST", "recover"): return try recover(asked)
    case ("POST", "otp"), ("POST", "magiclink"): return try sendCode(asked)
    case ("POST", "resend"): return try resend(asked)
    case ("POST", "verify"): return try verify(asked)
    case ("GET", "verify"): return try follow(asked)
    case ("GET", "reauthenticate"): return try reauthenticate(asked)
    case ("POST", "invite"): return try invite(asked)
    case ("POST", "admin/generate_link"): return try generateLink(asked)
    case ("GET", "health"):
      return .json(
        200,
        [
          "version": "stand-in", "name": "GoTrue",
          "description": "GoTrue is a user registration and authentication API",
        ])
    case ("GET", "settings"): return .json(200, shownSettings)
    case ("GET", ".well-known/jwks.json"):
      // Keys that sign and verify with one secret are never shown.
      let shown = keys.publicKey.map { [$0] } ?? []
      return .json(200, ["keys": .array(shown)], fields: [("Cache-Control", "public, max-age=600")])
    case (_, "admin/users"): return try administerUsers(asked)
    default:
      if path.hasPrefix("admin/users/") {
        return try administerUser(asked, id: String(path.dropFirst("admin/users/".count)))
      }
      guard Self.paths.contains(path) else {
        return StandInAnswer(
          status: 404, fields: [("Content-Type", "text/plain; charset=utf-8")],
          body: Array("404 page not found\n".utf8))
      }
      return StandInAnswer(status: 405)
    }
  }

  private static let paths: Set<String> = [
    "signup", "token", "user", "logout", "recover", "otp", "magiclink", "resend", "verify", "reauthenticate", "invite",
    "admin/generate_link",
    "health", "settings", ".well-known/jwks.json",
  ]

  private static let providers = [
    "apple", "azure", "bitbucket", "discord", "facebook", "figma", "fly", "github", "gitlab", "google", "kakao",
    "keycloak", "linkedin", "linkedin_oidc", "notion", "phone", "slack", "slack_oidc", "spotify", "twitch", "twitter",
    "workos", "zoom",
  ]

  private var shownSettings: JSONValue {
    var external: JSONObject = [
      "anonymous_users": .bool(settings.allowsAnonymous), "email": .bool(settings.allowsEmail),
    ]
    for provider in Self.providers { external[provider] = false }
    return [
      "external": .object(external), "disable_signup": .bool(!settings.allowsSignUp),
      "mailer_autoconfirm": .bool(!settings.confirmsEmails), "phone_autoconfirm": false, "sms_provider": "",
      "saml_enabled": false, "saml_private_key_next_configured": false, "passkeys_enabled": false,
    ]
  }

  // MARK: What several calls need

  /// The user and session that the Bearer token names.
  ///
  /// Auth gives clocks no leeway.
  func caller(_ asked: AuthRequest, in database: Database) throws -> (user: AuthUser, session: String?) {
    guard let text = Gateway.bearer(of: asked.request), !text.isEmpty else { throw AuthError.noAuthorization }
    let token = try verified(text, now: asked.now)
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
    guard !user.isBanned(at: asked.now) else { throw AuthError(403, "user_banned", "User is banned") }
    return (user, session)
  }

  /// Refuses everybody but the service key.
  func checkIsService(_ asked: AuthRequest) throws {
    var role = asked.keyRole?.rawValue
    if let text = asked.token {
      guard !text.isEmpty else { throw AuthError.noAuthorization }
      role = try verified(text, now: asked.now).claims["role"]?.stringValue
    }
    guard role == Role.service.rawValue else { throw AuthError(403, "not_admin", "User not allowed") }
  }

  private func verified(_ text: String, now: Timestamp) throws(AuthError) -> JSONWebToken {
    let token: JSONWebToken
    do {
      token = try keys.token(text)
    } catch {
      throw AuthError.badToken
    }
    do {
      try token.checkTimes(now: now.microseconds / 1_000_000, by: .auth)
    } catch {
      throw error == .expired ? AuthError.expired : AuthError.badToken
    }
    return token
  }

  /// Refuses a password that may not be one.
  func checkStrength(_ password: String) throws(AuthError) {
    if let error = weakness(of: password) { throw error }
    guard password.utf8.count <= Passwords.bytesMax else {
      throw AuthError(400, "validation_failed", "Password cannot be longer than 72 characters")
    }
    // bcrypt ends at one, and what follows would not be asked for.
    guard !password.utf8.contains(0) else {
      throw AuthError(400, "validation_failed", "Password cannot hold the character NUL")
    }
  }

  /// Why a password is weak; `nil` for one that is not.
  func weakness(of password: String) -> AuthError? {
    guard password.unicodeScalars.count < settings.passwordLength else { return nil }
    return AuthError(
      422, "weak_password", "Password should be at least \(settings.passwordLength) characters.",
      weakPasswordReasons: ["length"])
  }

  /// Sends a user a code and notes that; the caller saves the user.
  ///
  /// - Parameter challenge: What the app that asks says of the link's way back.
  func send(
    _ purpose: OneTimeCode.Purpose, to user: inout AuthUser, email: String, challenge: CodeChallenge? = nil,
    _ asked: AuthRequest, in database: Database
  ) throws {
    outbox.add(try mail(purpose, to: &user, email: email, challenge: challenge, asked, in: database))
  }

  /// The mail that `send` sends.
  func mail(
    _ purpose: OneTimeCode.Purpose, to user: inout AuthUser, email: String, challenge: CodeChallenge? = nil,
    _ asked: AuthRequest, in database: Database
  ) throws -> Outbox.Mail {
    let code = try OneTimeCode.make(
      purpose, for: user, email: email, challenge: challenge, secret: keys.jwtSecret, now: asked.now,
      random: effects.randomBytes(8), in: database)
    user.sentAt[purpose] = asked.now
    return Outbox.Mail(
      address: email, purpose: purpose, code: code, link: link(purpose, code, challenge: challenge, asked))
  }
}
