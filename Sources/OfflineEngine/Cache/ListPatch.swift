import LosslessJSON
import SQLite

/// What becomes of one kept list.
enum ListPatch {
  /// It stays as it is.
  case none
  /// One row has other values.
  case row(place: Double, JSONObject)
  /// One row goes.
  case gone(place: Double, isStale: Bool)
  /// The list was edited as a whole.
  case edited(ListEditor.Result, places: [Double])
}

extension EngineTransaction {
  /// Works out what becomes of each list, then does it: what other lists hold is looked at as it was before.
  func patch(_ lists: [CachedList], _ table: String, _ work: (CachedList) throws -> ListPatch) throws {
    let patches = try lists.map { ($0, try work($0)) }
    var isChanged = false
    for (list, patch) in patches where try apply(patch, to: list) { isChanged = true }
    if isChanged { try noteTableChange(table) }
  }

  /// The list after an edit of all its rows.
  func edited(
    _ list: CachedList, _ table: TableDescription, among lists: [CachedList],
    _ edit: (inout ListEditor, KnownRows) throws -> Void
  ) throws -> ListPatch {
    let rows = try rows(of: list)
    var editor = ListEditor(list.query, table, rows: rows)
    try edit(&editor, knownRows(besides: list.query, in: lists))
    return .edited(editor.result(), places: rows.map(\.place))
  }

  /// Lays what the server shows of a row into lists; `nil` takes it out.
  func show(
    _ values: JSONObject?, _ key: RowKey, _ table: TableDescription, in lists: [CachedList], _ name: String
  ) throws {
    try patch(lists, name) { list in
      if let row = try row(of: list, key: key.identity) {
        guard let values else { return try quickDelete(list, row) }
        if let quick = quickUpdate(list, row, values) { return quick }
      } else if values == nil, list.query.showsKey(of: table), list.query.offset == 0 {
        return .none
      }
      return try edited(list, table, among: lists) { try $0.show(key.identity, values, known: $1) }
    }
  }

  /// What becomes of a list by a write to one row, where that takes no look at the other rows; `nil` where it does.
  func quickPatch(
    _ list: CachedList, _ write: Write, _ table: TableDescription, returned: [JSONObject]?
  ) throws -> ListPatch? {
    guard write.isPinned, write.operation == .update || write.operation == .delete,
      list.query.showsKey(of: table), returned.map({ $0.count <= 1 }) ?? true
    else { return nil }
    if let returned, returned.isEmpty { return ListPatch.none }
    guard let row = try row(of: list, key: write.key.identity) else {
      let isOut = !list.query.hasCondition(onAnyOf: write.values.names) && list.query.limit == nil
      return isOut && list.query.offset == 0 && (returned == nil || write.operation == .delete)
        ? ListPatch.none : nil
    }
    guard returned != nil || write.isReached(in: row.row, table) == true else { return nil }
    if write.operation == .delete { return try quickDelete(list, row) }
    let answer = returned?.first.map(write.columns)
    return quickUpdate(list, row, answer.map(write.values.merging) ?? write.values)
  }

  private func quickDelete(_ list: CachedList, _ row: CachedListRow) throws -> ListPatch {
    let isFull = try list.query.limit.map { try rowCount(list) >= $0 } ?? false
    return .gone(place: row.place, isStale: isFull)  // Of a full list the row behind the last one moves up.
  }

  private func rowCount(_ list: CachedList) throws -> Int {
    Int(
      try database.first("SELECT count(*) AS n FROM cached_query_row WHERE query_id = ?", [.integer(list.id)])?
        .integer("n") ?? 0)
  }

  /// The row with other values, where neither a condition nor the order looks at them.
  private func quickUpdate(_ list: CachedList, _ row: CachedListRow, _ values: JSONObject) -> ListPatch? {
    var patched = row.row
    var changed: [String] = []
    for (name, value) in values.members where list.query.selection.shows(name) && row.row[name] != value {
      patched[name] = value
      changed.append(name)
    }
    // A column that the list does not show may have changed, for all this device knows.
    let hidden = values.names.filter { !list.query.selection.shows($0) }
    guard !list.query.hasCondition(onAnyOf: changed + hidden), !list.query.isOrdered(byAnyOf: changed + hidden) else {
      return nil
    }
    return changed.isEmpty ? ListPatch.none : .row(place: row.place, patched)
  }

  // MARK: Writing it down

  /// Does it.
  ///
  /// - Returns: Whether the list shows something else or is to be fetched again.
  private func apply(_ patch: ListPatch, to list: CachedList) throws -> Bool {
    switch patch {
    case .none:
      return false
    case .row(let place, let row):
      try setRow(list, place, row)
      return true
    case .gone(let place, let isStale):
      try removeRow(list, place)
      if isStale { try markStale(list) }
      return true
    case .edited(let result, let places):
      if result.isUncertain, !list.isStale { try markStale(list) }
      if result.isChanged { try write(result.rows, over: places, list) }
      return result.isChanged || result.isUncertain
    }
  }

  private func write(_ rows: [ListEditor.Shown], over places: [Double], _ list: CachedList) throws {
    let stays = Set(rows.compactMap(\.place))
    for place in places where !stays.contains(place) { try removeRow(list, place) }
    guard let spread = Self.spread(rows.map(\.place)) else {
      // No number lies between two places any more.
      try database.execute("DELETE FROM cached_query_row WHERE query_id = ?", [.integer(list.id)])
      for (index, row) in rows.enumerated() {
        try insertRow(list.id, place: Double(index), key: row.key, text: JSONValue.object(row.row).serialized())
      }
      return
    }
    for (row, place) in zip(rows, spread) {
      if row.place == nil {
        try insertRow(list.id, place: place, key: row.key, text: JSONValue.object(row.row).serialized())
      } else if row.isChanged {
        try setRow(list, place, row.row)
      }
    }
  }

  /// Places for those that have none, between their neighbours'; `nil` where there is no room.
  static func spread(_ places: [Double?]) -> [Double]? {
    var result: [Double] = []
    var index = 0
    while index < places.count {
      if let place = places[index] {
        result.append(place)
        index += 1
        continue
      }
      let end = places[index...].firstIndex { $0 != nil } ?? places.count
      let count = end - index
      let above = end < places.count ? places[end] : nil
      for number in 1...count {
        switch (result.last, above) {
        case (nil, nil): result.append(0)
        case (let last?, nil): result.append(last + 1)
        case (nil, let above?): result.append(above - Double(count))
        case (let last?, let above?):
          let place = last + (above - last) / Double(count - number + 2)
          guard place > last, place < above else { return nil }
          result.append(place)
        }
      }
      index = end
    }
    return result
  }

  private func setRow(_ list: CachedList, _ place: Double, _ row: JSONObject) throws {
    try database.execute(
      "UPDATE cached_query_row SET body = ?3 WHERE query_id = ?1 AND position = ?2",
      [.integer(list.id), .real(place), .text(JSONValue.object(row).serialized())])
  }

  private func removeRow(_ list: CachedList, _ place: Double) throws {
    try database.execute(
      "DELETE FROM cached_query_row WHERE query_id = ? AND position = ?", [.integer(list.id), .real(place)])
  }
}
