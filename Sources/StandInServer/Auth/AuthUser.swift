import LosslessJSON
import SQLite

/// A user as Auth keeps it.
struct AuthUser: Sendable {
  let id: String
  var email: String?
  var passwordHash: String?
  var metadata: JSONObject
  var isAnonymous: Bool
  var identityID: String?
  let createdAt: Timestamp
  var updatedAt: Timestamp
  var lastSignInAt: Timestamp?
  var confirmedAt: Timestamp?

  init(id: String, createdAt: Timestamp) {
    self.id = id
    self.createdAt = createdAt
    updatedAt = createdAt
    metadata = [:]
    isAnonymous = true
  }

  init(row: SQLiteRow) {
    func time(_ name: String) -> Timestamp? { row.integer(name).map { Timestamp(microseconds: $0) } }
    id = row.text("id") ?? ""
    email = row.text("email")
    passwordHash = row.text("password_hash")
    metadata = row.text("metadata").flatMap { try? JSONValue(parsing: $0).objectValue } ?? [:]
    isAnonymous = row.integer("is_anonymous") == 1
    identityID = row.text("identity_id")
    createdAt = time("created_at") ?? Timestamp(microseconds: 0)
    updatedAt = time("updated_at") ?? createdAt
    lastSignInAt = time("last_sign_in_at")
    confirmedAt = time("confirmed_at")
  }

  /// Inserts or replaces it.
  func save(in database: Database) throws {
    try database.execute(
      """
      INSERT INTO auth_users (id, email, password_hash, metadata, is_anonymous, identity_id, created_at, updated_at,
        last_sign_in_at, confirmed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET email = excluded.email, password_hash = excluded.password_hash,
        metadata = excluded.metadata, is_anonymous = excluded.is_anonymous, identity_id = excluded.identity_id,
        updated_at = excluded.updated_at, last_sign_in_at = excluded.last_sign_in_at,
        confirmed_at = excluded.confirmed_at
      """,
      [
        .text(id), .optional(email), .optional(passwordHash), .text(JSONValue.object(metadata).serialized()),
        .integer(isAnonymous ? 1 : 0), .optional(identityID), .integer(createdAt.microseconds),
        .integer(updatedAt.microseconds), .optional(lastSignInAt?.microseconds), .optional(confirmedAt?.microseconds),
      ])
  }

  static func find(id: String, in database: Database) throws -> AuthUser? {
    try database.first("SELECT * FROM auth_users WHERE id = ?", [.text(id)]).map(AuthUser.init(row:))
  }

  static func find(email: String, in database: Database) throws -> AuthUser? {
    try database.first("SELECT * FROM auth_users WHERE email = ?", [.text(email)]).map(AuthUser.init(row:))
  }

  /// `app_metadata`: where the user came from.
  var appMetadata: JSONValue {
    email == nil ? [:] : ["provider": "email", "providers": ["email"]]
  }

  /// The user object of the answers.
  var json: JSONValue {
    var object: JSONObject = [
      "id": .string(id), "aud": "authenticated", "role": "authenticated", "email": .string(email ?? ""),
    ]
    object["email_confirmed_at"] = confirmedAt.map { .string($0.authText) }
    object["phone"] = ""
    object["confirmed_at"] = confirmedAt.map { .string($0.authText) }
    object["last_sign_in_at"] = lastSignInAt.map { .string($0.authText) }
    object["app_metadata"] = appMetadata
    object["user_metadata"] = .object(metadata)
    object["identities"] = .array(identity.map { [$0] } ?? [])
    object["created_at"] = .string(createdAt.authText)
    object["updated_at"] = .string(updatedAt.authText)
    object["is_anonymous"] = .bool(isAnonymous)
    return .object(object)
  }

  private var identity: JSONValue? {
    guard let identityID, let email else { return nil }
    let confirmed = confirmedAt ?? createdAt
    return [
      "identity_id": .string(identityID), "id": .string(id), "user_id": .string(id),
      "identity_data": [
        "email": .string(email), "email_verified": .bool(confirmedAt != nil), "phone_verified": false,
        "sub": .string(id),
      ],
      "provider": "email", "last_sign_in_at": .string((lastSignInAt ?? confirmed).authText),
      "created_at": .string(confirmed.authText), "updated_at": .string(confirmed.authText), "email": .string(email),
    ]
  }
}
