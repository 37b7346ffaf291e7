import LosslessJSON
import SupabaseAPI

/// Lays writes over the rows of one list, as the server would show it after them.
///
/// One rule for queued writes, laid over what is shown, and for accepted ones, laid into what is kept. Where the device
/// cannot tell, the row is left as it was and `isUncertain` says that the list must be fetched again.
struct ListEditor {
  /// One row on the way through the writes.
  private struct Entry {
    var key: String?
    /// All that is known of the row, with the columns that the list does not show.
    var values: JSONObject
    /// The row as the list held it; `nil` for one that was not in it.
    let original: JSONObject?
    /// Where it stands among the list's own rows; `nil` for one that was not in it or has moved.
    var place: Double?
    /// The columns that writes have set.
    var touched: [String] = []
    var isGone = false
    /// Whether `values` lacks columns that the list shows.
    var isPartial = false
  }

  /// One row of the list afterwards.
  struct Shown: Equatable {
    /// Its key, where it has one.
    var key: String?
    /// What the list shows of it.
    var row: JSONObject
    /// Where it stood among the list's own rows; `nil` for one that was not in it or has moved.
    var place: Double?
    /// Whether it is not as the list held it.
    var isChanged: Bool
  }

  /// The list afterwards.
  struct Result {
    var rows: [Shown]
    /// Whether it shows something else than before.
    var isChanged: Bool
    /// Whether the server may show something else.
    var isUncertain: Bool
  }

  private let query: ListQuery
  private let table: TableDescription
  private let isKeyed: Bool
  private let wasFull: Bool
  private let isWhole: Bool
  private var entries: [Entry]
  private var places: [String: Int] = [:]
  private var isUncertain = false
  /// The updates and deletes so far, which rows of other lists do not show.
  private var passed = PassedWrites()

  /// The rows of a list, in its order.
  init(_ query: ListQuery, _ table: TableDescription, rows: [(place: Double, key: String?, row: JSONObject)]) {
    self.query = query
    self.table = table
    isKeyed = query.showsKey(of: table)
    wasFull = query.isFull(rows.count)
    isWhole = !wasFull && query.offset == 0
    entries = rows.map { Entry(key: $0.key, values: $0.row, original: $0.row, place: $0.place) }
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
    guard let sample = entries.first(where: { $0.original != nil })?.original else { return isWholeRow }
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
    entries.append(Entry(key: key, values: values, original: nil, place: nil, isPartial: isPartial))
  }

  /// Whether the list shows a row; `nil` when only the server knows.
  private func isShown(_ entry: Entry) -> Bool? {
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

  // MARK: The list afterwards

  /// The list after the writes.
  func result() -> Result {
    var result = Result(rows: [], isChanged: false, isUncertain: isUncertain)
    let order = ListOrder(query.order)
    var moving: [(entry: Entry, isNew: Bool)] = []
    var kept: [Entry] = []
    for entry in entries {
      guard let original = entry.original else {
        if entry.isGone { continue }
        switch isShown(entry) {
        case true?: moving.append((entry, true))
        case nil: result.isUncertain = true
        case false?: break
        }
        continue
      }
      if entry.touched.isEmpty, !entry.isGone {
        kept.append(entry)
        continue
      }
      let isShown = entry.isGone ? false : isShown(entry)
      if isShown == nil { result.isUncertain = true }
      if isShown == false {
        result.isChanged = true
        if wasFull { result.isUncertain = true }  // The row behind the last one moves up.
      } else if order.isKept(original, entry.values) {
        kept.append(entry)
      } else {
        moving.append((entry, false))
      }
    }
    var unplaced: [Entry] = []
    for (entry, isNew) in moving where !place(entry, isNew: isNew, order, among: &kept, &result) {
      unplaced.append(entry)
    }
    if let limit = query.limit, kept.count > limit { kept.removeLast(kept.count - limit) }
    result.rows = kept.map(shown)
    putBack(unplaced, into: &result)
    for row in result.rows where row.isChanged { result.isChanged = true }
    if entries.contains(where: { $0.original != nil && $0.isGone }) { result.isChanged = true }
    return result
  }

  /// Puts a row where the order says.
  ///
  /// - Returns: Whether the order says where.
  private func place(
    _ entry: Entry, isNew: Bool, _ order: ListOrder, among rows: inout [Entry], _ result: inout Result
  ) -> Bool {
    guard !order.isEmpty else { return false }
    var low = 0
    var high = rows.count
    var isTie = false
    while low < high {
      let middle = (low + high) / 2
      guard let sign = order.compare(entry.values, rows[middle].values) else { return false }
      if sign == 0 { isTie = true }
      if sign < 0 { high = middle } else { low = middle + 1 }
    }
    if low == rows.count, wasFull {
      // Rows that the list does not hold may come before it.
      if !isNew || isTie { result.isUncertain = true }
      if isNew { return true }
    }
    if low == 0, query.offset > 0 {
      result.isUncertain = true
      if isNew { return true }
    }
    if isNew, entry.isPartial { result.isUncertain = true }
    var placed = entry
    placed.place = nil
    rows.insert(placed, at: low)
    return true
  }

  /// Shows rows whose place only the server knows: those of the list where they were, new ones at the end.
  private func putBack(_ unplaced: [Entry], into result: inout Result) {
    for entry in unplaced {
      guard let place = entry.place else {
        if !query.order.isEmpty || !isWhole || entry.isPartial { result.isUncertain = true }
        result.rows.append(shown(entry))
        continue
      }
      result.isUncertain = true
      let index = result.rows.firstIndex { $0.place.map { $0 > place } ?? false } ?? result.rows.count
      result.rows.insert(shown(entry), at: index)
    }
  }

  private func shown(_ entry: Entry) -> Shown {
    guard let original = entry.original else {
      return Shown(key: entry.key, row: query.selection.picking(entry.values), place: entry.place, isChanged: true)
    }
    if entry.touched.isEmpty { return Shown(key: entry.key, row: original, place: entry.place, isChanged: false) }
    let row = merged(original, entry.values)
    return Shown(key: entry.key, row: row, place: entry.place, isChanged: entry.place == nil || row != original)
  }

  /// The list's own row with the plain columns that writes have set.
  private func merged(_ original: JSONObject, _ values: JSONObject) -> JSONObject {
    var row = original
    for (name, value) in values.members where query.selection.shows(name) { row[name] = value }
    return row
  }
}
