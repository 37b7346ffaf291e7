import LosslessJSON
import OfflineEngine
import SQLite

/// A file beside a row's file that waits for a person (DESIGN section 4).
struct SideFile: Sendable, Hashable {
  /// Where it lies.
  var path: String
  /// The row's collection.
  var collection: String
  /// The row.
  var key: RowKey
  /// What it stands for.
  var kind: SideFileKind
  /// The entries of the engine's lists that it stands for, oldest first.
  var entries: [Int64]
  /// What the person's version was made from: only the columns that differ from this are sent.
  var base: JSONObject
  /// The text, kept here before anything else loses it.
  var text: [UInt8]
  /// Whether the file has certainly been on the disk: only then does its absence mean anything.
  var isDurable = false
  /// The file on the disk, by which a rename is known.
  var identity: FileIdentity?
  /// Since when complete listings show no such file.
  var absentSince: WallTime?
}

/// The side files within one transaction.
struct SideFiles {
  let database: Database

  init(_ transaction: EngineTransaction) { database = transaction.database }

  func at(_ path: String) throws -> SideFile? {
    try database.first("SELECT * FROM side_file WHERE path = ?", [.text(path)]).flatMap(side)
  }

  func of(_ collection: String, _ key: RowKey) throws -> [SideFile] {
    try database.rows(
      "SELECT * FROM side_file WHERE collection = ? AND key = ?", [.text(collection), .text(Mirror.text(key))]
    )
    .compactMap(side)
  }

  func hasAny(_ collection: String) throws -> Bool {
    try database.first("SELECT 1 FROM side_file WHERE collection = ? LIMIT 1", [.text(collection)]) != nil
  }

  func all(_ collection: String) throws -> [SideFile] {
    try database.rows("SELECT * FROM side_file WHERE collection = ?", [.text(collection)]).compactMap(side)
  }

  func save(_ side: SideFile) throws {
    try database.execute(
      """
      INSERT INTO side_file (path, collection, key, kind, entries, base, text, is_durable, inode, birth, absent_since)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
      ON CONFLICT (path) DO UPDATE SET entries = ?5, base = ?6, text = ?7, is_durable = ?8, inode = ?9, birth = ?10,
        absent_since = ?11
      """,
      [
        .text(side.path), .text(side.collection), .text(Mirror.text(side.key)), .text(side.kind.rawValue),
        .text(JSONValue.array(side.entries.map(JSONValue.integer)).serialized()),
        .text(JSONValue.object(side.base).serialized()), .blob(side.text), .integer(side.isDurable ? 1 : 0),
        .optional(side.identity.map { Int64(bitPattern: $0.inode) }), .optional(side.identity?.born?.nanoseconds),
        .optional(side.absentSince?.nanoseconds),
      ])
  }

  func remove(_ path: String) throws {
    try database.execute("DELETE FROM side_file WHERE path = ?", [.text(path)])
  }

  func setDurable(_ path: String, _ status: FileStatus) throws {
    guard var side = try at(path) else { return }
    side.isDurable = true
    side.identity = status.identity
    side.absentSince = nil
    try save(side)
  }

  private func side(_ row: SQLiteRow) throws -> SideFile? {
    guard let path = row.text("path"), let kind = row.text("kind").flatMap(SideFileKind.init),
      let key = try Mirror.key(row.text("key"))
    else { return nil }
    return SideFile(
      path: path, collection: row.text("collection") ?? "", key: key, kind: kind,
      entries: try JSONValue(parsing: row.text("entries") ?? "[]").arrayValue?.compactMap(\.int64Value) ?? [],
      base: try JSONValue(parsing: row.text("base") ?? "{}").objectValue ?? [:], text: row.blob("text") ?? [],
      isDurable: row.integer("is_durable") == 1,
      identity: row.integer("inode").map { inode in
        FileIdentity(
          inode: UInt64(bitPattern: inode), born: row.integer("birth").map { FileTime(nanoseconds: $0) })
      }, absentSince: row.integer("absent_since").map(WallTime.init(nanoseconds:)))
  }
}
