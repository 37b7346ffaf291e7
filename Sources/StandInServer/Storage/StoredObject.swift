import LosslessJSON
import SQLite

/// An object: a row of `storage.objects`, which names the file with its bytes.
struct StoredObject: Sendable {
  let id: String
  var bucket: String
  /// The key.
  var name: String
  var ownerID: String?
  /// Changes with every write; the name of the file.
  var version: String
  /// In bytes.
  var size: Int64
  /// With its quotes.
  var etag: String
  var mimeType: String
  var cacheControl: String
  var robots: String?
  var userMetadata: JSONObject
  var createdAt: Timestamp
  var updatedAt: Timestamp

  init(
    id: String, bucket: String, name: String, ownerID: String?, version: String, size: Int64, etag: String,
    description: ObjectDescription, now: Timestamp
  ) {
    self.id = id
    self.bucket = bucket
    self.name = name
    self.ownerID = ownerID
    self.version = version
    self.size = size
    self.etag = etag
    mimeType = description.mimeType
    cacheControl = description.cacheControl
    robots = description.robots
    userMetadata = description.userMetadata
    createdAt = now
    updatedAt = now
  }

  init(row: SQLiteRow) {
    id = row.text("id") ?? ""
    bucket = row.text("bucket_id") ?? ""
    name = row.text("name") ?? ""
    ownerID = row.text("owner_id")
    version = row.text("version") ?? ""
    size = row.integer("size") ?? 0
    etag = row.text("etag") ?? ""
    mimeType = row.text("mimetype") ?? ""
    cacheControl = row.text("cache_control") ?? ""
    robots = row.text("robots")
    userMetadata = row.text("user_metadata").flatMap { try? JSONValue(parsing: $0).objectValue } ?? [:]
    createdAt = Timestamp(microseconds: row.integer("created_at") ?? 0)
    updatedAt = Timestamp(microseconds: row.integer("updated_at") ?? 0)
  }

  /// Inserts it, or replaces the row of its id.
  func save(in database: Database) throws {
    try database.execute(
      """
      INSERT INTO storage_objects (id, bucket_id, name, owner_id, version, size, etag, mimetype, cache_control, robots,
        user_metadata, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET bucket_id = excluded.bucket_id, name = excluded.name,
        owner_id = excluded.owner_id, version = excluded.version, size = excluded.size, etag = excluded.etag,
        mimetype = excluded.mimetype, cache_control = excluded.cache_control, robots = excluded.robots,
        user_metadata = excluded.user_metadata, updated_at = excluded.updated_at
      """,
      [
        .text(id), .text(bucket), .text(name), .optional(ownerID), .text(version), .integer(size), .text(etag),
        .text(mimeType), .text(cacheControl), .optional(robots), .text(JSONValue.object(userMetadata).serialized()),
        .integer(createdAt.microseconds), .integer(updatedAt.microseconds),
      ])
  }

  static func find(_ bucket: String, _ name: String, in database: Database) throws -> StoredObject? {
    try database.first(
      "SELECT * FROM storage_objects WHERE bucket_id = ? AND name = ?", [.text(bucket), .text(name)]
    ).map(StoredObject.init(row:))
  }

  // MARK: As JSON

  private var times: JSONObject {
    [
      "updated_at": .string(updatedAt.storageText), "created_at": .string(createdAt.storageText),
      "last_accessed_at": .string(createdAt.storageText),
    ]
  }

  /// What the server itself knows of the bytes.
  private var metadata: JSONValue {
    [
      "eTag": .string(etag), "size": .integer(size), "mimetype": .string(mimeType),
      "cacheControl": .string(cacheControl), "lastModified": .string(updatedAt.storageText),
      "contentLength": .integer(size), "httpStatusCode": 200,
    ]
  }

  /// An entry of a list, under the name that the list gives it.
  func entry(named name: String) -> JSONValue {
    var entry: JSONObject = ["name": .string(name), "id": .string(id)]
    for (name, value) in times { entry[name] = value }
    entry["metadata"] = metadata
    return .object(entry)
  }

  /// The whole row.
  var row: JSONObject {
    var row: JSONObject = [
      "bucket_id": .string(bucket), "name": .string(name), "owner": ownerID.map(JSONValue.string) ?? .null,
      "owner_id": ownerID.map(JSONValue.string) ?? .null, "version": .string(version), "id": .string(id),
    ]
    for (name, value) in times { row[name] = value }
    row["metadata"] = metadata
    row["user_metadata"] = .object(userMetadata)
    return row
  }

  /// The answer of `object/info`.
  var info: JSONValue {
    [
      "id": .string(id), "name": .string(name), "version": .string(version), "bucket_id": .string(bucket),
      "size": .integer(size), "content_type": .string(mimeType), "cache_control": .string(cacheControl),
      "etag": .string(etag), "metadata": .object(userMetadata), "last_modified": .string(updatedAt.storageText),
      "created_at": .string(createdAt.storageText),
    ]
  }
}

/// What an upload says about its object.
struct ObjectDescription: Sendable {
  var mimeType = "application/octet-stream"
  var cacheControl = "no-cache"
  var robots: String?
  var userMetadata: JSONObject = [:]
}

/// The tables of Storage.
enum StorageTables {
  static let migrations = [
    Migration(
      "buckets, objects, resumable uploads",
      """
      CREATE TABLE storage_buckets (
        id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, public INTEGER NOT NULL,
        file_size_limit INTEGER, allowed_mime_types TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
      CREATE TABLE storage_objects (
        id TEXT PRIMARY KEY, bucket_id TEXT NOT NULL REFERENCES storage_buckets (id), name TEXT NOT NULL, owner_id TEXT,
        version TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, etag TEXT NOT NULL, mimetype TEXT NOT NULL,
        cache_control TEXT NOT NULL, robots TEXT, user_metadata TEXT NOT NULL, created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL, UNIQUE (bucket_id, name));
      CREATE INDEX storage_objects_lower ON storage_objects (bucket_id, lower(name));
      CREATE TABLE storage_uploads (
        id TEXT PRIMARY KEY, bucket_id TEXT NOT NULL, name TEXT NOT NULL, owner_id TEXT, upsert INTEGER NOT NULL,
        length INTEGER NOT NULL, offset INTEGER NOT NULL, metadata TEXT NOT NULL, created_at INTEGER NOT NULL);
      """)
  ]
}
