import LosslessJSON
import SQLite

/// A row as the server last showed it.
public struct CachedRow: Sendable, Hashable {
  /// The columns that were read; `nil` when the row was seen once and is gone.
  public var values: JSONObject?
  /// The version of the values; `nil` when the table has none or parts of the row may be older than others.
  public var version: String?
  /// Whether the row must be read again before the values are trusted.
  public var isStale: Bool
}

/// A row as this device shows it: the server's values with the queued writes laid over them.
public struct OverlaidRow: Sendable, Hashable {
  /// What the server last showed.
  public var server: CachedRow?
  /// The row with the overlay; `nil` when there is no row or a queued write deletes it.
  public var values: JSONObject?
  /// The queued writes to this row, oldest first.
  public var pending: [PendingMutation]

  /// Whether the server showed the row once and does not any more.
  public var isGone: Bool { server.map { $0.values == nil } ?? false }
}

extension EngineTransaction {
  /// The cached copy of a row, or `nil` when the server never showed it.
  public func cachedRow(_ table: String, _ key: RowKey) throws -> CachedRow? {
    try database.first(
      "SELECT body, version, is_stale FROM cached_row WHERE user_id = ? AND table_name = ? AND key = ?",
      [.text(user), .text(table), .text(key.text)]
    ).map(Self.cachedRow)
  }

  private static func cachedRow(_ row: SQLiteRow) throws -> CachedRow {
    CachedRow(
      values: try row.text("body").map(object), version: row.text("version"), isStale: row.integer("is_stale") == 1)
  }

  /// Whether the server showed the row in this version and still has it; looks at no value.
  func isCached(_ table: String, _ key: RowKey, version: String?) throws -> Bool {
    try database.first(
      """
      SELECT 1 FROM cached_row INDEXED BY cached_row_version
      WHERE user_id = ? AND table_name = ? AND key = ? AND body IS NOT NULL AND version IS ?
      """, [.text(user), .text(table), .text(key.text), .optional(version)]) != nil
  }

  /// The row with the queued writes laid over it.
  public func row(_ table: String, _ key: RowKey) throws -> OverlaidRow {
    // Most rows are known, and mostly nothing waits: one question tells both.
    let row = try database.first(
      """
      SELECT body, version, is_stale, EXISTS (
        SELECT 1 FROM mutation_count
        WHERE user_id = ?1 AND list = 'queued' AND table_name = ?2 AND number > 0) AS has_queued
      FROM cached_row WHERE user_id = ?1 AND table_name = ?2 AND key = ?3
      """, [.text(user), .text(table), .text(key.text)])
    let server = try row.map(Self.cachedRow)
    guard row?.integer("has_queued") != 0 else {
      return OverlaidRow(server: server, values: server?.values, pending: [])
    }
    let pending = try mutations(list: .queued, table: table, key: key)
    return OverlaidRow(server: server, values: overlay(pending, on: server?.values), pending: pending)
  }

  /// How many rows of the table the server showed and still has, as far as this device knows.
  ///
  /// The number is kept beside the rows: every pull asks for it.
  public func cachedRowCount(_ table: String) throws -> Int {
    Int(
      try database.first(
        "SELECT number FROM cached_row_count WHERE user_id = ? AND table_name = ?", [.text(user), .text(table)])?
        .integer("number") ?? 0)
  }

  /// The key texts of the rows that the server showed and still has, as far as this device knows.
  public func cachedKeys(_ table: String) throws -> [String] {
    var keys: [String] = []
    try forEachCachedVersion(table) { key, _ in keys.append(key) }
    return keys
  }

  /// Calls `body` with the key text and version of each row that the server showed and still has.
  func forEachCachedVersion(_ table: String, _ body: (String, String?) throws -> Void) throws {
    try database.forEach(
      """
      SELECT key, version FROM cached_row INDEXED BY cached_row_version
      WHERE user_id = ? AND table_name = ? AND body IS NOT NULL
      """, [.text(user), .text(table)]
    ) { try body($0.text("key") ?? "", $0.text("version")) }
  }

  /// Keeps a row that the server showed.
  ///
  /// A row that is as it was leaves no trace.
  func setCachedRow(_ table: TableDescription, _ key: RowKey, _ values: JSONObject) throws {
    _ = try learnRow(table, key, values)
  }

  /// Keeps a row that the server showed, and tells whether its values are new.
  ///
  /// - Parameter isLikelyNew: Whether most such rows were never seen before, so that it pays to keep it first and look
  ///   only when there is one.
  func learnRow(
    _ table: TableDescription, _ key: RowKey, _ values: JSONObject, isLikelyNew: Bool = false
  ) throws -> Bool {
    let version = table.version(of: values)
    if isLikelyNew, try storeNew(table.name, key, values: values, version: version) {
      try noteChange(table.name, key)
      return true
    }
    let before = try cachedRow(table.name, key)
    guard before != CachedRow(values: values, version: version, isStale: false) else {
      news.add(.mirrored(key: key.text), schema: schema, table: table.name)
      return false
    }
    try store(table.name, key, values: values, version: version, isStale: false)
    guard before?.values != values else { return false }
    try noteChange(table.name, key)
    if let before, before.values != nil, !before.isStale { try noteVersion(table.name, before.version, version) }
    return true
  }

  /// Lays the columns of an answered write into the cached row.
  ///
  /// The answer holds the key, the version and the columns the write set. They make a whole row at the new version only
  /// when the cached copy had the version that the write was guarded with; otherwise the row must be read again. It is
  /// read again, too, where only versions tell what moved: the server may have set other columns by the same write.
  func mergeAnswer(_ table: TableDescription, _ key: RowKey, _ answer: JSONObject, guardedWith version: String?) throws
  {
    let before = try cachedRow(table.name, key)
    let isWhole = before?.values != nil && before?.version == version && (version != nil || before?.isStale == false)
    let merged = (before?.values ?? [:]).merging(answer)
    let holdsAllColumns = table.readColumns.allSatisfy { answer[$0] != nil }
    let isMovedByVersionOnly = table.versionColumn != nil && table.cursorColumn == nil
    // Older parts under the new version would let a later write pass over a change that nobody here has seen.
    try store(
      table.name, key, values: merged, version: isWhole || holdsAllColumns ? table.version(of: answer) : nil,
      isStale: !holdsAllColumns && (!isWhole || isMovedByVersionOnly))
    try noteChange(table.name, key)
    if isWhole, merged != before?.values { try noteVersion(table.name, version, table.version(of: answer)) }
  }

  /// Remembers whether a row's version moved when the row changed.
  private func noteVersion(_ table: String, _ before: String?, _ after: String?) throws {
    guard let before, let after else { return }
    let seen = before == after ? VersionColumn.stays : .moves
    if try versionColumn(table) != seen { try setNote(VersionColumn.noteName(table), seen.rawValue) }
  }

  /// What was last seen of the table's version column; `nil` when no row was seen to change.
  public func versionColumn(_ table: String) throws -> VersionColumn? {
    try note(VersionColumn.noteName(table)).flatMap(VersionColumn.init)
  }

  /// Remembers that a row was seen and is gone.
  func setGone(_ table: String, _ key: RowKey) throws {
    try store(table, key, values: nil, version: nil, isStale: false)
    try forgetTakenWrite(table, key)
    try noteChange(table, key)
  }

  /// Forgets that a row was seen and is gone, so that its key may be used again by a person who says so.
  ///
  /// - Returns: Whether it was known to be gone.
  public func forgetGone(_ table: String, _ key: RowKey) throws -> Bool {
    try database.execute(
      "DELETE FROM cached_row WHERE user_id = ? AND table_name = ? AND key = ? AND body IS NULL",
      [.text(user), .text(table), .text(key.text)])
    return database.changes > 0
  }

  /// The rows to be read again, at most `limit`.
  func staleKeys(_ table: TableDescription, limit: Int) throws -> [String] {
    try database.rows(
      """
      SELECT key FROM cached_row INDEXED BY cached_row_stale
      WHERE user_id = ? AND table_name = ? AND is_stale AND body IS NOT NULL LIMIT ?
      """,
      [.text(user), .text(table.name), .integer(Int64(limit))]
    ).compactMap { $0.text("key") }
  }

  /// Keeps a row where none is known; tells whether it did.
  private func storeNew(_ table: String, _ key: RowKey, values: JSONObject, version: String?) throws -> Bool {
    try database.execute(
      """
      INSERT INTO cached_row (user_id, table_name, key, body, version, is_stale) VALUES (?, ?, ?, ?, ?, 0)
      ON CONFLICT (user_id, table_name, key) DO NOTHING
      """,
      [
        .text(user), .text(table), .text(key.text), .text(JSONValue.object(values).serialized()), .optional(version),
      ])
    guard database.changes > 0 else { return false }
    news.add(.mirrored(key: key.text), schema: schema, table: table)
    return true
  }

  private func store(_ table: String, _ key: RowKey, values: JSONObject?, version: String?, isStale: Bool) throws {
    try database.execute(
      """
      INSERT INTO cached_row (user_id, table_name, key, body, version, is_stale) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
      ON CONFLICT (user_id, table_name, key) DO UPDATE SET body = ?4, version = ?5, is_stale = ?6
      """,
      [
        .text(user), .text(table), .text(key.text),
        .optional(values.map { JSONValue.object($0).serialized() }), .optional(version), .integer(isStale ? 1 : 0),
      ])
    news.add(.mirrored(key: key.text), schema: schema, table: table)
  }

  // MARK: Changes

  /// Says that a row's content may have changed, for the one consumer of changes.
  func noteChange(_ table: String, _ key: RowKey) throws {
    try database.execute(
      "INSERT OR IGNORE INTO row_change VALUES (?, ?, ?)", [.text(user), .text(table), .text(key.text)])
  }

  /// Has a row looked at again by the consumer of changes.
  public func touchRow(_ table: String, _ key: RowKey) throws { try noteChange(table, key) }

  /// The rows whose content may have changed since they were last taken, at most `limit`, in the order of their keys.
  ///
  /// - Parameter after: The key text behind which the list begins; `nil` for its beginning.
  public func changedKeys(_ table: String, after: String? = nil, limit: Int) throws -> [String] {
    let condition = after == nil ? "" : "AND key > ?4"
    return try database.rows(
      "SELECT key FROM row_change WHERE user_id = ?1 AND table_name = ?2 \(condition) ORDER BY key LIMIT ?3",
      [.text(user), .text(table), .integer(Int64(limit))] + (after.map { [.text($0)] } ?? [])
    ).compactMap { $0.text("key") }
  }

  /// Whether a row stands on the list of changes.
  public func isChanged(_ table: String, _ key: RowKey) throws -> Bool {
    try database.first(
      "SELECT 1 FROM row_change WHERE user_id = ? AND table_name = ? AND key = ?",
      [.text(user), .text(table), .text(key.text)]) != nil
  }

  /// Takes a row off the list of changes, in the transaction that records what was made of it.
  public func clearChange(_ table: String, _ keyText: String) throws {
    try database.execute(
      "DELETE FROM row_change WHERE user_id = ? AND table_name = ? AND key = ?",
      [.text(user), .text(table), .text(keyText)])
  }

  static func object(_ text: String) throws -> JSONObject {
    try JSONValue(parsing: text).objectValue ?? [:]
  }
}

/// What a table's version column does when a row changes, as this device saw it.
public enum VersionColumn: String, Sendable, Hashable {
  /// It gets another value, as it must.
  case moves
  /// It keeps its value: nothing on the server moves it.
  case stays

  fileprivate static func noteName(_ table: String) -> String { "version_column.\(table)" }
}

/// The row after the queued writes, oldest first; `nil` when there is none.
func overlay(_ pending: [PendingMutation], on server: JSONObject?) -> JSONObject? {
  pending.reduce(server) { row, mutation in
    switch mutation.write.operation {
    case .insert, .upsert: (row ?? [:]).merging(mutation.write.values)
    case .update: row?.merging(mutation.write.values)
    case .delete: nil
    }
  }
}

extension JSONObject {
  /// This object with the members of `other` set over its own.
  func merging(_ other: JSONObject) -> JSONObject {
    var merged = self
    for (name, value) in other.members { merged[name] = value }
    return merged
  }

  /// The members named in `names` that are there.
  func picking(_ names: [String]) -> JSONObject {
    var picked = JSONObject()
    for name in names { if let value = self[name] { picked[name] = value } }
    return picked
  }
}

extension EngineTransaction {
  /// The key of a cached row from its text, in the server's own types.
  func key(_ table: TableDescription, text: String) throws -> RowKey? {
    let row = try database.first(
      "SELECT body FROM cached_row WHERE user_id = ? AND table_name = ? AND key = ?",
      [.text(user), .text(table.name), .text(text)])
    return try row?.text("body").map(Self.object).flatMap(table.key)
  }

  /// Has a row read again that the server showed and still has.
  func setStale(_ table: String, _ key: RowKey) throws {
    try database.execute(
      """
      UPDATE cached_row SET is_stale = 1
      WHERE user_id = ? AND table_name = ? AND key = ? AND body IS NOT NULL AND NOT is_stale
      """, [.text(user), .text(table), .text(key.text)])
  }

  /// Takes a row off the list of those to be read again.
  func setFresh(_ table: String, _ keyText: String) throws {
    try database.execute(
      "UPDATE cached_row SET is_stale = 0 WHERE user_id = ? AND table_name = ? AND key = ? AND is_stale",
      [.text(user), .text(table), .text(keyText)])
  }
}
