import LosslessJSON
import SQLite

/// An upload that comes in several requests (TUS 1.0.0): its row says how much is durable.
struct ResumableUpload: Sendable {
  /// Also the version of the object that it becomes.
  let id: String
  let bucket: String
  let key: String
  let ownerID: String?
  let upserts: Bool
  /// In bytes.
  let length: Int64
  /// How many bytes are there.
  var offset: Int64
  /// `Upload-Metadata` as it came.
  let metadata: String
  let createdAt: Timestamp

  /// How long it may be gone on with, as on hosted projects.
  static let lifetimeSeconds: Int64 = 86_400

  init(
    id: String, bucket: String, key: String, ownerID: String?, upserts: Bool, length: Int64, metadata: String,
    now: Timestamp
  ) {
    self.id = id
    self.bucket = bucket
    self.key = key
    self.ownerID = ownerID
    self.upserts = upserts
    self.length = length
    offset = 0
    self.metadata = metadata
    createdAt = now
  }

  init(row: SQLiteRow) {
    id = row.text("id") ?? ""
    bucket = row.text("bucket_id") ?? ""
    key = row.text("name") ?? ""
    ownerID = row.text("owner_id")
    upserts = row.integer("upsert") == 1
    length = row.integer("length") ?? 0
    offset = row.integer("offset") ?? 0
    metadata = row.text("metadata") ?? ""
    createdAt = Timestamp(microseconds: row.integer("created_at") ?? 0)
  }

  func save(in database: Database) throws {
    try database.execute(
      """
      INSERT INTO storage_uploads (id, bucket_id, name, owner_id, upsert, length, offset, metadata, created_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET offset = excluded.offset
      """,
      [
        .text(id), .text(bucket), .text(key), .optional(ownerID), .integer(upserts ? 1 : 0), .integer(length),
        .integer(offset), .text(metadata), .integer(createdAt.microseconds),
      ])
  }

  static func find(_ id: String, in database: Database) throws -> ResumableUpload? {
    try database.first("SELECT * FROM storage_uploads WHERE id = ?", [.text(id)]).map(ResumableUpload.init(row:))
  }

  var isComplete: Bool { offset == length }

  /// When it ends, Unix seconds.
  var expiry: Int64 { Timestamp.seconds(of: createdAt.microseconds) + Self.lifetimeSeconds }

  /// The last part of its address.
  var location: String { Base64URL.encode(Array("\(bucket)/\(key)/\(id)".utf8)) }

  /// The id in the last part of an address.
  static func id(of location: String) -> String? {
    guard let bytes = Base64URL.decode(location) else { return nil }
    return String(decoding: bytes, as: UTF8.self).split(separator: "/").last.map(String.init)
  }

  /// What `Upload-Metadata` says of the object.
  var description: ObjectDescription {
    let values = Self.values(metadata)
    var description = ObjectDescription()
    description.mimeType = values["contentType"] ?? description.mimeType
    if let seconds = values["cacheControl"], !seconds.isEmpty, seconds.utf8.allSatisfy(isDigit) {
      description.cacheControl = "max-age=\(seconds)"
    }
    if let text = values["metadata"] {
      description.userMetadata = (try? JSONValue(parsing: text).objectValue) ?? [:]
    }
    return description
  }

  /// The values of `Upload-Metadata`: names with Base64 behind them, separated by commas.
  static func values(_ field: String) -> [String: String] {
    var values: [String: String] = [:]
    for pair in field.split(separator: ",") {
      let parts = pair.split(separator: " ", omittingEmptySubsequences: true)
      guard let name = parts.first else { continue }
      let bytes = parts.count > 1 ? Base64URL.decodeAny(String(parts[1])) ?? [] : []
      values[String(name)] = String(decoding: bytes, as: UTF8.self)
    }
    return values
  }
}
