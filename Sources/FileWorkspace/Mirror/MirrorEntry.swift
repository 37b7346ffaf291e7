import LosslessJSON
import OfflineEngine
import SQLite

/// What the mirror knows of one row's file.
struct MirrorEntry: Sendable, Hashable {
  /// The collection's folder.
  var collection: String
  /// What file and row last agreed on.
  var base: FileBase
  /// Where the file lies; `nil` when another row's file has taken its place.
  var path: String?
  /// Where it lay last, for messages and for its return.
  var lastPath: String
  /// When the key is to be written into the file, if nobody writes it before.
  var keyDueAt: WallTime?
  /// The file as it was last read or written; `nil` when nothing is known of it.
  var seen: SeenFile?
  /// Whether a complete listing has shown the file after it was last written here: part of the proof of a delete.
  var wasSeen = false
  /// Since when complete listings show no file.
  var absentSince: WallTime?
  /// Whether its delete waits for a person.
  var isHeld = false
}

/// A file as it was when its content was last known.
struct SeenFile: Sendable, Hashable {
  var identity: FileIdentity
  var stamp: FileStamp
  var hash: ContentHash
  /// When it was read or written, by the device's clock.
  var readAt: WallTime

  init(_ status: FileStatus, _ hash: ContentHash, at time: WallTime) {
    identity = status.identity
    stamp = status.stamp
    self.hash = hash
    readAt = time
  }

  /// Whether this already says of a file what a later reading says.
  func covers(_ later: SeenFile) -> Bool {
    identity == later.identity && stamp == later.stamp && hash == later.hash && (isCertain || !later.isCertain)
  }

  private var isCertain: Bool {
    KnownFile(stamp: stamp, readAt: FileTime(nanoseconds: readAt.nanoseconds)).isCertain
  }

  init?(_ row: SQLiteRow) {
    guard let inode = row.integer("inode"), let size = row.integer("size"), let modified = row.integer("mtime"),
      let changed = row.integer("ctime"), let hash = row.text("hash").flatMap({ ContentHash($0) })
    else { return nil }
    readAt = WallTime(nanoseconds: row.integer("read_at") ?? 0)
    let inodeNumber = UInt64(bitPattern: inode)
    identity = FileIdentity(inode: inodeNumber, born: row.integer("birth").map { FileTime(nanoseconds: $0) })
    stamp = FileStamp(
      size: size, modified: FileTime(nanoseconds: modified), changed: FileTime(nanoseconds: changed), inode: inodeNumber
    )
    self.hash = hash
  }
}

/// The mirror within one transaction.
struct Mirror {
  let transaction: EngineTransaction
  private var database: Database { transaction.database }

  init(_ transaction: EngineTransaction) { self.transaction = transaction }

  // MARK: Entries

  func entry(path: String) throws -> MirrorEntry? {
    try database.first("SELECT * FROM mirror WHERE path = ?", [.text(path)]).map(entry)
  }

  func entry(_ collection: String, key: RowKey) throws -> MirrorEntry? {
    try entry(collection, keyText: key.text)
  }

  func entry(_ collection: String, keyText: String) throws -> MirrorEntry? {
    try database.first("SELECT * FROM mirror WHERE collection = ? AND key = ?", [.text(collection), .text(keyText)])
      .map(entry)
  }

  /// The row whose file this was when it was last looked at, wherever it lay.
  ///
  /// A file system that keeps no birth times uses numbers again unnoticed; there the text must be the same, too.
  func entry(_ collection: String, file: FileContent) throws -> MirrorEntry? {
    let identity = file.status.identity
    return try database.rows(
      // Left to itself SQLite walks the whole collection.
      "SELECT * FROM mirror INDEXED BY mirror_of_file WHERE collection = ? AND inode = ?",
      [.text(collection), .integer(Int64(bitPattern: identity.inode))]
    ).map(entry).first { entry in
      entry.seen?.identity == identity && (identity.born != nil || entry.seen?.hash == file.hash)
    }
  }

  func entries(_ collection: String) throws -> [MirrorEntry] {
    try database.rows("SELECT * FROM mirror WHERE collection = ?", [.text(collection)]).map(entry)
  }

  /// Forgets every file of a collection.
  func removeAll(_ collection: String) throws {
    for table in ["mirror", "earlier_base"] {
      try database.execute("DELETE FROM \(table) WHERE collection = ?", [.text(collection)])
    }
  }

  /// How many rows of the collection the mirror knows.
  func count(_ collection: String) throws -> Int {
    Int(
      try database.first("SELECT count(*) AS n FROM mirror WHERE collection = ?", [.text(collection)])?.integer("n")
        ?? 0)
  }

  /// Entries whose files are gone and not settled, in all collections.
  func absentEntries(_ collection: String) throws -> [MirrorEntry] {
    try database.rows(
      "SELECT * FROM mirror INDEXED BY mirror_absent WHERE collection = ? AND absent_since IS NOT NULL",
      [.text(collection)]
    ).map(entry)
  }

  /// Entries whose key is to be written into the file at `time` or before.
  func entriesWithKeyDue(by time: WallTime) throws -> [MirrorEntry] {
    try database.rows("SELECT * FROM mirror WHERE key_due_at <= ? AND path IS NOT NULL", [.integer(time.nanoseconds)])
      .map(entry)
  }

  /// The earliest time at which a key is due.
  func nextKeyDue() throws -> WallTime? {
    try database.first("SELECT min(key_due_at) AS t FROM mirror WHERE key_due_at IS NOT NULL AND path IS NOT NULL")?
      .integer("t")
      .map(WallTime.init(nanoseconds:))
  }

  /// Lets nothing wait for a time that a clock showed before it was set back.
  ///
  /// - Parameters:
  ///   - now: The time that it shows now.
  ///   - keyDelay: How long a key may have to wait.
  func setBack(to now: WallTime, keyDelay: Duration) throws {
    let (now, latest) = (SQLiteValue.integer(now.nanoseconds), SQLiteValue.integer((now + keyDelay).nanoseconds))
    try database.execute("UPDATE mirror SET key_due_at = ? WHERE key_due_at > ?", [latest, latest])
    try database.execute("UPDATE mirror SET absent_since = ?1 WHERE absent_since > ?1", [now])
    try database.execute("UPDATE side_file SET absent_since = ?1 WHERE absent_since > ?1", [now])
    try database.execute("UPDATE problem SET since = ?1 WHERE since > ?1", [now])
  }

  /// Has everything that is missing count as missing so much later, but not later than now: what went since the clock was set
  /// is noted by the clock as it is.
  func putOffAbsences(by leap: Duration, to now: WallTime) throws {
    for table in ["mirror", "side_file", "photo"] {
      try database.execute(
        "UPDATE \(table) SET absent_since = min(absent_since + ?, ?) WHERE absent_since IS NOT NULL",
        [.integer(leap.nanoseconds), .integer(now.nanoseconds)])
    }
  }

  func save(_ entry: MirrorEntry) throws {
    do {
      try put(entry)
    } catch let error as SQLiteError where error.isUniqueViolation {
      // Another row's file may have been moved here: that row has lost its path, which is not yet its delete.
      try database.execute(
        """
        UPDATE mirror SET path = NULL, absent_since = coalesce(absent_since, ?)
        WHERE path = ? AND NOT (collection = ? AND key = ?)
        """,
        [
          .integer(transaction.now.nanoseconds), .optional(entry.path), .text(entry.collection),
          .text(entry.base.key.text),
        ])
      try put(entry)
    }
  }

  /// Keeps the entry of a row and a path of which there is none.
  ///
  /// - Returns: Whether there was none.
  func saveNew(_ entry: MirrorEntry) throws -> Bool {
    try database.execute(Self.insertNew, bindings(entry))
    return database.changes > 0
  }

  private func put(_ entry: MirrorEntry) throws {
    try database.execute(Self.upsert, bindings(entry))
  }

  private static let insertNew = "\(insert) ON CONFLICT DO NOTHING"
  private static let upsert = """
    \(insert) ON CONFLICT (collection, key) DO UPDATE SET path = ?4, last_path = ?5, base = ?6, version = ?7,
      written_key = ?8, key_due_at = ?9, inode = ?10, birth = ?11, size = ?12, mtime = ?13, ctime = ?14, hash = ?15,
      was_seen = ?16, absent_since = ?17, is_held = ?18, read_at = ?19
    """
  private static let insert = """
    INSERT INTO mirror (collection, key, key_values, path, last_path, base, version, written_key, key_due_at, inode,
      birth, size, mtime, ctime, hash, was_seen, absent_since, is_held, read_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
    """

  private func bindings(_ entry: MirrorEntry) -> [SQLiteValue] {
    let seen = entry.seen
    return [
      .text(entry.collection), .text(entry.base.key.text), .text(Self.text(entry.base.key)), .optional(entry.path),
      .text(entry.lastPath), .text(JSONValue.object(entry.base.values).serialized()), .optional(entry.base.version),
      .optional(entry.base.writtenKey.map(Self.text)), .optional(entry.keyDueAt?.nanoseconds),
      .optional(seen.map { Int64(bitPattern: $0.identity.inode) }), .optional(seen?.identity.born?.nanoseconds),
      .optional(seen?.stamp.size), .optional(seen?.stamp.modified.nanoseconds),
      .optional(seen?.stamp.changed.nanoseconds), .optional(seen?.hash.description),
      .integer(entry.wasSeen ? 1 : 0), .optional(entry.absentSince?.nanoseconds), .integer(entry.isHeld ? 1 : 0),
      .optional(seen?.readAt.nanoseconds),
    ]
  }

  /// Forgets a row's file; its path stays reserved for the row's return.
  func remove(_ entry: MirrorEntry) throws {
    try database.execute(
      "INSERT INTO former_path VALUES (?1, ?2, ?3) ON CONFLICT (collection, key) DO UPDATE SET path = ?3",
      [.text(entry.collection), .text(entry.base.key.text), .text(entry.lastPath)])
    try database.execute(
      "DELETE FROM mirror WHERE collection = ? AND key = ?", [.text(entry.collection), .text(entry.base.key.text)])
  }

  /// Whether any row that went away has left a path to come back to.
  func hasFormerPaths(_ collection: String) throws -> Bool {
    try database.first("SELECT 1 FROM former_path WHERE collection = ? LIMIT 1", [.text(collection)]) != nil
  }

  /// The path that the row's file had before the row went away.
  func formerPath(_ collection: String, _ key: RowKey) throws -> String? {
    try database.first(
      "SELECT path FROM former_path WHERE collection = ? AND key = ?", [.text(collection), .text(key.text)])?.text(
        "path")
  }

  // MARK: Whole collections

  /// What a scan compares a folder with, by path.
  func knownFiles(_ collection: String) throws -> [PathKey: KnownFile] {
    try files("path IS NOT NULL AND collection = ?", collection)
  }

  private func files(_ condition: String, _ collection: String) throws -> [PathKey: KnownFile] {
    var known: [PathKey: KnownFile] = [:]
    // By their places: this is read for every file at every scan.
    try database.forEach(
      """
      SELECT path, inode, size, mtime, ctime, read_at, CASE WHEN ctime >= read_at - ? THEN hash END
      FROM mirror WHERE \(condition)
      """, [.integer(KnownFile.coarsestTick), .text(collection)]
    ) { row in
      guard case .text(let path) = row[0] else { return }
      var file = KnownFile(
        stamp: FileStamp(
          size: -1, modified: FileTime(nanoseconds: 0), changed: FileTime(nanoseconds: 0), inode: 0),
        readAt: FileTime(nanoseconds: 0))
      if case .integer(let inode) = row[1], case .integer(let size) = row[2], case .integer(let modified) = row[3],
        case .integer(let changed) = row[4]
      {
        file.stamp = FileStamp(
          size: size, modified: FileTime(nanoseconds: modified), changed: FileTime(nanoseconds: changed),
          inode: UInt64(bitPattern: inode))
        if case .integer(let readAt) = row[5] { file.readAt = FileTime(nanoseconds: readAt) }
        if case .text(let hash) = row[6] { file.hash = ContentHash(hash) }
      }
      known[PathKey(path)] = file
    }
    return known
  }

  /// Notes that a file with these numbers was read again and says what it said.
  func setRead(_ collection: String, path: String, _ stamp: FileStamp, at time: WallTime) throws {
    try database.execute(
      """
      UPDATE mirror SET read_at = ?
      WHERE path = ? AND collection = ? AND inode = ? AND size = ? AND mtime = ? AND ctime = ?
      """,
      [
        .integer(time.nanoseconds), .text(path), .text(collection), .integer(Int64(bitPattern: stamp.inode)),
        .integer(stamp.size), .integer(stamp.modified.nanoseconds), .integer(stamp.changed.nanoseconds),
      ])
  }

  func paths(_ collection: String) throws -> [String] {
    try database.rows("SELECT path FROM mirror WHERE collection = ? AND path IS NOT NULL", [.text(collection)])
      .compactMap { $0.text("path") }
  }

  /// The files of the rows whose key texts begin with `text`.
  func files(_ collection: String, keysBeginningWith text: String) throws -> [(keyText: String, path: String)] {
    try database.rows(
      "SELECT key, path FROM mirror WHERE collection = ?1 AND path IS NOT NULL AND substr(key, 1, length(?2)) = ?2",
      [.text(collection), .text(text)]
    ).compactMap { row in
      guard let key = row.text("key"), let path = row.text("path") else { return nil }
      return (key, path)
    }
  }

  /// What the mirror knows of a file's presence, without its values.
  struct Presence {
    var keyText: String
    var path: String?
    var stamp: FileStamp?
    var wasSeen: Bool
    var isMissed: Bool
  }

  /// The files for which a listing may be news: not seen since they were written, missed, held, or without a path.
  func openPresences(_ collection: String) throws -> [Presence] {
    try database.rows(
      """
      SELECT key, path, inode, birth, size, mtime, ctime, hash, read_at, was_seen, absent_since, is_held
      FROM mirror WHERE collection = ?
        AND (was_seen = 0 OR path IS NULL OR absent_since IS NOT NULL OR is_held = 1)
      """, [.text(collection)]
    ).map(presence)
  }

  /// The file at a path, if it is the collection's.
  func presence(_ collection: String, path: String) throws -> Presence? {
    try database.first(
      """
      SELECT key, path, inode, birth, size, mtime, ctime, hash, read_at, was_seen, absent_since, is_held
      FROM mirror WHERE path = ? AND collection = ?
      """, [.text(path), .text(collection)]
    ).map(presence)
  }

  private func presence(_ row: SQLiteRow) -> Presence {
    Presence(
      keyText: row.text("key") ?? "", path: row.text("path"), stamp: SeenFile(row)?.stamp,
      wasSeen: row.integer("was_seen") == 1,
      isMissed: row.integer("absent_since") != nil || row.integer("is_held") == 1)
  }

  private static let unseen =
    "was_seen = 0 AND absent_since IS NULL AND is_held = 0 AND path IS NOT NULL AND collection = ?"

  /// Whether files wait to be seen for the first time since they were written.
  func hasUnseen(_ collection: String) throws -> Bool {
    try database.first("SELECT 1 FROM mirror WHERE \(Self.unseen) LIMIT 1", [.text(collection)]) != nil
  }

  /// The files that nobody has seen since they were written and nobody has missed, by path.
  func unseenFiles(_ collection: String) throws -> [PathKey: KnownFile] { try files(Self.unseen, collection) }

  /// Notes that a listing shows one of the files that were not seen yet.
  func setSeen(_ collection: String, path: String) throws {
    try database.execute(
      "UPDATE mirror SET was_seen = 1 WHERE \(Self.unseen) AND path = ?", [.text(collection), .text(path)])
  }

  /// Notes that a listing shows all of the files that were not seen yet: one statement for many files.
  func setAllSeen(_ collection: String) throws {
    try database.execute("UPDATE mirror SET was_seen = 1 WHERE \(Self.unseen)", [.text(collection)])
  }

  /// Notes that a listing shows the file; with the numbers of the last look it counts as seen.
  func setPresent(_ collection: String, _ presence: Presence, isSeen: Bool) throws {
    guard presence.isMissed || (isSeen && !presence.wasSeen) else { return }
    try database.execute(
      """
      UPDATE mirror SET absent_since = NULL, is_held = 0, was_seen = was_seen OR ?
      WHERE collection = ? AND key = ?
      """, [.integer(isSeen ? 1 : 0), .text(collection), .text(presence.keyText)])
  }

  private func entry(_ row: SQLiteRow) throws -> MirrorEntry {
    let path = row.text("path")
    return MirrorEntry(
      collection: row.text("collection") ?? "",
      base: FileBase(
        key: try Self.key(row.text("key_values")) ?? RowKey([]),
        values: try JSONValue(parsing: row.text("base") ?? "{}").objectValue ?? [:], version: row.text("version"),
        writtenKey: try Self.key(row.text("written_key"))),
      path: path, lastPath: row.text("last_path") ?? "",
      keyDueAt: row.integer("key_due_at").map(WallTime.init(nanoseconds:)), seen: SeenFile(row),
      wasSeen: row.integer("was_seen") == 1, absentSince: row.integer("absent_since").map(WallTime.init(nanoseconds:)),
      isHeld: row.integer("is_held") == 1)
  }

  static func text(_ key: RowKey) -> String { JSONValue.array(key.values).serialized() }

  static func key(_ text: String?) throws -> RowKey? {
    try text.flatMap { try JSONValue(parsing: $0).arrayValue }.map(RowKey.init)
  }

  // MARK: Earlier bases

  /// How many earlier contents of a path are kept, and for how long: what an editor that was open all the time may hold.
  private static let earlierBaseCountMax: Int64 = 8
  private static let earlierBaseAge = Duration.seconds(86_400)

  /// Keeps the base that a write-back replaces.
  func keepEarlier(_ entry: MirrorEntry, at time: WallTime) throws {
    let (collection, key) = (SQLiteValue.text(entry.collection), SQLiteValue.text(entry.base.key.text))
    let last =
      try database.first(
        "SELECT max(number) AS n FROM earlier_base WHERE collection = ? AND key = ?", [collection, key])?.integer("n")
      ?? 0
    try database.execute(
      "INSERT INTO earlier_base VALUES (?, ?, ?, ?, ?, ?)",
      [
        collection, key, .integer(last + 1), .text(JSONValue.object(entry.base.values).serialized()),
        .optional(entry.base.version), .integer(time.nanoseconds),
      ])
    try database.execute(
      "DELETE FROM earlier_base WHERE collection = ? AND key = ? AND (number <= ? OR replaced_at < ?)",
      [
        collection, key, .integer(last + 1 - Self.earlierBaseCountMax),
        .integer((time - Self.earlierBaseAge).nanoseconds),
      ])
  }

  /// The bases that lay at the row's path before the current one, newest first.
  func earlierBases(_ entry: MirrorEntry, at time: WallTime) throws -> [FileBase] {
    try database.rows(
      """
      SELECT base, version FROM earlier_base WHERE collection = ? AND key = ? AND replaced_at >= ?
      ORDER BY number DESC
      """,
      [
        .text(entry.collection), .text(entry.base.key.text), .integer((time - Self.earlierBaseAge).nanoseconds),
      ]
    ).map { row in
      FileBase(
        key: entry.base.key, values: try JSONValue(parsing: row.text("base") ?? "{}").objectValue ?? [:],
        version: row.text("version"), writtenKey: entry.base.writtenKey)
    }
  }
}

extension WallTime {
  /// The time `duration` before `time`.
  static func - (time: WallTime, duration: Duration) -> WallTime {
    WallTime(nanoseconds: time.nanoseconds - duration.nanoseconds)
  }
}
