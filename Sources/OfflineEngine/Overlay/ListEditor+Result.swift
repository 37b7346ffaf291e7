import LosslessJSON

extension ListEditor {
  /// What became of the rows, before those that come or move have their places.
  struct Settled {
    /// The rows that stay where they are, in their order.
    fileprivate(set) var kept: [Entry] = []
    /// The rows that come or move.
    fileprivate(set) var moving: [Entry] = []
    /// Those of them whose places only the server knows.
    fileprivate var isUnplaceable: [Bool] = []
    /// The places of the rows that were looked at, also of those that go.
    fileprivate var places: Set<Int64> = []
    fileprivate var isChanged = false
    fileprivate var isUncertain = false

    /// Adds rows of the list that were not looked at before.
    mutating func add(_ rows: [ListRow]) {
      let new = rows.filter { places.insert($0.place).inserted }
      guard !new.isEmpty else { return }
      kept += new.map { Entry(key: $0.key, values: $0.row, original: $0) }
      kept.sort { $0.original?.place ?? 0 < $1.original?.place ?? 0 }
    }

    /// Says that only the server knows where a row belongs that comes or moves.
    mutating func leaveUnplaced(_ index: Int) { isUnplaceable[index] = true }
  }

  /// Works out what becomes of each row.
  func settled() -> Settled {
    var settled = Settled()
    settled.isUncertain = isUncertain
    let order = ListOrder(query.order)
    for entry in entries {
      guard let original = entry.original else {
        if entry.isGone { continue }
        switch isShown(entry) {
        case true?: settled.moving.append(entry)
        case nil: settled.isUncertain = true
        case false?: break
        }
        continue
      }
      settled.places.insert(original.place)
      if entry.isGone { settled.isChanged = true }
      if entry.touched.isEmpty, !entry.isGone {
        settled.kept.append(entry)
        continue
      }
      let isShown = entry.isGone ? false : isShown(entry)
      if isShown == nil { settled.isUncertain = true }
      if isShown == false {
        settled.isChanged = true
        if wasFull { settled.isUncertain = true }  // The row behind the last one moves up.
      } else if order.isKept(original.row, entry.values) {
        settled.kept.append(entry)
      } else {
        settled.moving.append(entry)
      }
    }
    settled.isUnplaceable = Array(repeating: false, count: settled.moving.count)
    return settled
  }

  /// The list after the writes.
  func result() -> Result { result(settled()) }

  /// The list after the writes, once the neighbours are known of the rows that come or move.
  func result(_ settled: Settled) -> Result {
    var result = Result(rows: [], isChanged: settled.isChanged, isUncertain: settled.isUncertain)
    let order = ListOrder(query.order)
    var kept = settled.kept.map { ($0, hasMoved: false) }
    var unplaced: [Entry] = []
    for (index, entry) in settled.moving.enumerated() {
      if settled.isUnplaceable[index] || !place(entry, order, among: &kept, &result) { unplaced.append(entry) }
    }
    if let limit, kept.count + hiddenCount > limit {
      kept.removeLast(min(kept.count, kept.count + hiddenCount - limit))
    }
    result.rows = kept.map(shown)
    putBack(unplaced, into: &result)
    for row in result.rows where row.isChanged || row.hasMoved { result.isChanged = true }
    return result
  }

  /// Puts a row where the order says.
  ///
  /// - Returns: Whether the order says where.
  private func place(
    _ entry: Entry, _ order: ListOrder, among rows: inout [(Entry, hasMoved: Bool)], _ result: inout Result
  ) -> Bool {
    guard !order.isEmpty else { return false }
    let isNew = entry.original == nil
    var low = 0
    var high = rows.count
    var isTie = false
    while low < high {
      let middle = (low + high) / 2
      guard let sign = order.compare(entry.values, rows[middle].0.values) else { return false }
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
    rows.insert((entry, true), at: low)
    return true
  }

  /// Shows rows whose place only the server knows: those of the list where they were, new ones at the end.
  private func putBack(_ unplaced: [Entry], into result: inout Result) {
    for entry in unplaced {
      guard let place = entry.original?.place else {
        if !query.order.isEmpty || !isWhole || entry.isPartial { result.isUncertain = true }
        result.rows.append(shown(entry, hasMoved: true))
        continue
      }
      result.isUncertain = true
      let index =
        result.rows.firstIndex { row in
          !row.hasMoved && row.original.map { $0.place > place } ?? false
        } ?? result.rows.count
      result.rows.insert(shown(entry, hasMoved: false), at: index)
    }
  }

  private func shown(_ entry: Entry, hasMoved: Bool) -> Shown {
    guard let original = entry.original else {
      return Shown(key: entry.key, row: query.selection.picking(entry.values), original: nil, hasMoved: true)
    }
    let row = entry.touched.isEmpty ? original.row : merged(original.row, entry.values)
    return Shown(key: entry.key, row: row, original: original, hasMoved: hasMoved)
  }

  /// The list's own row with the plain columns that writes have set.
  private func merged(_ original: JSONObject, _ values: JSONObject) -> JSONObject {
    var row = original
    for (name, value) in values.members where query.selection.shows(name) { row[name] = value }
    return row
  }
}
