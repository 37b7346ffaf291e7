import LosslessJSON
import SQLite

extension EngineTransaction {
  /// What this device saw of a row: the version in a cached copy that holds the version column, with that copy's values
  /// of some columns (spec 5, "What the queue records"); `nil` when no cached list holds it.
  func cachedBase(_ table: TableDescription, _ key: RowKey, columns: [String]) throws -> WriteBase? {
    guard let versionColumn = table.versionColumn else { return nil }
    let (schema, name) = place(of: table)
    let holders = try holders(of: key.identity, in: name, schema: schema)
    guard !holders.isEmpty else { return nil }
    for list in try cachedLists(name, schema: schema) where list.query.selection.shows(versionColumn) {
      guard let row = holders[list.id]?.first?.row, let version = table.version(of: row) else { continue }
      return WriteBase(values: row.picking(columns.filter(list.query.selection.shows)), version: version)
    }
    return nil
  }

  /// Lays a write that the server has taken into every cached list it reaches.
  ///
  /// - Parameter rows: What the server gave back; `nil` when no row was asked back.
  func applyAccepted(_ write: Write, _ table: TableDescription, rows: [JSONObject]?) throws {
    let (schema, name) = place(of: table)
    news.add(.write(write, returned: rows), schema: schema, table: name)
    let patched = try patchedLists(table, keys: write.touchedKeys(rows, table))
    try patch(patched) { list in
      if let quick = quickPatch(list, write, table, returned: rows, patched) { return quick }
      return try edited(list, table, among: patched) { try $0.lay(write, returned: rows, known: $1) }
    }
  }

  /// Lays values that the server showed of a row into every cached list that holds it; `nil` drops it from them.
  ///
  /// A list that the row belongs to now takes it in when all of its columns are known, and is fetched again otherwise.
  ///
  /// - Parameter keepsVersion: Whether the cached rows keep the version that this device saw, so that a later write
  ///   still meets the move.
  func applyServerRow(_ table: TableDescription, _ key: RowKey, _ values: JSONObject?, keepsVersion: Bool) throws {
    let (schema, name) = place(of: table)
    var shown = values
    if keepsVersion, let versionColumn = table.versionColumn { shown?[versionColumn] = nil }
    news.add(.row(key: key.identity, shown), schema: schema, table: name)
    try show(shown, key.identity, table, in: try patchedLists(table, keys: [key.identity]))
  }

  /// Has the cached lists of a table fetched again by their readers.
  func markListsStale(_ table: String, schema: String) throws {
    news.add(.unknown, schema: schema, table: table)
    try database.execute(
      "UPDATE cached_list SET is_stale = 1 WHERE user_id = ? AND schema_name = ? AND table_name = ?",
      [.text(user), .text(schema), .text(table)])
    if database.changes > 0 { try noteTableChange(table) }
  }

  // MARK: Rows that are reported

  /// Lays a row that was reported, by Realtime or by a write outside of the queue, into every cached list that holds it
  /// or that it belongs to now.
  ///
  /// No queued write's base moves. A report older than what a list holds has the lists fetched again, as does one whose
  /// age cannot be told.
  func applyReported(_ table: TableDescription, _ record: JSONObject) throws {
    let (schema, name) = place(of: table)
    guard let key = table.key(of: record) else {
      try markListsStale(name, schema: schema)
      return
    }
    let patched = try patchedLists(table, keys: [key.identity])
    var isOlder = false
    var isJudged = true
    if let versionColumn = table.versionColumn, let reported = record[versionColumn] {
      for list in patched.lists where list.query.selection.shows(versionColumn) {
        for row in patched.rows(of: list) ?? [] {
          guard let seen = row.row[versionColumn], seen != reported else { continue }
          switch ValueOrder.compare(reported, seen) {
          case .some(let sign): if sign < 0 { isOlder = true }
          case nil: isJudged = false
          }
        }
      }
    }
    if isOlder || !isJudged { try markListsStale(name, schema: schema) }
    guard !isOlder else { return }
    news.add(.row(key: key.identity, record), schema: schema, table: name)
    try show(record, key.identity, table, in: patched)
  }

  /// Takes a row that was reported to be gone out of every cached list.
  ///
  /// - Parameter record: The row, or its key columns alone.
  func applyReportedDelete(_ table: TableDescription, _ record: JSONObject) throws {
    guard let key = table.key(of: record) else {
      let (schema, name) = place(of: table)
      try markListsStale(name, schema: schema)
      return
    }
    try applyServerRow(table, key, nil, keepsVersion: false)
  }

  // MARK: Answers

  /// What a query shows after its answer: the answer with what came after it was asked for, and the queued writes.
  ///
  /// - Parameters:
  ///   - rows: The answer.
  ///   - place: When it was asked for, among the accepted writes.
  ///   - accepted: The accepted writes.
  ///   - isKept: Whether the answer is put into the cache.
  ///   - bounds: How much is kept; `nil` for no bounds.
  ///   - cutAt: How many rows the server gave, where it stopped before all that were asked for.
  func show(
    answer rows: [JSONObject], to query: ListQuery, _ table: TableDescription, askedAt place: Int,
    _ accepted: AcceptedWrites, isKept: Bool, bounds: CacheBounds?, cutAt: Int? = nil
  ) throws -> ShownList {
    var rows = listRows(rows, query, table)
    var isStale = false
    let later = accepted.since(place, user: user, schema: query.schema, table: query.table)
    if !later.isEmpty {
      var editor = ListEditor(query, table, rows: rows, limit: query.limit(cutAt: cutAt))
      let known = knownRows(besides: query, in: try cachedLists(query.table, schema: query.schema))
      for news in later {
        switch news.kind {
        case .write(let write, let returned): try editor.lay(write, returned: returned, known: known)
        case .row(let key, let record): if !query.agrees(rows.first { $0.key == key }?.row, record) { isStale = true }
        case .unknown: isStale = true
        case .mirrored: break  // No list shows it.
        }
      }
      let result = editor.result()
      if result.isChanged || result.isUncertain { isStale = true }
      rows = listRows(result.rows.map(\.row), query, table)
    }
    let now = now
    if isKept {
      try keep(rows.map(\.row), for: query, table, fetchedAt: now, isStale: isStale, cutAt: cutAt)
      if let bounds { try bound(bounds, sparing: query) }
    }
    return try overlaid(rows, query, table, ShownList(rows: [], fetchedAt: now, isStale: isStale, cutAt: cutAt))
  }

  private func listRows(_ rows: [JSONObject], _ query: ListQuery, _ table: TableDescription) -> [ListRow] {
    let isKeyed = query.showsKey(of: table)
    return rows.enumerated().map {
      ListRow(place: Int64($0), key: isKeyed ? table.key(of: $1)?.identity : nil, row: $1)
    }
  }

  /// The schema and the bare name of a table, which is described as `schema.table` outside of the default schema.
  func place(of table: TableDescription) -> (schema: String, name: String) {
    guard let dot = table.name.firstIndex(of: ".") else { return (schema, table.name) }
    return (String(table.name[..<dot]), String(table.name[table.name.index(after: dot)...]))
  }
}

extension ListQuery {
  /// Whether an answer's row is what was reported of it meanwhile.
  fileprivate func agrees(_ row: JSONObject?, _ record: JSONObject?) -> Bool {
    switch (row, record) {
    case (nil, nil): true
    case (_?, nil): false
    case (nil, let record?): conditions.contains { $0.holds(for: record) == false }
    case (let row?, let record?):
      record.members.allSatisfy { !selection.shows($0.name) || row[$0.name] == $0.value }
    }
  }
}
