import LosslessJSON
import SQLite

/// What the server last answered to a query, with the accepted writes since laid in.
struct CachedList: Sendable {
  /// Its number in the cache.
  let id: Int64
  /// The query.
  let query: ListQuery
  /// The number of what it shows of rows: lists of one shape share them.
  let shape: Int64
  /// When the server sent it, by the device's clock.
  let fetchedAt: WallTime
  /// Whether the server may show something else, as far as this device knows.
  let isStale: Bool
  /// How many rows it has.
  let count: Int
  /// How many rows the server gave, where it stopped before all that were asked for.
  let cutAt: Int?

  /// The most rows that the server gives for the query.
  var limit: Int? { query.limit(cutAt: cutAt) }
}

/// One kept row of a list.
struct ListRow: Sendable {
  /// Where it stands among the list's rows.
  var place: Int64
  /// Its number in the cache; lists that show it alike share it.
  var id: Int64 = 0
  /// Its key, where the list shows that.
  var key: String?
  /// What the list shows of it.
  var row: JSONObject
}

extension EngineTransaction {
  /// The kept answer to a query; `nil` when there is none.
  func cachedList(_ query: ListQuery) throws -> CachedList? {
    let row = try database.first(
      """
      SELECT id, shape_id, fetched_at, is_stale, row_count, cut_at FROM cached_list
      WHERE user_id = ? AND schema_name = ? AND table_name = ? AND query = ?
      """, [.text(user), .text(query.schema), .text(query.table), .text(query.text)])
    return row.map { Self.list($0, query) }
  }

  /// Every kept list of a table, the last fetched first.
  func cachedLists(_ table: String, schema: String) throws -> [CachedList] {
    try database.rows(
      """
      SELECT id, query, shape_id, fetched_at, is_stale, row_count, cut_at FROM cached_list
      WHERE user_id = ? AND schema_name = ? AND table_name = ? ORDER BY fetched_at DESC, id DESC
      """, [.text(user), .text(schema), .text(table)]
    ).compactMap { row in
      queries.query(schema: schema, table: table, text: row.text("query") ?? "").map { Self.list(row, $0) }
    }
  }

  private static func list(_ row: SQLiteRow, _ query: ListQuery) -> CachedList {
    CachedList(
      id: row.integer("id") ?? 0, query: query, shape: row.integer("shape_id") ?? 0,
      fetchedAt: WallTime(nanoseconds: row.integer("fetched_at") ?? 0), isStale: row.integer("is_stale") == 1,
      count: Int(row.integer("row_count") ?? 0), cutAt: row.integer("cut_at").map { Int($0) })
  }

  // MARK: Rows

  /// The kept rows of a list, in order.
  func rows(of list: CachedList) throws -> [ListRow] {
    var rows: [ListRow] = []
    rows.reserveCapacity(list.count)
    try database.forEach(
      """
      SELECT place, row_id, key, body FROM list_member JOIN list_row ON id = row_id
      WHERE list_id = ? ORDER BY place
      """, [.integer(list.id)]
    ) { rows.append(try Self.listRow($0)) }
    return rows
  }

  /// The first rows of a list at or behind a place, at most so many.
  func rows(of list: CachedList, from place: Int64, limit: Int) throws -> [ListRow] {
    try database.rows(
      """
      SELECT place, row_id, key, body FROM list_member JOIN list_row ON id = row_id
      WHERE list_id = ? AND place >= ? ORDER BY place LIMIT ?
      """, [.integer(list.id), .integer(place), .integer(Int64(limit))]
    ).map(Self.listRow)
  }

  /// The last rows of a list before a place, at most so many, the last one first.
  func rows(of list: CachedList, before place: Int64, limit: Int) throws -> [ListRow] {
    try database.rows(
      """
      SELECT place, row_id, key, body FROM list_member JOIN list_row ON id = row_id
      WHERE list_id = ? AND place < ? ORDER BY place DESC LIMIT ?
      """, [.integer(list.id), .integer(place), .integer(Int64(limit))]
    ).map(Self.listRow)
  }

  /// The rows that the kept lists of a table show under a key, by the lists' numbers.
  func holders(of key: String, in table: String, schema: String) throws -> [Int64: [ListRow]] {
    var holders: [Int64: [ListRow]] = [:]
    var read: [Int64: JSONObject] = [:]
    try database.forEach(
      """
      SELECT list_id, place, row_id, key, body FROM list_shape
      JOIN list_row ON shape_id = list_shape.id AND key = ?4 JOIN list_member ON row_id = list_row.id
      WHERE user_id = ?1 AND schema_name = ?2 AND table_name = ?3 ORDER BY list_id, place
      """, [.text(user), .text(schema), .text(table), .text(key)]
    ) { found in
      let id = found.integer("row_id") ?? 0
      let row = try read[id] ?? Self.object(found.text("body") ?? "{}")
      read[id] = row
      holders[found.integer("list_id") ?? 0, default: []].append(
        ListRow(place: found.integer("place") ?? 0, id: id, key: key, row: row))
    }
    return holders
  }

  private static func listRow(_ row: SQLiteRow) throws -> ListRow {
    ListRow(
      place: row.integer("place") ?? 0, id: row.integer("row_id") ?? 0, key: row.text("key"),
      row: try object(row.text("body") ?? "{}"))
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
        let holders = try self.holders(of: key, in: query.table, schema: query.schema)
        return others.lazy.compactMap { holders[$0.id]?.first?.row }.first
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
