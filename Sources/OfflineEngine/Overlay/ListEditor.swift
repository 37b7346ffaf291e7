import LosslessJSON
import SupabaseAPI

/// Lays writes over the rows of one list, as the server would show it after them.
///
/// One rule for queued writes, laid over what is shown, and for accepted ones, laid into what is kept. Where the device
/// cannot tell, the row is left as it was and `isUncertain` says that the list must be fetched again.
struct ListEditor {
  /// One row on the way through the writes.
  struct Entry {
    var key: String?
    /// All that is known of the row, with the columns that the list does not show.
    var values: JSONObject
    /// The row as the list held it; `nil` for one that was not in it.
    let original: ListRow?
    /// The columns that writes have set.
    var touched: [String] = []
    var isGone = false
    /// Whether `values` lacks columns that the list shows.
    var isPartial = false
  }

  /// One row of the list afterwards.
  struct Shown {
    /// Its key, where it has one.
    var key: String?
    /// What the list shows of it.
    var row: JSONObject
    /// The row as the list held it; `nil` for one that was not in it.
    var original: ListRow?
    /// Whether it stands elsewhere than before.
    var hasMoved = false

    /// Whether the list shows something else of it.
    var isChanged: Bool { row != original?.row }
  }

  /// The list afterwards.
  struct Result {
    var rows: [Shown]
    /// Whether it shows something else than before.
    var isChanged: Bool
    /// Whether the server may show something else.
    var isUncertain: Bool
  }

  let query: ListQuery
  private let table: TableDescription
  let isKeyed: Bool
  /// The most rows that the server gives.
  let limit: Int?
  /// How many rows of the list are not looked at.
  var hiddenCount: Int
  let wasFull: Bool
  let isWhole: Bool
  private(set) var entries: [Entry]
  private var places: [String: Int] = [:]
  var isUncertain = false
  /// The updates and deletes so far, which rows of other lists do not show.
  private var passed = PassedWrites()

  /// The rows of a list, in its order.
  ///
  /// - Parameters:
  ///   - limit: The most rows that the server gives for the query.
  ///   - hiddenCount: How many more rows the list has. Of a list of which only a part is looked at, that part holds its
  ///     first row, its last ones, those that the writes name and, before the `result`, the neighbours of those that come
  ///     or move.
  init(_ query: ListQuery, _ table: TableDescription, rows: [ListRow], limit: Int?, hiddenCount: Int = 0) {
    self.query = query
    self.table = table
    self.limit = limit
    self.hiddenCount = hiddenCount
    isKeyed = query.showsKey(of: table)
    wasFull = limit.map { rows.count + hiddenCount >= $0 } ?? false
    isWhole = !wasFull && query.offset == 0
    entries = rows.map { Entry(key: $0.key, values: $0.row, original: $0) }
    places.reserveCapacity(rows.count)
    for (index, entry) in entries.enumerated() { if let key = entry.key { places[key] = index } }
  }

  /// Lays one write over the rows.
  ///
  /// - Parameter returned: The rows that the server gave back; `nil` when it gave none back or has not answered.
  mutating func lay(_ write: Write, returned: [JSONObject]? = nil, known: KnownRows) throws {
    let returned = returned.map { $0.map(write.columns) }
    switch write.operation {
    case .insert, .upsert: try layRows(write, returned, known)
    case .update: try layUpdate(write, returned, known)
    case .delete: try layDelete(write, returned)
    }
    passed.add(write)
  }

  /// Lays what the server shows of a row over the list; `nil` takes it out.
  mutating func show(_ key: String, _ values: JSONObject?, known: KnownRows) throws {
    guard let values else {
      remove(key)
      return
    }
    if let index = index(of: key) {
      set(values, at: index)
    } else {
      try enter(key, values, isWholeRow: true, known)
    }
  }

  // MARK: New rows

  private mutating func layRows(_ write: Write, _ returned: [JSONObject]?, _ known: KnownRows) throws {
    let request = write.request
    let conflictColumns = write.operation == .upsert ? request?.conflictColumns ?? [] : []
    let isByKey = conflictColumns.isEmpty || Set(conflictColumns) == Set(table.keyColumns)
    let leavesDuplicates = write.operation == .upsert && request?.ignoresDuplicates ?? false
    for (sent, answer) in write.answeredRows(returned, table) {
      let row = answer.map(sent.merging) ?? sent
      let key = table.key(of: row)?.identity
      if leavesDuplicates, returned != nil, answer == nil {
        // The server had the row; how it looks there is known only where a list holds it.
        if key.flatMap(index) == nil { isUncertain = true }
        continue
      }
      if !isKeyed, write.operation == .upsert { isUncertain = true }  // It may be one of the rows.
      var found = key.flatMap(index)
      if found == nil, !isByKey { found = match(row, conflictColumns) }
      if let found {
        if !leavesDuplicates || answer != nil { set(row, at: found) }
        continue
      }
      if write.operation == .upsert { noteShift() }
      let elsewhere = write.operation == .upsert ? try key.flatMap { try knownRow($0, known) } : nil
      if leavesDuplicates, answer == nil {
        if elsewhere != nil { continue }
        isUncertain = true  // The server may have the row.
      }
      let values = elsewhere.map { $0.merging(row) } ?? row
      let isWholeRow = answer.map { write.isWhole($0, table) } ?? false
      add(key, values, isPartial: elsewhere == nil && !covers(values, isWholeRow: isWholeRow))
    }
  }

  /// The row that has the same values in the columns of a unique index.
  private mutating func match(_ row: JSONObject, _ columns: [String]) -> Int? {
    let conditions = columns.compactMap { column in row[column].map { Filter.column(column, .value(.equal, $0)) } }
    guard conditions.count == columns.count else { return nil }
    for index in entries.indices where !entries[index].isGone {
      switch Filter.and(conditions).holds(for: entries[index].values) {
      case true?: return index
      case nil: isUncertain = true
      case false?: break
      }
    }
    return nil
  }

  // MARK: Changed rows

  private mutating func layUpdate(_ write: Write, _ returned: [JSONObject]?, _ known: KnownRows) throws {
    if let returned, let answered = keyed(returned, write) {
      guard isKeyed else {
        if !answered.isEmpty { isUncertain = true }
        return
      }
      for (key, row) in answered {
        let values = write.values.merging(row)
        if let index = index(of: key) {
          set(values, at: index)
        } else {
          try enter(key, values, isWholeRow: write.isWhole(row, table), known)
        }
      }
      return
    }
    guard isKeyed || !write.isPinned else {
      isUncertain = true
      return
    }
    if write.isPinned {
      try layPinnedUpdate(write, known)
      return
    }
    let conditions = Filter.and(write.request?.conditions ?? [])
    for index in entries.indices where !entries[index].isGone {
      switch conditions.holds(for: entries[index].values) {
      case true?: set(write.values, at: index)
      case nil: isUncertain = true
      case false?: break
      }
    }
    guard mayBringIn(write.values.names) else { return }
    noteShift()
    guard isKeyed else {
      isUncertain = true
      return
    }
    for (key, row) in try known.all() where places[key] == nil {
      guard let row = passed.lay(over: row, key, table, isUncertain: &isUncertain),
        conditions.holds(for: row) == true
      else { continue }
      add(key, row.merging(write.values), isPartial: false)
    }
    if couldMatch(write.values) { isUncertain = true }  // Rows that no list holds may match now.
  }

  private mutating func layPinnedUpdate(_ write: Write, _ known: KnownRows) throws {
    let key = write.key.identity
    if let index = index(of: key) {
      switch write.isReached(in: entries[index].values, table) {
      case true?: set(write.values, at: index)
      case nil: isUncertain = true
      case false?: break
      }
      return
    }
    guard places[key] == nil, mayBringIn(write.values.names) else { return }
    noteShift()
    guard let row = try knownRow(key, known) else {
      if couldMatch(write.values) { isUncertain = true }
      return
    }
    switch write.isReached(in: row, table) {
    case true?: add(key, row.merging(write.values), isPartial: false)
    case nil: isUncertain = true
    case false?: break
    }
  }

  /// The rows that the server gave back, by their keys; `nil` when they do not say which rows they are.
  private func keyed(_ returned: [JSONObject], _ write: Write) -> [(String, JSONObject)]? {
    if returned.count == 1, write.isPinned { return [(write.key.identity, returned[0])] }
    let rows = returned.compactMap { row in table.key(of: row).map { ($0.identity, row) } }
    return rows.count == returned.count ? rows : nil
  }

  /// Takes in a row that the server is known to have and that the list does not hold.
  private mutating func enter(_ key: String, _ values: JSONObject, isWholeRow: Bool, _ known: KnownRows) throws {
    noteShift()
    let elsewhere = try knownRow(key, known)
    let row = elsewhere.map { $0.merging(values) } ?? values
    guard elsewhere != nil || covers(row, isWholeRow: isWholeRow) else {
      // It may belong here, but not all of it is known.
      if query.conditions.allSatisfy({ $0.holds(for: row) != false }) { isUncertain = true }
      return
    }
    add(key, row, isPartial: false)
  }

  /// The row as another list holds it, after the writes so far.
  private mutating func knownRow(_ key: String, _ known: KnownRows) throws -> JSONObject? {
    try known.row(key).flatMap { passed.lay(over: $0, key, table, isUncertain: &isUncertain) }
  }

  /// Notes that a row before the first one may have come or gone, so that the others moved.
  private mutating func noteShift() { if query.offset > 0 { isUncertain = true } }

  /// Whether a change of these columns can bring in a row that the list does not hold.
  private func mayBringIn(_ columns: [String]) -> Bool {
    query.hasCondition(onAnyOf: columns) || !isWhole && query.isOrdered(byAnyOf: columns)
  }

  /// Whether a row with these values, of which no more is known, may meet the conditions.
  private func couldMatch(_ values: JSONObject) -> Bool {
    query.conditions.allSatisfy { $0.holds(for: values) != false }
  }

  /// Whether a row has all columns that the list shows.
  private func covers(_ row: JSONObject, isWholeRow: Bool) -> Bool {
    guard query.selection.isAll else { return query.selection.columns.allSatisfy { row[$0] != nil } }
    guard let sample = entries.first(where: { $0.original != nil })?.original?.row else { return isWholeRow }
    return sample.names.allSatisfy { row[$0] != nil || query.selection.computed.contains($0) }
  }

  // MARK: Rows that go

  private mutating func layDelete(_ write: Write, _ returned: [JSONObject]?) throws {
    if let returned, let answered = keyed(returned, write) {
      for (key, _) in answered { remove(key) }
      return
    }
    guard isKeyed || !write.isPinned else {
      isUncertain = true
      return
    }
    if write.isPinned {
      guard let index = index(of: write.key.identity) else {
        remove(write.key.identity)
        return
      }
      switch write.isReached(in: entries[index].values, table) {
      case true?: remove(write.key.identity)
      case nil: isUncertain = true
      case false?: break
      }
      return
    }
    let conditions = Filter.and(write.request?.conditions ?? [])
    for index in entries.indices where !entries[index].isGone {
      switch conditions.holds(for: entries[index].values) {
      case true?: entries[index].isGone = true
      case nil: isUncertain = true
      case false?: break
      }
    }
    noteShift()
  }

  private mutating func remove(_ key: String) {
    if let index = index(of: key) {
      entries[index].isGone = true
    } else {
      noteShift()
      if !isKeyed { isUncertain = true }
    }
  }

  // MARK: Entries

  private func index(of key: String) -> Int? { places[key].flatMap { entries[$0].isGone ? nil : $0 } }

  private mutating func set(_ values: JSONObject, at index: Int) {
    for (name, value) in values.members where entries[index].values[name] != value {
      entries[index].values[name] = value
      entries[index].touched.append(name)
    }
  }

  private mutating func add(_ key: String?, _ values: JSONObject, isPartial: Bool) {
    guard query.selection.isExact || isKeyed else {
      isUncertain = true  // A list of sums and the like has no rows of the table.
      return
    }
    if let key { places[key] = entries.count }
    entries.append(Entry(key: key, values: values, original: nil, isPartial: isPartial))
  }

  /// Whether the list shows a row; `nil` when only the server knows.
  func isShown(_ entry: Entry) -> Bool? {
    var result: Bool? = true
    for condition in query.conditions {
      // The server has judged what nothing has touched since.
      if entry.original != nil, !condition.isAboutColumn(anyOf: entry.touched) { continue }
      switch condition.holds(for: entry.values) {
      case true?: break
      case false?: return false
      case nil: result = nil
      }
    }
    return result
  }
}
