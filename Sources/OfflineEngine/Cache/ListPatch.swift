import LosslessJSON
import SQLite

/// What becomes of one kept list.
enum ListPatch {
  /// It stays as it is.
  case none
  /// One row has other values.
  case row(ListRow, JSONObject)
  /// One row goes.
  case gone(ListRow, isStale: Bool)
  /// Rows of it were edited.
  case edited(ListEditor.Result, over: [ListRow], isWhole: Bool)
}

/// The kept lists of one table, and the rows that they show under the keys that a write names.
struct PatchedLists {
  /// The schema of the table.
  let schema: String
  /// The bare name of the table.
  let table: String
  /// The lists, the last fetched first.
  let lists: [CachedList]
  /// The keys, without one for a row whose key is not known; `nil` for a write of which only the rows themselves tell
  /// whether it reaches them.
  let keys: [String?]?
  fileprivate var held: [String: [Int64: [ListRow]]] = [:]

  /// The rows of a list under the keys, in its order; `nil` where a key does not tell one row from another.
  func rows(of list: CachedList) -> [ListRow]? {
    var rows: [ListRow] = []
    for found in held.values.compactMap({ $0[list.id] }) {
      guard found.count == 1 else { return nil }
      rows += found
    }
    return rows.sorted { $0.place < $1.place }
  }
}

extension EngineTransaction {
  /// How many keys a write may name for its rows to be looked up one by one.
  private static let lookedUpMax = 20

  /// The kept lists of a table, for a write to rows under the keys.
  func patchedLists(_ table: TableDescription, keys: [String?]?) throws -> PatchedLists {
    let (schema, name) = place(of: table)
    let keys = keys.flatMap { $0.count <= Self.lookedUpMax ? $0 : nil }
    var patched = PatchedLists(
      schema: schema, table: name, lists: try cachedLists(name, schema: schema), keys: keys)
    guard !patched.lists.isEmpty else { return patched }
    for key in Set((keys ?? []).compactMap(\.self)) {
      patched.held[key] = try holders(of: key, in: name, schema: schema)
    }
    return patched
  }

  /// Works out what becomes of each list, then does it: what other lists hold is looked at as it was before.
  func patch(_ patched: PatchedLists, _ work: (CachedList) throws -> ListPatch) throws {
    let patches = try patched.lists.map { ($0, try work($0)) }
    var isChanged = try changeShared(patches)
    for (list, patch) in patches where try apply(patch, to: list) { isChanged = true }
    if isChanged { try noteTableChange(patched.table) }
  }

  /// The list after an edit of the rows under the keys, or of all its rows where they do not tell.
  func edited(
    _ list: CachedList, _ table: TableDescription, among patched: PatchedLists,
    _ edit: (inout ListEditor, KnownRows) throws -> Void
  ) throws -> ListPatch {
    let known = knownRows(besides: list.query, in: patched.lists)
    guard let keys = patched.keys, let named = patched.rows(of: list) else {
      let rows = try rows(of: list)
      var editor = ListEditor(list.query, table, rows: rows, limit: list.limit)
      try edit(&editor, known)
      return .edited(editor.result(), over: rows, isWhole: true)
    }
    var looked = try rows(of: list, from: .min, limit: 1) + rows(of: list, before: .max, limit: keys.count + 1) + named
    looked = Self.ordered(looked)
    var editor = ListEditor(
      list.query, table, rows: looked, limit: list.limit, hiddenCount: list.count - looked.count)
    try edit(&editor, known)
    var settled = editor.settled()
    for (index, entry) in settled.moving.enumerated() where !list.query.order.isEmpty {
      if let place = try place(of: entry.values, in: list) {
        looked += try rows(of: list, from: place, limit: keys.count + 1)
        looked += try rows(of: list, before: place, limit: keys.count + 1)
      } else {
        settled.leaveUnplaced(index)
      }
    }
    looked = Self.ordered(looked)
    settled.add(looked)
    editor.hiddenCount = list.count - looked.count
    return .edited(editor.result(settled), over: looked, isWhole: false)
  }

  private static func ordered(_ rows: [ListRow]) -> [ListRow] {
    var seen: Set<Int64> = []
    return rows.filter { seen.insert($0.place).inserted }.sorted { $0.place < $1.place }
  }

  /// Lays what the server shows of a row into the lists; `nil` takes it out.
  func show(_ values: JSONObject?, _ key: String, _ table: TableDescription, in patched: PatchedLists) throws {
    try patch(patched) { list in
      let held = patched.rows(of: list)
      if let row = held?.first {
        guard let values else { return quickDelete(list, row) }
        if let quick = quickUpdate(list, row, values) { return quick }
      } else if held != nil, values == nil, list.query.showsKey(of: table), list.query.offset == 0 {
        return .none
      }
      return try edited(list, table, among: patched) { try $0.show(key, values, known: $1) }
    }
  }

  /// What becomes of a list by a write to one row, where that takes no look at the other rows; `nil` where it does.
  func quickPatch(
    _ list: CachedList, _ write: Write, _ table: TableDescription, returned: [JSONObject]?, _ patched: PatchedLists
  ) -> ListPatch? {
    guard write.isPinned, write.operation == .update || write.operation == .delete,
      list.query.showsKey(of: table), returned.map({ $0.count <= 1 }) ?? true, let held = patched.rows(of: list)
    else { return nil }
    if let returned, returned.isEmpty { return ListPatch.none }
    guard let row = held.first else {
      let isOut = !list.query.hasCondition(onAnyOf: write.values.names) && list.limit == nil
      return isOut && list.query.offset == 0 && (returned == nil || write.operation == .delete)
        ? ListPatch.none : nil
    }
    guard returned != nil || write.isReached(in: row.row, table) == true else { return nil }
    if write.operation == .delete { return quickDelete(list, row) }
    let answer = returned?.first.map(write.columns)
    return quickUpdate(list, row, answer.map(write.values.merging) ?? write.values)
  }

  private func quickDelete(_ list: CachedList, _ row: ListRow) -> ListPatch {
    // Of a full list the row behind the last one moves up.
    .gone(row, isStale: list.limit.map { list.count >= $0 } ?? false)
  }

  /// The row with other values, where neither a condition nor the order looks at them.
  private func quickUpdate(_ list: CachedList, _ row: ListRow, _ values: JSONObject) -> ListPatch? {
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
    return changed.isEmpty ? ListPatch.none : .row(row, patched)
  }

  /// The place of the first row of a list that stands behind a row of these values, or one behind all; `nil` where only
  /// the server knows.
  private func place(of values: JSONObject, in list: CachedList) throws -> Int64? {
    let order = ListOrder(list.query.order)
    guard let first = try rows(of: list, from: .min, limit: 1).first,
      let last = try rows(of: list, before: .max, limit: 1).first
    else { return 0 }
    var (low, high) = (first.place, last.place + 1)
    while low < high {
      let middle = low + (high - low) / 2
      guard let row = try rows(of: list, from: middle, limit: 1).first, row.place < high else {
        high = middle
        continue
      }
      guard let sign = order.compare(values, row.row) else { return nil }
      if sign < 0 { high = middle } else { low = row.place + 1 }
    }
    return low
  }

  // MARK: Writing it down

  /// Changes rows that become the same in every list that shares them, each once.
  ///
  /// - Returns: Whether there were any.
  private func changeShared(_ patches: [(CachedList, ListPatch)]) throws -> Bool {
    var changes: [Int64: (row: ListRow, values: JSONObject, count: Int)] = [:]
    for case (_, .row(let row, let values)) in patches {
      changes[row.id] = (row, values, (changes[row.id]?.count ?? 0) + 1)
    }
    var isChanged = false
    for (id, change) in changes where try memberCount(id, atMost: change.count + 1) == change.count {
      try setBody(of: change.row, to: JSONValue.object(change.values).serialized())
      isChanged = true
    }
    return isChanged
  }

  /// Does it.
  ///
  /// - Returns: Whether the list shows something else or is to be fetched again.
  private func apply(_ patch: ListPatch, to list: CachedList) throws -> Bool {
    switch patch {
    case .none:
      return false
    case .row(let row, let values):
      try setBody(of: row, in: list, to: JSONValue.object(values).serialized())
      return true
    case .gone(let row, let isStale):
      try remove(row.place, from: list)
      if isStale { try markStale(list) }
      return true
    case .edited(let result, let rows, let isWhole):
      if result.isUncertain, !list.isStale { try markStale(list) }
      guard result.isChanged else { return result.isUncertain }
      let arranged = result.rows.map { row in
        ArrangedRow(
          origin: row.original, hasMoved: row.hasMoved, key: row.key,
          text: row.isChanged ? JSONValue.object(row.row).serialized() : nil)
      }
      _ = try arrange(list, over: rows, arranged, isWhole: isWhole)
      return true
    }
  }
}
