import LosslessJSON
import SQLite

/// A bucket: a row of `storage.buckets`.
struct Bucket: Sendable {
  let id: String
  let name: String
  let owner: String
  var isPublic: Bool
  /// In bytes.
  var fileSizeLimit: Int64?
  var allowedMimeTypes: [String]?
  let createdAt: Timestamp
  var updatedAt: Timestamp

  init(
    id: String, name: String, owner: String, isPublic: Bool, fileSizeLimit: Int64?, allowedMimeTypes: [String]?,
    now: Timestamp
  ) {
    self.id = id
    self.name = name
    self.owner = owner
    self.isPublic = isPublic
    self.fileSizeLimit = fileSizeLimit
    self.allowedMimeTypes = allowedMimeTypes
    createdAt = now
    updatedAt = now
  }

  init(row: SQLiteRow) {
    id = row.text("id") ?? ""
    name = row.text("name") ?? id
    owner = row.text("owner") ?? ""
    isPublic = row.integer("public") == 1
    fileSizeLimit = row.integer("file_size_limit")
    allowedMimeTypes = row.text("allowed_mime_types").flatMap { try? JSONValue(parsing: $0).arrayValue }?
      .compactMap(\.stringValue)
    createdAt = Timestamp(microseconds: row.integer("created_at") ?? 0)
    updatedAt = Timestamp(microseconds: row.integer("updated_at") ?? 0)
  }

  /// Inserts or replaces it.
  func save(in database: Database) throws {
    let types = allowedMimeTypes.map { JSONValue.array($0.map(JSONValue.string)).serialized() }
    try database.execute(
      """
      INSERT INTO storage_buckets (id, name, owner, public, file_size_limit, allowed_mime_types, created_at, updated_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET public = excluded.public, file_size_limit = excluded.file_size_limit,
        allowed_mime_types = excluded.allowed_mime_types, updated_at = excluded.updated_at
      """,
      [
        .text(id), .text(name), .text(owner), .integer(isPublic ? 1 : 0), .optional(fileSizeLimit), .optional(types),
        .integer(createdAt.microseconds), .integer(updatedAt.microseconds),
      ])
  }

  static func find(_ id: String, in database: Database) throws -> Bucket? {
    try database.first("SELECT * FROM storage_buckets WHERE id = ?", [.text(id)]).map(Bucket.init(row:))
  }

  /// Without `type`, which only the list has.
  var json: JSONObject {
    [
      "id": .string(id), "name": .string(name), "owner": .string(owner), "public": .bool(isPublic),
      "file_size_limit": fileSizeLimit.map(JSONValue.integer) ?? .null,
      "allowed_mime_types": allowedMimeTypes.map { .array($0.map(JSONValue.string)) } ?? .null,
      "created_at": .string(createdAt.storageText), "updated_at": .string(updatedAt.storageText),
    ]
  }
}

extension Timestamp {
  /// The form of Storage: RFC 3339 with `Z`, always with milliseconds.
  var storageText: String { authText.dropLast(4) + "Z" }
}
