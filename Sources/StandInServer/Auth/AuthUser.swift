import LosslessJSON
import SQLite

/// A user as Auth keeps it.
struct AuthUser: Sendable {
  let id: String
  var email: String?
  var passwordHash: String?
  var metadata: JSONObject
  /// What the project's own code says of the user, beside where the user came from.
  var ownAppMetadata: JSONObject
  var isAnonymous: Bool
  var identityID: String?
  /// An address that is to be confirmed before it becomes the user's.
  var newEmail: String?
  let createdAt: Timestamp
  var updatedAt: Timestamp
  var lastSignInAt: Timestamp?
  var confirmedAt: Timestamp?
  var bannedUntil: Timestamp?
  /// When a code was last sent, by what it is for.
  var sentAt: [OneTimeCode.Purpose: Timestamp]

  /// A new user without anything.
  init(id: String, createdAt: Timestamp) {
    self.id = id
    self.createdAt = createdAt
    updatedAt = createdAt
    metadata = [:]
    ownAppMetadata = [:]
    isAnonymous = true
    sentAt = [:]
  }

  init(row: SQLiteRow) {
    func time(_ name: String) -> Timestamp? { row.integer(name).map { Timestamp(microseconds: $0) } }
    func object(_ name: String) -> JSONObject {
      row.text(name).flatMap { try? JSONValue(parsing: $0).objectValue } ?? [:]
    }
    id = row.text("id") ?? ""
    email = row.text("email")
    passwordHash = row.text("password_hash")
    metadata = object("metadata")
    ownAppMetadata = object("app_metadata")
    isAnonymous = row.integer("is_anonymous") == 1
    identityID = row.text("identity_id")
    newEmail = row.text("new_email")
    createdAt = time("created_at") ?? Timestamp(microseconds: 0)
    updatedAt = time("updated_at") ?? createdAt
    lastSignInAt = time("last_sign_in_at")
    confirmedAt = time("confirmed_at")
    bannedUntil = time("banned_until")
    sentAt = [:]
    for purpose in OneTimeCode.Purpose.allCases { sentAt[purpose] = time(purpose.sentAtName) }
  }

  private static let columns =
    [
      "id", "email", "password_hash", "metadata", "app_metadata", "is_anonymous", "identity_id", "new_email",
      "created_at", "updated_at", "last_sign_in_at", "confirmed_at", "banned_until",
    ] + OneTimeCode.Purpose.allCases.map(\.sentAtName)

  private static let saving = """
    INSERT INTO auth_users (\(columns.joined(separator: ", ")))
    VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
    ON CONFLICT (id) DO UPDATE SET \(columns.dropFirst().map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
    """

  /// Inserts or replaces it.
  func save(in database: Database) throws {
    let values: [SQLiteValue] = [
      .text(id), .optional(email), .optional(passwordHash), .text(JSONValue.object(metadata).serialized()),
      .text(JSONValue.object(ownAppMetadata).serialized()), .integer(isAnonymous ? 1 : 0), .optional(identityID),
      .optional(newEmail), .integer(createdAt.microseconds), .integer(updatedAt.microseconds),
      .optional(lastSignInAt?.microseconds), .optional(confirmedAt?.microseconds),
      .optional(bannedUntil?.microseconds),
    ]
    try database.execute(
      Self.saving, values + OneTimeCode.Purpose.allCases.map { .optional(sentAt[$0]?.microseconds) })
  }

  /// Removes it with all its sessions and codes; its rows in other tables stay.
  func delete(in database: Database) throws {
    try database.execute(
      "DELETE FROM auth_refresh_tokens WHERE session_id IN (SELECT id FROM auth_sessions WHERE user_id = ?)",
      [.text(id)])
    try database.execute("DELETE FROM auth_sessions WHERE user_id = ?", [.text(id)])
    try database.execute("DELETE FROM auth_codes WHERE user_id = ?", [.text(id)])
    try database.execute("DELETE FROM auth_flows WHERE user_id = ?", [.text(id)])
    try database.execute("DELETE FROM auth_users WHERE id = ?", [.text(id)])
  }

  static func find(id: String, in database: Database) throws -> AuthUser? {
    try database.first("SELECT * FROM auth_users WHERE id = ?", [.text(id)]).map(AuthUser.init(row:))
  }

  static func find(email: String, in database: Database) throws -> AuthUser? {
    try database.first("SELECT * FROM auth_users WHERE email = ?", [.text(email)]).map(AuthUser.init(row:))
  }

  /// Some users, oldest first, and how many there are.
  static func page(_ page: Int, size: Int, in database: Database) throws -> (users: [AuthUser], count: Int) {
    let rows = try database.rows(
      "SELECT * FROM auth_users ORDER BY created_at, id LIMIT ? OFFSET ?",
      [.integer(Int64(size)), .integer(Int64(page - 1) * Int64(size))])
    let count = try database.first("SELECT count(*) AS n FROM auth_users")?.integer("n") ?? 0
    return (rows.map(AuthUser.init(row:)), Int(count))
  }

  // MARK: What it means

  /// Whether it may not sign in now.
  func isBanned(at now: Timestamp) -> Bool { bannedUntil.map { now.microseconds < $0.microseconds } ?? false }

  /// Takes an address as the user's own.
  ///
  /// - Parameters:
  ///   - confirmedAt: When it was confirmed; `nil` while it is not.
  ///   - identityID: The id of the identity that the user gets with a first address.
  mutating func take(email: String, confirmedAt: Timestamp?, identityID: @autoclosure () -> String) {
    self.email = email
    newEmail = nil
    isAnonymous = false
    self.confirmedAt = self.confirmedAt ?? confirmedAt
    self.identityID = self.identityID ?? identityID()
  }

  // MARK: Answers

  /// `app_metadata`: where the user came from, and what the project's own code says.
  var appMetadata: JSONValue {
    var metadata: JSONObject = email == nil ? [:] : ["provider": "email", "providers": ["email"]]
    metadata.merge(ownAppMetadata)
    return .object(metadata)
  }

  /// The user object of the answers.
  var json: JSONValue {
    var object: JSONObject = [
      "id": .string(id), "aud": "authenticated", "role": "authenticated", "email": .string(email ?? ""),
    ]
    func put(_ name: String, _ time: Timestamp?) { object[name] = time.map { .string($0.authText) } }
    put("email_confirmed_at", confirmedAt)
    object["phone"] = ""
    put("confirmed_at", confirmedAt)
    object["new_email"] = newEmail.map(JSONValue.string)
    for purpose in OneTimeCode.Purpose.allCases { put(purpose.sentAtName, sentAt[purpose]) }
    put("last_sign_in_at", lastSignInAt)
    put("banned_until", bannedUntil)
    object["app_metadata"] = appMetadata
    object["user_metadata"] = .object(metadata)
    object["identities"] = .array(identity.map { [$0] } ?? [])
    put("created_at", createdAt)
    put("updated_at", updatedAt)
    object["is_anonymous"] = .bool(isAnonymous)
    return .object(object)
  }

  /// The user object of an answer that must not tell that there is such a user: of nobody.
  func jsonOfNobody(id: String) -> JSONValue {
    guard var object = json.objectValue else { return .null }
    object["id"] = .string(id)
    object["role"] = ""
    object["identities"] = []
    return .object(object)
  }

  private var identity: JSONValue? {
    guard let identityID, let email else { return nil }
    let since = confirmedAt ?? createdAt
    return [
      "identity_id": .string(identityID), "id": .string(id), "user_id": .string(id),
      "identity_data": [
        "email": .string(email), "email_verified": .bool(confirmedAt != nil), "phone_verified": false,
        "sub": .string(id),
      ],
      "provider": "email", "last_sign_in_at": .string((lastSignInAt ?? since).authText),
      "created_at": .string(since.authText), "updated_at": .string(since.authText), "email": .string(email),
    ]
  }
}
