import LosslessJSON
import OfflineEngine
import SQLite

/// What this device knows of one photo: its file, its object in the bucket and its row.
///
/// All that is still to be done follows from the record and the row (`decidePhoto`), so a process that dies loses nothing.
public struct PhotoRecord: Sendable, Hashable {
  /// What is to become of the photo next.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// The file was found or has changed, and is to be read.
    case unread
    /// The file was read; its bytes are to be sent.
    case waiting
    /// The bucket has the file's bytes, and the row that says so waits in the queue.
    case sent
    /// File, bucket and row agree.
    case stored
    /// The server has a photo whose bytes are not here.
    case remote
    /// It cannot be sent or fetched before its file, the server or a person changes that.
    case failed
    /// Its folder belongs to no row.
    case held
  }

  /// The place in the order in which photos came; 0 before it is kept.
  public var number: Int64 = 0
  /// The key of its row.
  public var id: String
  /// The folder of the collection.
  public var collection: String
  /// The key of the row that it belongs to; `nil` where its folder has none.
  public var owner: String?
  /// Where the file lies or will lie; `nil` while it is gone or another file has taken its place.
  public var path: String?
  /// Where it lay last: the name that was chosen for it.
  public var lastPath: String
  /// The file as it was last looked at; `nil` where none was here yet.
  public var seen: PhotoSighting?
  /// What the file says; `nil` until it was read.
  public var content: PhotoContent?
  /// The object that the row names.
  public var object: PhotoObject?
  /// A newer object in the bucket, while the row that names it waits in the queue.
  public var sent: PhotoObject?
  /// The key under which the content is being sent; after a death it may have arrived.
  public var uploadKey: String?
  /// What the row says of the photo's place, as this device last wrote or read it; `nil` where it has no row.
  public var row: PhotoPlace?
  /// What is to become of it next.
  public var state: State
  /// Why it waits, failed or is held; for a person.
  public var reason: String?
  /// How often the step at hand has failed.
  public var attempts = 0
  /// When it is tried again.
  public var retryAt: WallTime?
  /// Whether the row's bytes are to come down.
  public var isWanted = false
  /// Whether a complete listing has shown the file after it was last written here: part of the proof of a delete.
  public var wasSeen = false
  /// Since when complete listings show no file.
  public var absentSince: WallTime?
  /// Whether its delete waits for a person.
  public var isHeld = false

  /// A photo of which nothing is known but its place.
  init(id: String, collection: String, owner: String?, path: String, state: State) {
    self.id = id
    self.collection = collection
    self.owner = owner
    self.path = path
    lastPath = path
    self.state = state
  }
}

/// A file's numbers when it was last looked at.
public struct PhotoSighting: Sendable, Hashable {
  /// By what it is known again after a rename.
  public var identity: FileIdentity
  /// By what a change shows.
  public var stamp: FileStamp

  init(_ status: FileStatus) {
    identity = status.identity
    stamp = status.stamp
  }

  fileprivate init?(_ row: SQLiteRow) {
    guard let inode = row.integer("inode"), let size = row.integer("size"), let modified = row.integer("mtime"),
      let changed = row.integer("ctime")
    else { return nil }
    let number = UInt64(bitPattern: inode)
    identity = FileIdentity(inode: number, born: row.integer("birth").map { FileTime(nanoseconds: $0) })
    stamp = FileStamp(
      size: size, modified: FileTime(nanoseconds: modified), changed: FileTime(nanoseconds: changed), inode: number)
  }
}

/// What the bytes of a photo's file say.
public struct PhotoContent: Sendable, Hashable {
  /// Of the file's bytes, in hexadecimal.
  public var sha256: String
  /// How many bytes the file has.
  public var size: Int64
  /// The media type, by the content and not by the name.
  public var contentType: String
  /// In pixels, as it is meant to be looked at.
  public var width: Int?
  /// In pixels, as it is meant to be looked at.
  public var height: Int?
  /// When it was taken, RFC 3339 in UTC.
  public var takenAt: String?

  /// What a file says.
  public init(
    sha256: String, size: Int64, contentType: String, width: Int? = nil, height: Int? = nil, takenAt: String? = nil
  ) {
    self.sha256 = sha256
    self.size = size
    self.contentType = contentType
    self.width = width
    self.height = height
    self.takenAt = takenAt
  }

  fileprivate init?(_ json: JSONValue) {
    guard let sha256 = json["sha256"]?.stringValue, let size = json["size"]?.int64Value else { return nil }
    self.init(
      sha256: sha256, size: size, contentType: json["type"]?.stringValue ?? "application/octet-stream",
      width: json["width"]?.int64Value.map(Int.init), height: json["height"]?.int64Value.map(Int.init),
      takenAt: json["taken"]?.stringValue)
  }

  fileprivate var json: JSONValue {
    [
      "sha256": .string(sha256), "size": .integer(size), "type": .string(contentType),
      "width": width.map { .integer(Int64($0)) } ?? .null, "height": height.map { .integer(Int64($0)) } ?? .null,
      "taken": takenAt.map(JSONValue.string) ?? .null,
    ]
  }
}

/// An object of the bucket.
public struct PhotoObject: Sendable, Hashable {
  /// Its key.
  public var key: String
  /// The SHA-256 of the file whose bytes it holds; `nil` where that is not known.
  public var sha256: String?
  /// How many bytes it has.
  public var size: Int64?

  /// An object.
  public init(key: String, sha256: String?, size: Int64?) {
    self.key = key
    self.sha256 = sha256
    self.size = size
  }

  fileprivate init?(_ json: JSONValue) {
    guard let key = json["key"]?.stringValue else { return nil }
    self.init(key: key, sha256: json["sha256"]?.stringValue, size: json["size"]?.int64Value)
  }

  fileprivate var json: JSONValue {
    [
      "key": .string(key), "sha256": sha256.map(JSONValue.string) ?? .null,
      "size": size.map(JSONValue.integer) ?? .null,
    ]
  }
}

/// Where a photo belongs, and what it is called there.
public struct PhotoPlace: Sendable, Hashable {
  /// The key of the row that it belongs to.
  public var owner: String
  /// The file's name.
  public var name: String

  /// A place.
  public init(owner: String, name: String) {
    self.owner = owner
    self.name = name
  }
}

/// The photos' records within one transaction.
struct PhotoRecords {
  let database: Database

  init(_ transaction: EngineTransaction) { database = transaction.database }

  // MARK: Reading

  func all(_ collection: String) throws -> [PhotoRecord] {
    try records("WHERE collection = ? ORDER BY number", [.text(collection)])
  }

  /// Whether anything is known of a collection's photos.
  func hasAny(_ collection: String) throws -> Bool {
    try database.first("SELECT 1 FROM photo WHERE collection = ? LIMIT 1", [.text(collection)]) != nil
  }

  /// Those whose files lie, or lay last, under some names in a folder, or are called so.
  func records(_ collection: String, below folder: String, names: Set<String>) throws -> [PhotoRecord] {
    var found: [Int64: PhotoRecord] = [:]
    for name in names {
      let path = WorkspacePath.joined(folder, name)
      // Every path below the name: '0' comes right behind '/'.
      for record in try records(
        """
        WHERE collection = ?1
          AND ((path > ?2 AND path < ?3) OR (last_path > ?2 AND last_path < ?3) OR path = ?4 OR last_path = ?4)
        """, [.text(collection), .text(path + "/"), .text(path + "0"), .text(path)])
      { found[record.number] = record }
    }
    return found.values.sorted { $0.number < $1.number }
  }

  /// Whether a file lies in a folder of which nothing is known yet.
  func hasUnreadFile(in folder: String) throws -> Bool {
    try database.first(
      """
      SELECT 1 FROM photo WHERE path > ? AND path < ? AND state = 'unread' AND object IS NULL AND absent_since IS NULL
      LIMIT 1
      """, [.text(folder + "/"), .text(folder + "0")]) != nil
  }

  /// Those whose file had this number.
  func records(_ collection: String, inode: UInt64) throws -> [PhotoRecord] {
    try records(
      "WHERE collection = ? AND inode = ? ORDER BY number", [.text(collection), .integer(Int64(bitPattern: inode))])
  }

  func record(id: String) throws -> PhotoRecord? { try records("WHERE id = ?", [.text(id)]).first }

  func record(path: String) throws -> PhotoRecord? { try records("WHERE path = ?", [.text(path)]).first }

  func records(_ collection: String, owner: String) throws -> [PhotoRecord] {
    try records("WHERE collection = ? AND owner = ? ORDER BY number", [.text(collection), .text(owner)])
  }

  /// Those of an owner that are on the server only.
  func remotes(_ collection: String, owner: String) throws -> [PhotoRecord] {
    try records(
      """
      INDEXED BY photo_of_owner WHERE collection = ? AND owner = ? AND state = 'remote' AND inode IS NULL
      ORDER BY number
      """, [.text(collection), .text(owner)])
  }

  /// The names that photos have in a folder, or will have.
  func names(in folder: String, besides id: String) throws -> [String] {
    // Every name below the folder: '0' comes right behind '/'.
    try database.rows(
      "SELECT path FROM photo WHERE path > ?1 AND path < ?2 AND id <> ?3",
      [.text(folder + "/"), .text(folder + "0"), .text(id)]
    ).compactMap { $0.text("path").map(WorkspacePath.name) }
  }

  /// The photos that something is still to be done about.
  func unfinished(_ collection: String) throws -> [PhotoRecord] {
    try records(
      "WHERE collection = ? AND (state <> 'stored' OR absent_since IS NOT NULL) ORDER BY number", [.text(collection)])
  }

  /// The photos whose folders belong to no row that is known.
  func held(_ collection: String) throws -> [PhotoRecord] {
    try records("WHERE state = 'held' AND collection = ? AND absent_since IS NULL ORDER BY number", [.text(collection)])
  }

  /// Those of them whose files have some content; asked for each of many photos that go at once.
  func held(_ collection: String, saying sha256: String) throws -> [PhotoRecord] {
    try records(
      """
      WHERE state = 'held' AND collection = ? AND absent_since IS NULL AND content ->> 'sha256' = ? ORDER BY number
      """, [.text(collection), .text(sha256)])
  }

  /// The photos that were read and have no row yet, but one that they are to belong to.
  func unsent(_ collection: String) throws -> [PhotoRecord] {
    try records(
      """
      INDEXED BY photo_in_state WHERE state IN ('waiting', 'failed') AND collection = ? AND owner IS NOT NULL
        AND row_owner IS NULL AND object IS NULL ORDER BY number
      """, [.text(collection)])
  }

  /// The photos whose files are missing.
  func absent(_ collection: String) throws -> [PhotoRecord] {
    try records("INDEXED BY photo_absent WHERE collection = ? AND absent_since IS NOT NULL", [.text(collection)])
  }

  /// The first in order of those in a state that are due at `time`, from behind a place in the order.
  func next(_ state: PhotoRecord.State, after number: Int64 = 0, at time: WallTime) throws -> PhotoRecord? {
    try records(
      "WHERE state = ? AND number > ? AND (retry_at IS NULL OR retry_at <= ?) ORDER BY number LIMIT 1",
      [.text(state.rawValue), .integer(number), .integer(time.nanoseconds)]
    ).first
  }

  /// The earliest time that a photo waits for.
  func nextDue() throws -> WallTime? {
    let due = try database.first(
      """
      SELECT min(retry_at) AS t FROM (
        SELECT retry_at FROM photo WHERE retry_at IS NOT NULL AND state IN ('unread', 'waiting', 'remote')
        UNION ALL SELECT retry_at FROM photo_leftover WHERE retry_at IS NOT NULL)
      """)
    return due?.integer("t").map(WallTime.init(nanoseconds:))
  }

  /// The earliest time at which a file is to be read.
  func nextRead() throws -> WallTime? {
    try database.first(
      """
      SELECT min(coalesce(retry_at, 0)) AS t FROM photo
      WHERE state = 'unread' AND path IS NOT NULL AND absent_since IS NULL
      """)?.integer("t").map(WallTime.init(nanoseconds:))
  }

  /// How many are in each state.
  func counts() throws -> [PhotoRecord.State: Int] {
    var counts: [PhotoRecord.State: Int] = [:]
    for row in try database.rows("SELECT state, count(*) AS n FROM photo GROUP BY state") {
      guard let state = row.text("state").flatMap(PhotoRecord.State.init) else { continue }
      counts[state] = Int(row.integer("n") ?? 0)
    }
    return counts
  }

  private func records(_ condition: String, _ values: [SQLiteValue]) throws -> [PhotoRecord] {
    try database.rows("SELECT * FROM photo \(condition)", values).compactMap(record)
  }

  private func record(_ row: SQLiteRow) throws -> PhotoRecord? {
    guard let id = row.text("id"), let state = row.text("state").flatMap(PhotoRecord.State.init) else { return nil }
    var record = PhotoRecord(
      id: id, collection: row.text("collection") ?? "", owner: row.text("owner"), path: row.text("last_path") ?? "",
      state: state)
    record.number = row.integer("number") ?? 0
    record.path = row.text("path")
    record.seen = PhotoSighting(row)
    record.content = try row.text("content").flatMap { PhotoContent(try JSONValue(parsing: $0)) }
    record.object = try row.text("object").flatMap { PhotoObject(try JSONValue(parsing: $0)) }
    record.sent = try row.text("sent").flatMap { PhotoObject(try JSONValue(parsing: $0)) }
    record.uploadKey = row.text("upload_key")
    if let owner = row.text("row_owner"), let name = row.text("row_name") {
      record.row = PhotoPlace(owner: owner, name: name)
    }
    record.reason = row.text("reason")
    record.attempts = Int(row.integer("attempts") ?? 0)
    record.retryAt = row.integer("retry_at").map(WallTime.init(nanoseconds:))
    record.isWanted = row.integer("is_wanted") == 1
    record.wasSeen = row.integer("was_seen") == 1
    record.absentSince = row.integer("absent_since").map(WallTime.init(nanoseconds:))
    record.isHeld = row.integer("is_held") == 1
    return record
  }

  // MARK: Writing

  /// Keeps a record; one that had its path has none any more.
  ///
  /// - Returns: The record with its number.
  @discardableResult
  func save(_ record: PhotoRecord) throws -> PhotoRecord {
    if let path = record.path {
      try database.execute("UPDATE photo SET path = NULL WHERE path = ? AND id <> ?", [.text(path), .text(record.id)])
    }
    let seen = record.seen
    try database.execute(
      """
      INSERT INTO photo (id, collection, owner, path, last_path, inode, birth, size, mtime, ctime, content, object,
        upload_key, row_name, row_owner, state, reason, attempts, retry_at, was_seen, absent_since, is_held, sent,
        is_wanted)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
        ?24)
      ON CONFLICT (id) DO UPDATE SET collection = ?2, owner = ?3, path = ?4, last_path = ?5, inode = ?6, birth = ?7,
        size = ?8, mtime = ?9, ctime = ?10, content = ?11, object = ?12, upload_key = ?13, row_name = ?14,
        row_owner = ?15, state = ?16, reason = ?17, attempts = ?18, retry_at = ?19, was_seen = ?20, absent_since = ?21,
        is_held = ?22, sent = ?23, is_wanted = ?24
      """,
      [
        .text(record.id), .text(record.collection), .optional(record.owner), .optional(record.path),
        .text(record.lastPath), .optional(seen.map { Int64(bitPattern: $0.identity.inode) }),
        .optional(seen?.identity.born?.nanoseconds), .optional(seen?.stamp.size),
        .optional(seen?.stamp.modified.nanoseconds), .optional(seen?.stamp.changed.nanoseconds),
        .optional(record.content?.json.serialized()), .optional(record.object?.json.serialized()),
        .optional(record.uploadKey), .optional(record.row?.name), .optional(record.row?.owner),
        .text(record.state.rawValue), .optional(record.reason), .integer(Int64(record.attempts)),
        .optional(record.retryAt?.nanoseconds), .integer(record.wasSeen ? 1 : 0),
        .optional(record.absentSince?.nanoseconds), .integer(record.isHeld ? 1 : 0),
        .optional(record.sent?.json.serialized()), .integer(record.isWanted ? 1 : 0),
      ])
    return try self.record(id: record.id) ?? record
  }

  /// Brings times near that lie ahead because the clock was set back.
  func setBack(to now: WallTime) throws {
    let now = SQLiteValue.integer(now.nanoseconds)
    try database.execute("UPDATE photo SET absent_since = ?1 WHERE absent_since > ?1", [now])
    // What waits does so no longer than it would from now on, see `PhotoRetry`; a file that is to be read has no attempts.
    for table in ["photo", "photo_leftover"] {
      try database.execute(
        """
        UPDATE \(table) SET retry_at = min(retry_at, ?1 + min(1 << min(attempts, 20), ?2) * 1000000000)
        WHERE retry_at > ?1
        """, [now, .integer(PhotoRetry.longest.components.seconds)])
    }
  }

  func remove(id: String) throws { try database.execute("DELETE FROM photo WHERE id = ?", [.text(id)]) }
}
