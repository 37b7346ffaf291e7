import LosslessJSON
import SQLite

/// Codes by email. Calls that send one answer alike whether there is such a user or not.
extension AuthService {
  func recover(_ asked: AuthRequest) throws -> StandInAnswer {
    let body = try asked.body()
    guard let email = try body.email() else {
      throw AuthError(400, "validation_failed", "Password recovery requires an email")
    }
    let challenge = try CodeChallenge(body)
    try database.use { database in
      try database.transaction {
        guard var user = try AuthUser.find(email: email, in: database) else { return }
        try send(.recovery, to: &user, email: email, challenge: challenge, asked, in: database)
        try user.save(in: database)
      }
    }
    return .json(200, [:])
  }

  /// A code to sign in with; for an unknown address also a user, unless that is not wanted.
  func sendCode(_ asked: AuthRequest) throws -> StandInAnswer {
    let body = try asked.body()
    guard let email = try body.email() else {
      if try body.filled("phone") != nil {
        throw AuthError(400, "phone_provider_disabled", "Unsupported phone provider")
      }
      throw AuthError(400, "validation_failed", "One of email or phone must be set")
    }
    guard settings.allowsEmail else { throw AuthError(422, "email_provider_disabled", "Email logins are disabled") }
    let makesUser = try body.flag("create_user") ?? true
    let metadata = try body.object("data") ?? [:]
    let challenge = try CodeChallenge(body)
    try database.use { database in
      try database.transaction {
        let found = try AuthUser.find(email: email, in: database)
        if found == nil, !makesUser { throw AuthError(422, "otp_disabled", "Signups not allowed for otp") }
        if found == nil, !settings.allowsSignUp {
          throw AuthError(422, "signup_disabled", "Signups not allowed for this instance")
        }
        var user =
          found ?? newUser(email: email, metadata: metadata, isConfirmed: !settings.confirmsEmails, now: asked.now)
        let purpose: OneTimeCode.Purpose = user.confirmedAt == nil ? .confirmation : .recovery
        try send(purpose, to: &user, email: email, challenge: challenge, asked, in: database)
        try user.save(in: database)
      }
    }
    return .json(200, [:])
  }

  func resend(_ asked: AuthRequest) throws -> StandInAnswer {
    let body = try asked.body()
    let type = try body.filled("type")
    guard type == "signup" || type == "email_change" else {
      throw AuthError(400, "validation_failed", "Missing one of these types: signup, email_change, sms, phone_change")
    }
    guard let email = try body.email() else {
      throw AuthError(400, "validation_failed", "Type provided requires an email address")
    }
    try database.use { database in
      try database.transaction {
        guard var user = try AuthUser.find(email: email, in: database) else { return }
        if type == "signup", user.confirmedAt == nil {
          try send(.confirmation, to: &user, email: email, asked, in: database)
        } else if type == "email_change", let address = user.newEmail {
          try send(.emailChange, to: &user, email: address, asked, in: database)
        }
        try user.save(in: database)
      }
    }
    return .json(200, [:])
  }

  static let purposes: [String: [OneTimeCode.Purpose]] = [
    "signup": [.confirmation], "invite": [.invite], "recovery": [.recovery], "magiclink": [.recovery],
    "email": [.confirmation, .recovery], "email_change": [.emailChange],
  ]

  /// Exchanges a code, or its hash, for a session.
  func verify(_ asked: AuthRequest) throws -> StandInAnswer {
    let body = try asked.body()
    guard let type = try body.filled("type") else {
      throw AuthError(400, "validation_failed", "Verify requires a verification type")
    }
    guard let purposes = Self.purposes[type] else {
      throw AuthError(400, "validation_failed", "Unsupported verification type")
    }
    let code = try body.filled("token")
    var hash = try body.filled("token_hash")
    if hash == nil {
      guard let code else {
        throw AuthError(400, "validation_failed", "Verify requires a token or a token hash")
      }
      guard let email = try body.email() else {
        throw AuthError(400, "validation_failed", "Only an email address or phone number should be provided on verify")
      }
      hash = OneTimeCode.hash(code, email: email, secret: keys.jwtSecret)
    }
    let found = hash ?? ""
    return try database.use { database in
      try database.transaction {
        let user = try use(found, for: purposes, now: asked.now, in: database).user
        return try begin(for: user, method: "otp", asked, in: database)
      }
    }
  }

  /// Uses a code up and does what it is for; the caller saves the user.
  func use(
    _ hash: String, for purposes: [OneTimeCode.Purpose], now: Timestamp, in database: Database
  ) throws -> OneTimeCode.Used {
    var used = try OneTimeCode.use(hash: hash, for: purposes, now: now, in: database)
    guard !used.user.isBanned(at: now) else { throw AuthError(403, "user_banned", "User is banned") }
    if used.purpose == .emailChange, let address = used.user.newEmail {
      guard try AuthUser.find(email: address, in: database) == nil else {
        throw AuthError(422, "email_exists", "A user with this email address has already been registered")
      }
      used.user.take(email: address, confirmedAt: now, identityID: UUIDText.random(effects.randomBytes))
    }
    used.user.confirmedAt = used.user.confirmedAt ?? now
    return used
  }
}
