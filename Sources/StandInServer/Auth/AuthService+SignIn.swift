import LosslessJSON
import SQLite

extension AuthService {
  func signUp(_ asked: AuthRequest) throws -> StandInAnswer {
    let body = try asked.body()
    let metadata = try body.object("data") ?? [:]
    let challenge = try CodeChallenge(body)
    guard settings.allowsSignUp else {
      throw AuthError(422, "signup_disabled", "Signups not allowed for this instance")
    }
    guard let address = try body.email() else {
      if try body.filled("phone") != nil {
        throw AuthError(400, "phone_provider_disabled", "Phone signups are disabled")
      }
      if try body.filled("password") != nil {
        throw AuthError(400, "validation_failed", "To signup, please provide your email")
      }
      return try signUpAnonymously(asked, metadata: metadata)
    }
    guard settings.allowsEmail else { throw AuthError(400, "email_provider_disabled", "Email signups are disabled") }
    guard let password = try body.filled("password") else {
      throw AuthError(400, "validation_failed", "Signup requires a valid password")
    }
    try checkStrength(password)
    // Hashing is slow on purpose: it runs before the database is taken.
    let hash = passwords.hash(password)
    return try database.use { database in
      try database.transaction {
        if let found = try AuthUser.find(email: address, in: database) {
          return try signUpAgain(found, asked, metadata: metadata, challenge: challenge, in: database)
        }
        var user = newUser(email: address, metadata: metadata, isConfirmed: !settings.confirmsEmails, now: asked.now)
        user.passwordHash = hash
        guard !settings.confirmsEmails else {
          try send(.confirmation, to: &user, email: address, challenge: challenge, asked, in: database)
          try user.save(in: database)
          return .json(200, user.json)
        }
        return try begin(for: user, method: "password", asked, in: database)
      }
    }
  }

  private func signUpAnonymously(_ asked: AuthRequest, metadata: JSONObject) throws -> StandInAnswer {
    guard settings.allowsAnonymous else {
      throw AuthError(422, "anonymous_provider_disabled", "Anonymous sign-ins are disabled")
    }
    return try database.use { database in
      try database.transaction {
        var user = AuthUser(id: UUIDText.random(effects.randomBytes), createdAt: asked.now)
        user.metadata = metadata
        return try begin(for: user, method: "anonymous", asked, in: database)
      }
    }
  }

  /// The answer to a sign-up with an address that somebody has.
  private func signUpAgain(
    _ found: AuthUser, _ asked: AuthRequest, metadata: JSONObject, challenge: CodeChallenge?, in database: Database
  ) throws -> StandInAnswer {
    guard settings.confirmsEmails else {
      throw AuthError(422, "user_already_exists", "User already registered")
    }
    let address = found.email ?? ""
    guard found.confirmedAt == nil else {
      // Whoever asks is not told that there is such a user; the answer looks as if there were a new one.
      var nobody = newUser(email: address, metadata: metadata, isConfirmed: false, now: asked.now)
      nobody.sentAt[.confirmation] = asked.now
      return .json(200, nobody.jsonOfNobody(id: nobody.id))
    }
    // The first one's password and metadata stay: nobody knows yet whose address it is.
    var user = found
    try send(.confirmation, to: &user, email: address, challenge: challenge, asked, in: database)
    try user.save(in: database)
    return .json(200, user.json)
  }

  func newUser(email: String, metadata: JSONObject, isConfirmed: Bool, now: Timestamp) -> AuthUser {
    var user = AuthUser(id: UUIDText.random(effects.randomBytes), createdAt: now)
    user.metadata = metadata
    user.take(
      email: email, confirmedAt: isConfirmed ? now : nil, identityID: UUIDText.random(effects.randomBytes))
    return user
  }

  /// Begins a session of a user, who is saved, and answers with it.
  func begin(
    for user: AuthUser, method: String, _ asked: AuthRequest, in database: Database
  ) throws -> StandInAnswer {
    .json(200, .object(try beginSession(for: user, method: method, asked, in: database)))
  }

  /// Begins a session of a user, who is saved.
  func beginSession(
    for user: AuthUser, method: String, _ asked: AuthRequest, in database: Database
  ) throws -> JSONObject {
    var user = user
    user.lastSignInAt = asked.now
    user.updatedAt = asked.now
    try user.save(in: database)
    return try sessions.begin(for: user, method: method, issuer: asked.issuer, now: asked.now, in: database)
  }

  // MARK: Tokens

  func token(_ asked: AuthRequest) throws -> StandInAnswer {
    switch asked.parameter("grant_type") {
    case "password": return try signIn(asked)
    case "refresh_token": return try refresh(asked)
    case "pkce": return try exchangeCode(asked)
    case "id_token", "web3":
      _ = try asked.body()
      throw AuthError(400, "provider_disabled", "Provider is not enabled")
    default: throw AuthError(400, "invalid_credentials", "unsupported_grant_type")
    }
  }

  private func signIn(_ asked: AuthRequest) throws -> StandInAnswer {
    let body = try asked.body()
    guard let email = try body.filled("email") else {
      if try body.filled("phone") != nil {
        throw AuthError(422, "phone_provider_disabled", "Phone logins are disabled")
      }
      throw AuthError(400, "validation_failed", "missing email or phone")
    }
    guard settings.allowsEmail else { throw AuthError(422, "email_provider_disabled", "Email logins are disabled") }
    let password = try body.text("password") ?? ""
    let found = try database.use { try AuthUser.find(email: email.lowercased(), in: $0) }
    guard let found, let hash = found.passwordHash, !password.utf8.contains(0), passwords.isCorrect(password, for: hash)
    else { throw AuthError.invalidCredentials }
    return try database.use { database in
      try database.transaction {
        // Changed while the password was hashed: the answer is to the password of that moment.
        guard let user = try AuthUser.find(id: found.id, in: database), user.passwordHash == hash else {
          throw AuthError.invalidCredentials
        }
        guard !user.isBanned(at: asked.now) else { throw AuthError(400, "user_banned", "User is banned") }
        guard user.confirmedAt != nil else { throw AuthError(400, "email_not_confirmed", "Email not confirmed") }
        var session = try beginSession(for: user, method: "password", asked, in: database)
        if let weakness = weakness(of: password) {
          session["weak_password"] = [
            "message": .string(weakness.message),
            "reasons": .array(weakness.weakPasswordReasons.map(JSONValue.string)),
          ]
        }
        return .json(200, .object(session))
      }
    }
  }

  private func refresh(_ asked: AuthRequest) throws -> StandInAnswer {
    guard let token = try asked.body().filled("refresh_token") else {
      throw AuthError(400, "validation_failed", "refresh_token required")
    }
    do {
      let session = try database.use { database in
        try database.transaction {
          try sessions.refresh(token, issuer: asked.issuer, now: asked.now, in: database)
        }
      }
      return .json(200, .object(session))
    } catch let reuse as RefreshReuse {
      try database.use { try sessions.revoke(session: reuse.session, now: asked.now, in: $0) }
      throw AuthError.refreshTokenAlreadyUsed
    }
  }

  func signOut(_ asked: AuthRequest) throws -> StandInAnswer {
    let word = asked.parameter("scope") ?? "global"
    guard let scope = AuthSessions.Scope(rawValue: word) else {
      throw AuthError(400, "validation_failed", "Unsupported logout scope \"\(word)\"")
    }
    try database.use { database in
      try database.transaction {
        let (user, session) = try caller(asked, in: database)
        try sessions.end(scope, of: user.id, session: session, in: database)
      }
    }
    return StandInAnswer(status: 204)
  }
}
