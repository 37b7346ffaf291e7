import LosslessJSON
import SQLite

extension EngineTransaction {
  // MARK: Keeping and dropping

  /// Keeps the answer to a query in place of the last one, writing only what differs.
  ///
  /// - Parameter cutAt: How many rows the server gave, where it stopped before all that were asked for.
  func keep(
    _ rows: [JSONObject], for query: ListQuery, _ table: TableDescription, fetchedAt: WallTime, isStale: Bool,
    cutAt: Int? = nil
  ) throws {
    let before = try cachedList(query)
    let list = try setList(query, before, fetchedAt: fetchedAt, isStale: isStale, cutAt: cutAt)
    let isKeyed = query.showsKey(of: table)
    let keys = rows.map { isKeyed ? table.key(of: $0)?.identity : nil }
    let texts = rows.map { JSONValue.object($0).serialized() }
    var old: [(row: ListRow, text: String)] = []
    old.reserveCapacity(list.count)
    try database.forEach(
      """
      SELECT place, row_id, key, body FROM list_member JOIN list_row ON id = row_id
      WHERE list_id = ? ORDER BY place
      """, [.integer(list.id)]
    ) { found in
      let row = ListRow(
        place: found.integer("place") ?? 0, id: found.integer("row_id") ?? 0, key: found.text("key"), row: [:])
      old.append((row, found.text("body") ?? ""))
    }
    let names = { (key: String?, text: String) in key.map { "k\($0)" } ?? "t\(text)" }
    let origins = ListDifference.matches(
      old.map { names($0.row.key, $0.text) }, zip(keys, texts).map { names($0, $1) })
    let stays = ListDifference.staying(origins)
    var arranged: [ArrangedRow] = []
    arranged.reserveCapacity(rows.count)
    for (index, origin) in origins.enumerated() {
      let isSame = origin.map { old[$0].text == texts[index] } ?? false
      arranged.append(
        ArrangedRow(
          origin: origin.map { old[$0].row }, hasMoved: !stays[index], key: keys[index],
          text: isSame ? nil : texts[index]))
    }
    let isChanged = try arrange(list, over: old.map(\.row), arranged, isWhole: true)
    if isChanged || before == nil || isStale { try noteTableChange(query.table) }
  }

  private func setList(
    _ query: ListQuery, _ before: CachedList?, fetchedAt: WallTime, isStale: Bool, cutAt: Int?
  ) throws -> CachedList {
    let news: [SQLiteValue] = [
      .integer(fetchedAt.nanoseconds), .integer(isStale ? 1 : 0), .optional(cutAt.map { Int64($0) }),
      .integer(now.nanoseconds),
    ]
    if let before {
      try database.execute(
        "UPDATE cached_list SET fetched_at = ?2, is_stale = ?3, cut_at = ?4, used_at = ?5 WHERE id = ?1",
        [.integer(before.id)] + news)
      return before
    }
    let place: [SQLiteValue] = [.text(user), .text(query.schema), .text(query.table)]
    try database.execute(
      "INSERT OR IGNORE INTO list_shape (user_id, schema_name, table_name, selection) VALUES (?, ?, ?, ?)",
      place + [.text(query.shape)])
    let shape =
      try database.first(
        "SELECT id FROM list_shape WHERE user_id = ? AND schema_name = ? AND table_name = ? AND selection = ?",
        place + [.text(query.shape)])?.integer("id") ?? 0
    try database.execute(
      """
      INSERT INTO cached_list
        (user_id, schema_name, table_name, query, shape_id, fetched_at, is_stale, cut_at, used_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, place + [.text(query.text), .integer(shape)] + news)
    return CachedList(
      id: database.lastInsertRowID, query: query, shape: shape, fetchedAt: fetchedAt, isStale: isStale, count: 0,
      cutAt: cutAt)
  }

  /// Drops every kept list of the user.
  func dropLists() throws {
    let tables = try database.rows("SELECT DISTINCT table_name FROM cached_list WHERE user_id = ?", [.text(user)])
    try database.execute("DELETE FROM cached_list WHERE user_id = ?", [.text(user)])
    for row in tables { try noteTableChange(row.text("table_name") ?? "") }
  }

  /// Has a list fetched again.
  func markStale(_ list: CachedList) throws {
    try database.execute("UPDATE cached_list SET is_stale = 1 WHERE id = ?", [.integer(list.id)])
  }

  /// Notes that what is shown of a table may have changed.
  func noteTableChange(_ table: String) throws {
    try database.execute(
      "INSERT INTO table_change VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET number = number + 1",
      [.text(user), .text(table)])
  }
}
