import SQLite

/// What one row of a list is to be.
struct ArrangedRow {
  /// The row that it was; `nil` for one that was not in the list.
  var origin: ListRow?
  /// Whether it is to stand elsewhere than it did; those that do not are in the order they were in.
  var hasMoved = false
  /// Its key, where the list shows that.
  var key: String?
  /// What the list shows of it; `nil` leaves what it showed.
  var text: String?
}

extension EngineTransaction {
  /// Where rows that move stand meanwhile: behind every place.
  private static let aside = Int64.max / 2

  /// Puts the rows of a list as they are to be, writing only what differs: those of `old` that `new` does not name go,
  /// and those that are new or stand elsewhere are put between those that stay.
  ///
  /// - Parameters:
  ///   - old: The rows of the list that are looked at, in its order.
  ///   - new: What becomes of them.
  ///   - isWhole: Whether `old` is the whole list. Otherwise a row that comes or moves stands in `new` directly before
  ///     the row that it is to stand before, or last to stand behind all others.
  /// - Returns: Whether anything was written.
  func arrange(_ list: CachedList, over old: [ListRow], _ new: [ArrangedRow], isWhole: Bool) throws -> Bool {
    let stays = new.map { $0.origin != nil && !$0.hasMoved }
    let named = Set(new.compactMap { $0.origin?.place })
    let gone = old.filter { !named.contains($0.place) }
    for row in gone { try remove(row.place, from: list) }
    var isChanged = !gone.isEmpty
    for row in new {
      guard let origin = row.origin, let text = row.text else { continue }
      try setBody(of: origin, in: list, to: text)
      isChanged = true
    }
    guard stays.contains(false) else { return isChanged }
    for (index, row) in new.enumerated() where !stays[index] {
      if let origin = row.origin { try move(from: origin.place, to: Self.aside + Int64(index), in: list) }
    }
    var places = new.indices.map { stays[$0] ? new[$0].origin?.place : nil }
    if isWhole { places = try makePlaces(places, in: list) }
    for (index, row) in new.enumerated().reversed() where !stays[index] {
      let place = try places[index] ?? makeRoom(before: index + 1, &places, in: list)
      places[index] = place
      if row.origin != nil {
        try move(from: Self.aside + Int64(index), to: place, in: list)
      } else {
        try insert(key: row.key, text: row.text ?? "", at: place, in: list)
      }
    }
    return true
  }

  // MARK: Places

  /// Gives places to the rows of a whole list that have none.
  private func makePlaces(_ standing: [Int64?], in list: CachedList) throws -> [Int64] {
    let places = ListPlaces.filled(standing)
    try move(zip(standing, places).compactMap { from, to in from.map { ($0, to) } }, in: list)
    return places
  }

  /// A place directly before a row; behind all rows where there is no such row.
  ///
  /// - Parameter places: Where the rows that are looked at stand, which may change.
  private func makeRoom(before index: Int, _ places: inout [Int64?], in list: CachedList) throws -> Int64 {
    guard index < places.count, let next = places[index] else {
      let last = try database.first(
        "SELECT max(place) AS place FROM list_member WHERE list_id = ? AND place < ?",
        [.integer(list.id), .integer(Self.aside)])?.integer("place")
      return last.map { $0 + ListPlaces.gap } ?? 0
    }
    var radius = 0
    while true {
      var below = try database.rows(
        "SELECT place FROM list_member WHERE list_id = ? AND place < ? ORDER BY place DESC LIMIT ?",
        [.integer(list.id), .integer(next), .integer(Int64(radius + 1))]
      ).map { $0.integer("place") ?? 0 }
      var above = try database.rows(
        "SELECT place FROM list_member WHERE list_id = ? AND place >= ? AND place < ? ORDER BY place LIMIT ?",
        [.integer(list.id), .integer(next), .integer(Self.aside), .integer(Int64(radius + 1))]
      ).map { $0.integer("place") ?? 0 }
      let low = below.count > radius ? below.removeLast() : nil
      let high = above.count > radius ? above.removeLast() : nil
      let standing = below.reversed() + above
      guard
        let made = ListPlaces.between(
          low, high, count: standing.count + 1, step: radius > 0 ? ListPlaces.roomy : 1)
      else {
        radius = max(8, radius * 4)
        continue
      }
      let moves = Array(zip(standing, made[..<below.count] + made[(below.count + 1)...]))
      try move(moves, in: list)
      let moved = Dictionary(uniqueKeysWithValues: moves)
      for (number, place) in places.enumerated() {
        if let place, let now = moved[place] { places[number] = now }
      }
      return made[below.count]
    }
  }

  // MARK: Rows

  private func move(_ moves: [(from: Int64, to: Int64)], in list: CachedList) throws {
    for (from, to) in ListPlaces.inSafeOrder(moves) { try move(from: from, to: to, in: list) }
  }

  private func move(from: Int64, to: Int64, in list: CachedList) throws {
    try database.execute(
      "UPDATE list_member SET place = ?3 WHERE list_id = ?1 AND place = ?2",
      [.integer(list.id), .integer(from), .integer(to)])
  }

  func remove(_ place: Int64, from list: CachedList) throws {
    try database.execute(
      "DELETE FROM list_member WHERE list_id = ? AND place = ?", [.integer(list.id), .integer(place)])
  }

  private func insert(key: String?, text: String, at place: Int64, in list: CachedList) throws {
    let row = try storedRow(list, key, text) ?? addRow(list, key, text)
    try database.execute(
      "INSERT INTO list_member (list_id, place, row_id) VALUES (?, ?, ?)",
      [.integer(list.id), .integer(place), .integer(row)])
  }

  /// Has a list show something else of a row; other lists that show it as it was go on doing so.
  func setBody(of row: ListRow, in list: CachedList, to text: String) throws {
    var other = try storedRow(list, row.key, text)
    if other == nil, try isShared(row) { other = try addRow(list, row.key, text) }
    guard let other else { return try setBody(of: row, to: text) }
    guard other != row.id else { return }
    try database.execute(
      "UPDATE list_member SET row_id = ?3 WHERE list_id = ?1 AND place = ?2",
      [.integer(list.id), .integer(row.place), .integer(other)])
  }

  /// Has every list that shares a row show something else of it.
  func setBody(of row: ListRow, to text: String) throws {
    try database.execute("UPDATE list_row SET body = ?2 WHERE id = ?1", [.integer(row.id), .text(text)])
  }

  /// The number of the row as some list of the shape shows it already; `nil` where none does.
  private func storedRow(_ list: CachedList, _ key: String?, _ text: String) throws -> Int64? {
    guard let key else { return nil }
    return try database.first(
      "SELECT id FROM list_row WHERE shape_id = ? AND key = ? AND body = ?",
      [.integer(list.shape), .text(key), .text(text)])?.integer("id")
  }

  private func addRow(_ list: CachedList, _ key: String?, _ text: String) throws -> Int64 {
    try database.execute(
      "INSERT INTO list_row (shape_id, key, body) VALUES (?, ?, ?)",
      [.integer(list.shape), .optional(key), .text(text)])
    return database.lastInsertRowID
  }

  private func isShared(_ row: ListRow) throws -> Bool { try memberCount(row.id, atMost: 2) > 1 }

  /// In how many lists a row stands.
  func memberCount(_ row: Int64, atMost limit: Int) throws -> Int {
    try database.rows(
      "SELECT list_id FROM list_member WHERE row_id = ? LIMIT ?", [.integer(row), .integer(Int64(limit))]
    ).count
  }
}
