import LosslessJSON
import SQLite

extension AuthService {
  func updateUser(_ asked: AuthRequest) throws -> StandInAnswer {
    let body = try asked.body()
    let (before, session) = try database.use { try caller(asked, in: $0) }
    guard try body.object("app_metadata") == nil else {
      throw AuthError(403, "not_admin", "Updating app_metadata requires admin privileges")
    }
    let address = try body.email()
    let metadata = try body.object("data") ?? [:]
    let challenge = try CodeChallenge(body)
    var hash: String?
    if let password = try body.filled("password") {
      if before.isAnonymous, address == nil {
        throw AuthError(
          422, "validation_failed", "Updating password of an anonymous user without an email or phone is not allowed")
      }
      try checkStrength(password)
      if let old = before.passwordHash, passwords.isCorrect(password, for: old) {
        throw AuthError(422, "same_password", "New password should be different from the old password.")
      }
      hash = passwords.hash(password)
    }
    let nonce = try body.filled("nonce")
    let newHash = hash
    let updated = try database.use { database in
      try database.transaction {
        // The moment has passed in which the password was hashed: all is looked at again.
        var (user, _) = try caller(asked, in: database)
        if newHash != nil {
          try checkReauthentication(user, session: session, nonce: nonce, now: asked.now, in: database)
        }
        if let address, address != user.email {
          if let other = try AuthUser.find(email: address, in: database), other.id != user.id {
            throw AuthError(422, "email_exists", "A user with this email address has already been registered")
          }
          if settings.confirmsEmails {
            user.newEmail = address
            try send(.emailChange, to: &user, email: address, challenge: challenge, asked, in: database)
          } else {
            user.take(email: address, confirmedAt: asked.now, identityID: UUIDText.random(effects.randomBytes))
          }
        }
        if let newHash {
          user.passwordHash = newHash
          try sessions.end(.others, of: user.id, session: session, in: database)
        }
        user.metadata.merge(metadata)
        user.updatedAt = asked.now
        try user.save(in: database)
        return user
      }
    }
    return .json(200, updated.json)
  }

  /// Refuses a new password without a code where the project wants one and the session is older than a day.
  private func checkReauthentication(
    _ user: AuthUser, session: String?, nonce: String?, now: Timestamp, in database: Database
  ) throws {
    guard settings.reauthenticates, let email = user.email else { return }
    let beginning = try session.flatMap { try sessions.beginning(of: $0, in: database) }
    if let beginning, now.microseconds < beginning.microseconds + 86_400 * 1_000_000 { return }
    guard let nonce else {
      throw AuthError(400, "reauthentication_needed", "Password update requires reauthentication")
    }
    let hash = OneTimeCode.hash(nonce, email: email, secret: keys.jwtSecret)
    guard let used = try? OneTimeCode.use(hash: hash, for: [.reauthentication], now: now, in: database),
      used.user.id == user.id
    else { throw AuthError(422, "reauthentication_not_valid", "Nonce has expired or is invalid") }
  }

  func reauthenticate(_ asked: AuthRequest) throws -> StandInAnswer {
    try database.use { database in
      try database.transaction {
        var (user, _) = try caller(asked, in: database)
        guard let email = user.email else {
          throw AuthError(
            400, "validation_failed", "Reauthentication requires the user to have an email or a phone number")
        }
        try send(.reauthentication, to: &user, email: email, asked, in: database)
        try user.save(in: database)
      }
    }
    return .json(200, [:])
  }
}
