import LosslessJSON
import SQLite

/// What the service key alone may do: make, list, change and remove users.
extension AuthService {
  private static let emailExists = AuthError(
    422, "email_exists", "A user with this email address has already been registered")
  private static let userNotFound = AuthError(404, "user_not_found", "User not found")

  func administerUsers(_ asked: AuthRequest) throws -> StandInAnswer {
    try checkIsService(asked)
    switch asked.request.method {
    case "GET": return try listUsers(asked)
    case "POST":
      let changes = try UserChanges(asked.body(), now: asked.now, of: self)
      guard changes.email != nil else {
        throw AuthError(400, "validation_failed", "Cannot create a user without either an email or phone")
      }
      return try database.use { database in
        try database.transaction {
          var user = AuthUser(id: changes.id ?? UUIDText.random(effects.randomBytes), createdAt: asked.now)
          guard try AuthUser.find(id: user.id, in: database) == nil else {
            throw AuthError(422, "user_already_exists", "User already registered")
          }
          try apply(changes, to: &user, asked, in: database)
          return .json(200, user.json)
        }
      }
    default: return StandInAnswer(status: 405)
    }
  }

  func administerUser(_ asked: AuthRequest, id text: String) throws -> StandInAnswer {
    try checkIsService(asked)
    guard let id = UUIDText.normalised(text) else {
      throw AuthError(404, "validation_failed", "user_id must be an UUID")
    }
    guard ["GET", "PUT", "DELETE"].contains(asked.request.method) else { return StandInAnswer(status: 405) }
    let changes = asked.request.method == "PUT" ? try UserChanges(asked.body(), now: asked.now, of: self) : nil
    return try database.use { database in
      try database.transaction {
        guard var user = try AuthUser.find(id: id, in: database) else { throw Self.userNotFound }
        if asked.request.method == "DELETE" {
          try user.delete(in: database)
          return .json(200, [:])
        }
        if let changes { try apply(changes, to: &user, asked, in: database) }
        return .json(200, user.json)
      }
    }
  }

  func invite(_ asked: AuthRequest) throws -> StandInAnswer {
    try checkIsService(asked)
    let body = try asked.body()
    let metadata = try body.object("data") ?? [:]
    guard let email = try body.email() else {
      throw AuthError(400, "validation_failed", "Unable to validate email address: invalid format")
    }
    return try database.use { database in
      try database.transaction {
        let found = try AuthUser.find(email: email, in: database)
        guard found?.confirmedAt == nil else {
          throw Self.emailExists
        }
        var user = found ?? newUser(email: email, metadata: metadata, isConfirmed: false, now: asked.now)
        try send(.invite, to: &user, email: email, asked, in: database)
        try user.save(in: database)
        return .json(200, user.json)
      }
    }
  }

  /// The code and link that a mail would have, for a project that sends its mails itself.
  func generateLink(_ asked: AuthRequest) throws -> StandInAnswer {
    try checkIsService(asked)
    let body = try asked.body()
    let type = try body.filled("type") ?? ""
    let metadata = try body.object("data") ?? [:]
    guard let email = try body.email() else {
      throw AuthError(400, "validation_failed", "Unable to validate email address: invalid format")
    }
    let newEmail = try body.email("new_email")
    let hash = try body.filled("password").map { password throws(AuthError) in
      try checkStrength(password)
      return passwords.hash(password)
    }
    guard type != "signup" || hash != nil else {
      throw AuthError(400, "validation_failed", "Signup requires a valid password")
    }
    return try database.use { database in
      try database.transaction {
        let found = try AuthUser.find(email: email, in: database)
        var user = found ?? newUser(email: email, metadata: metadata, isConfirmed: false, now: asked.now)
        let purpose: OneTimeCode.Purpose
        var address = email
        switch type {
        case "signup", "invite":
          guard found?.confirmedAt == nil else { throw Self.emailExists }
          user.passwordHash = hash ?? user.passwordHash
          purpose = type == "signup" ? .confirmation : .invite
        case "magiclink": purpose = .recovery
        case "recovery", "email_change_current", "email_change_new":
          guard found != nil else { throw Self.userNotFound }
          purpose = type == "recovery" ? .recovery : .emailChange
        default: throw AuthError(400, "validation_failed", "Invalid email action link type requested: \(type)")
        }
        if purpose == .emailChange {
          guard let newEmail else {
            throw AuthError(400, "validation_failed", "Unable to validate email address: invalid format")
          }
          guard try AuthUser.find(email: newEmail, in: database) == nil else { throw Self.emailExists }
          user.newEmail = newEmail
          address = newEmail
        }
        let mail = try mail(purpose, to: &user, email: address, asked, in: database)
        try user.save(in: database)
        var answer = user.json.objectValue ?? [:]
        answer["action_link"] = mail.link.map(JSONValue.string)
        answer["email_otp"] = .string(mail.code.code)
        answer["hashed_token"] = .string(mail.code.hash)
        answer["verification_type"] = .string(type)
        answer["redirect_to"] = .string(asked.parameter("redirect_to") ?? Self.site)
        return .json(200, .object(answer))
      }
    }
  }

  private func listUsers(_ asked: AuthRequest) throws -> StandInAnswer {
    func number(_ name: String, absent: Int) throws -> Int {
      guard let text = asked.parameter(name) else { return absent }
      guard let number = Int(text), (1...1_000_000).contains(number) else {
        throw AuthError(400, "validation_failed", "Bad Pagination Parameters")
      }
      return number
    }
    let page = try number("page", absent: 1)
    let size = try number("per_page", absent: 50)
    let (users, count) = try database.use { try AuthUser.page(page, size: size, in: $0) }
    return .json(
      200, ["users": .array(users.map(\.json)), "aud": "authenticated"],
      fields: [("X-Total-Count", String(count))])
  }

  /// What a call of the service key says of a user.
  private struct UserChanges: Sendable {
    let id: String?
    let email: String?
    let passwordHash: String?
    let confirms: Bool
    let metadata: JSONObject
    let appMetadata: JSONObject
    /// When a ban ends; the outer `nil` leaves it as it is.
    let bannedUntil: Timestamp??

    init(_ body: AuthBody, now: Timestamp, of service: AuthService) throws {
      id = try body.filled("id").map { text throws(AuthError) in
        guard let id = UUIDText.normalised(text) else {
          throw AuthError(400, "validation_failed", "ID must conform to the uuid v4 format")
        }
        return id
      }
      email = try body.email()
      passwordHash = try body.filled("password").map { password throws(AuthError) in
        try service.checkStrength(password)
        return service.passwords.hash(password)
      }
      confirms = try body.flag("email_confirm") ?? false
      metadata = try body.object("user_metadata") ?? [:]
      appMetadata = try body.object("app_metadata") ?? [:]
      bannedUntil = try body.filled("ban_duration").map { text throws(AuthError) in
        if text == "none" { return nil }
        guard let seconds = Self.seconds(text) else {
          throw AuthError(400, "validation_failed", "invalid format for ban duration: \(text)")
        }
        return Timestamp(microseconds: now.microseconds + seconds * 1_000_000)
      }
    }

    /// A duration as Go writes it, in whole units: `24h`, `1h30m`, `10s`.
    private static func seconds(_ text: String) -> Int64? {
      let units: [Character: Int64] = ["h": 3_600, "m": 60, "s": 1]
      var sum: Int64 = 0
      var digits = ""
      for character in text {
        if character.isASCII, character.isNumber {
          digits.append(character)
          continue
        }
        // A hundred years, so that no sum leaves the calendar.
        guard let unit = units[character], let number = Int64(digits), number <= 3_153_600_000 / unit else {
          return nil
        }
        sum += number * unit
        digits = ""
      }
      return digits.isEmpty && !text.isEmpty ? min(sum, 3_153_600_000) : nil
    }
  }

  /// Applies changes to a user, who is saved.
  private func apply(
    _ changes: UserChanges, to user: inout AuthUser, _ asked: AuthRequest, in database: Database
  ) throws {
    if let email = changes.email, email != user.email {
      guard try AuthUser.find(email: email, in: database) == nil else {
        throw Self.emailExists
      }
      user.take(email: email, confirmedAt: nil, identityID: UUIDText.random(effects.randomBytes))
    }
    if changes.confirms, user.email != nil { user.confirmedAt = user.confirmedAt ?? asked.now }
    if let hash = changes.passwordHash { user.passwordHash = hash }
    user.metadata.merge(changes.metadata)
    user.ownAppMetadata.merge(changes.appMetadata)
    if let bannedUntil = changes.bannedUntil { user.bannedUntil = bannedUntil }
    user.updatedAt = asked.now
    try user.save(in: database)
  }
}
