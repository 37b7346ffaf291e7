import LosslessJSON
import SQLite

/// What the server last answered to a query, with the accepted writes since laid in.
struct CachedList: Sendable {
  /// Its number in the cache.
  let id: Int64
  /// The query.
  let query: ListQuery
  /// When the server sent it, by the device's clock.
  let fetchedAt: WallTime
  /// Whether the server may show something else, as far as this device knows.
  let isStale: Bool
}

/// One kept row of a list.
typealias CachedListRow = (place: Double, key: String?, row: JSONObject)

/// The rows of a query as this device shows them.
struct ShownList: Sendable, Equatable {
  /// The rows, with the queued writes laid over them.
  var rows: [JSONObject]
  /// When the server sent them, by the device's clock; `nil` when it never did.
  var fetchedAt: WallTime?
  /// Whether they should be fetched again.
  var isStale: Bool
  /// Whether a queued write changed what is shown.
  var hasPendingMutations: Bool
}

// MARK: Reading

extension EngineTransaction {
  /// The kept answer to a query; `nil` when there is none.
  func cachedList(_ query: ListQuery) throws -> CachedList? {
    let row = try database.first(
      "SELECT id, fetched_at, is_stale FROM cached_query "
        + "WHERE user_id = ? AND schema_name = ? AND table_name = ? AND query = ?",
      [.text(user), .text(query.schema), .text(query.table), .text(query.text)])
    return row.map { Self.list($0, query) }
  }

  /// Every kept list of a table, the last fetched first.
  func cachedLists(_ table: String, schema: String) throws -> [CachedList] {
    try database.rows(
      "SELECT id, query, fetched_at, is_stale FROM cached_query "
        + "WHERE user_id = ? AND schema_name = ? AND table_name = ? ORDER BY fetched_at DESC, id DESC",
      [.text(user), .text(schema), .text(table)]
    ).compactMap { row in
      ListQuery(schema: schema, table: table, text: row.text("query") ?? "").map { Self.list(row, $0) }
    }
  }

  /// The kept rows of a list, in order.
  func rows(of list: CachedList) throws -> [CachedListRow] {
    var rows: [CachedListRow] = []
    try database.forEach(
      "SELECT position, key, body FROM cached_query_row WHERE query_id = ? ORDER BY position", [.integer(list.id)]
    ) { rows.append(try Self.listRow($0)) }
    return rows
  }

  /// The kept row of a list under a key.
  func row(of list: CachedList, key: String) throws -> CachedListRow? {
    try database.first(
      "SELECT position, key, body FROM cached_query_row WHERE key = ? AND query_id = ?",
      [.text(key), .integer(list.id)]
    ).map(Self.listRow)
  }

  private static func list(_ row: SQLiteRow, _ query: ListQuery) -> CachedList {
    CachedList(
      id: row.integer("id") ?? 0, query: query, fetchedAt: WallTime(nanoseconds: row.integer("fetched_at") ?? 0),
      isStale: row.integer("is_stale") == 1)
  }

  private static func listRow(_ row: SQLiteRow) throws -> CachedListRow {
    var place = 0.0
    if case .real(let number) = row["position"] { place = number }
    return (place, row.text("key"), try object(row.text("body") ?? "{}"))
  }

  /// How often what is shown of a table may have changed.
  func changeCount(_ table: String) throws -> Int64 {
    try database.first(
      "SELECT number FROM table_change WHERE user_id = ? AND table_name = ?", [.text(user), .text(table)])?
      .integer("number") ?? 0
  }

  /// What other lists of the table hold with all columns of a query.
  func knownRows(besides query: ListQuery, in lists: [CachedList]) -> KnownRows {
    let others = lists.filter { $0.query != query && query.selection.isCovered(by: $0.query.selection) }
    guard !others.isEmpty else { return .none }
    return KnownRows(
      row: { key in
        for list in others { if let found = try self.row(of: list, key: key) { return found.row } }
        return nil
      },
      all: {
        var seen: Set<String> = []
        return try others.flatMap(self.rows).compactMap { row in
          guard let key = row.key, seen.insert(key).inserted else { return nil }
          return (key, row.row)
        }
      })
  }
}

// MARK: Keeping and dropping

extension EngineTransaction {
  /// Keeps the answer to a query in place of the last one.
  func keep(
    _ rows: [JSONObject], for query: ListQuery, _ table: TableDescription, fetchedAt: WallTime, isStale: Bool
  ) throws {
    let texts = rows.map { JSONValue.object($0).serialized() }
    let list = try cachedList(query)
    if let list {
      try database.execute(
        "UPDATE cached_query SET fetched_at = ?2, is_stale = ?3 WHERE id = ?1",
        [.integer(list.id), .integer(fetchedAt.nanoseconds), .integer(isStale ? 1 : 0)])
      guard try bodies(list.id) != texts else {
        if isStale { try noteTableChange(query.table) }
        return
      }
      try database.execute("DELETE FROM cached_query_row WHERE query_id = ?", [.integer(list.id)])
    } else {
      try database.execute(
        "INSERT INTO cached_query (user_id, schema_name, table_name, query, fetched_at, is_stale) "
          + "VALUES (?, ?, ?, ?, ?, ?)",
        [
          .text(user), .text(query.schema), .text(query.table), .text(query.text), .integer(fetchedAt.nanoseconds),
          .integer(isStale ? 1 : 0),
        ])
    }
    let id = list?.id ?? database.lastInsertRowID
    let isKeyed = query.showsKey(of: table)
    for (index, row) in rows.enumerated() {
      let key = isKeyed ? table.key(of: row)?.identity : nil
      try insertRow(id, place: Double(index), key: key, text: texts[index])
    }
    try noteTableChange(query.table)
  }

  private func bodies(_ id: Int64) throws -> [String] {
    var texts: [String] = []
    try database.forEach("SELECT body FROM cached_query_row WHERE query_id = ? ORDER BY position", [.integer(id)]) {
      texts.append($0.text("body") ?? "")
    }
    return texts
  }

  func insertRow(_ id: Int64, place: Double, key: String?, text: String) throws {
    try database.execute(
      "INSERT INTO cached_query_row (query_id, position, key, body) VALUES (?, ?, ?, ?)",
      [.integer(id), .real(place), .optional(key), .text(text)])
  }

  /// Drops every kept list of the user.
  func dropLists() throws {
    let tables = try database.rows("SELECT DISTINCT table_name FROM cached_query WHERE user_id = ?", [.text(user)])
    try database.execute("DELETE FROM cached_query WHERE user_id = ?", [.text(user)])
    for row in tables { try noteTableChange(row.text("table_name") ?? "") }
  }

  /// Has a list fetched again.
  func markStale(_ list: CachedList) throws {
    try database.execute("UPDATE cached_query SET is_stale = 1 WHERE id = ?", [.integer(list.id)])
  }

  /// Notes that what is shown of a table may have changed.
  func noteTableChange(_ table: String) throws {
    try database.execute(
      "INSERT INTO table_change VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET number = number + 1",
      [.text(user), .text(table)])
  }
}

// MARK: Showing

extension EngineTransaction {
  /// The kept answer to a query with the queued writes laid over it; `nil` when there is none.
  func shownList(_ query: ListQuery, _ table: TableDescription) throws -> ShownList? {
    guard let list = try cachedList(query) else { return nil }
    return try overlaid(
      try rows(of: list), query, table, fetchedAt: list.fetchedAt, isStale: list.isStale)
  }

  /// Rows of a query with the queued writes laid over them.
  func overlaid(
    _ rows: [CachedListRow], _ query: ListQuery, _ table: TableDescription, fetchedAt: WallTime?, isStale: Bool
  ) throws -> ShownList {
    let pending = query.schema == schema ? try pendingMutations(of: query.table) : []
    guard !pending.isEmpty else {
      return ShownList(
        rows: rows.map(\.row), fetchedAt: fetchedAt, isStale: isStale, hasPendingMutations: false)
    }
    var editor = ListEditor(query, table, rows: rows)
    let known = knownRows(besides: query, in: try cachedLists(query.table, schema: query.schema))
    for mutation in pending { try editor.lay(mutation.write, known: known) }
    let result = editor.result()
    return ShownList(
      rows: result.rows.map(\.row), fetchedAt: fetchedAt, isStale: isStale, hasPendingMutations: result.isChanged)
  }

  /// The user's queued writes to a table, in the order they will be sent.
  func pendingMutations(of table: String) throws -> [PendingMutation] {
    try database.rows(
      "SELECT * FROM mutation WHERE user_id = ? AND table_name = ? AND list = 'queued' ORDER BY id",
      [.text(user), .text(table)]
    ).map(pendingMutation)
  }
}
