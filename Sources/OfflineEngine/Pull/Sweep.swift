import LosslessJSON
import SupabaseAPI

extension TablePull {
  /// Reads keys and versions of all rows, fetches what is unknown or differs, and finds what is gone.
  ///
  /// The first reads whole rows, and remembers after each page how far it has come: cut off, it goes on from there.
  mutating func sweep(_ before: PullState) async throws(SyncFailure) {
    let startedAt = client.environment.clock.now()
    let isFirst = before.sweptAt == nil
    // Without versions nothing tells which rows differ, and at first nearly all do.
    let readsWhole = isFirst || table.versionColumn == nil
    let columns =
      readsWhole ? table.readColumns : distinct(table.identityColumns + [table.cursorColumn].compactMap(\.self))
    let isEmpty = try commit { try $0.cachedRowCount(table.name) } == 0
    var seen = SeenKeys(isOn: !isEmpty && before.firstKey == nil)
    var state = before
    var newest: JSONObject? = isFirst ? cursorRow(before) : nil
    var after = before.firstKey
    var showedRows = false
    while true {
      let filters = after.map { [keyset(table.keyColumns, after: $0.values)] } ?? []
      let page = try await select(
        columns, filters: filters, order: table.keyColumns.map { Order($0) }, isCounted: !showedRows)
      state.firstDate = state.firstDate ?? page.answer.serverDate
      guard let last = page.rows.last, let lastKey = table.key(of: last), lastKey != after else { break }
      for row in page.rows {
        if let key = table.key(of: row) { seen.insert(key.text) }
        if isNewer(row, than: newest), !isAhead(row, of: state.firstDate) { newest = row }
      }
      if isFirst {
        if let newest { advance(&state, to: newest) }
        state.firstKey = lastKey
      }
      if readsWhole {
        try keep(page, isFirst ? state : nil, isFirstSweep: isFirst)
      } else {
        try await fetchDiffering(page)
      }
      after = lastKey
      showedRows = true
      if page.isWhole { break }
    }
    // An empty table is believed at first only with proof: rows not yet seen would be taken for rows that are not there.
    if isFirst, !showedRows { try await proveView() }
    let missing = try commit { transaction in
      var missing: [String] = []
      if seen.isOn {
        try transaction.forEachCachedVersion(table.name) { key, _ in if !seen.contains(key) { missing.append(key) } }
      }
      return missing
    }
    let held = try await settleMissing(missing, isViewProven: showedRows, isHeldAlready: before.heldVanished > 0)
    let found = newest
    try commit { transaction in
      var state = try transaction.pullState(table.name)
      if let found, isFirst || state.cursor == nil {
        advance(&state, to: found)
        state.overlapReadAt = startedAt  // The sweep has read it with all the rest.
      }
      state.sweptAt = startedAt
      state.heldVanished = held
      state.firstKey = nil
      state.firstDate = nil
      state.shape = table.shape
      try transaction.setPullState(table.name, state)
    }
    report.heldVanished = held
  }

  /// The cursor as a row, to compare with rows.
  private func cursorRow(_ state: PullState) -> JSONObject? {
    guard let column = table.cursorColumn, let cursor = state.cursor, let key = state.cursorKey else { return nil }
    return JSONObject(
      [(name: column, value: .string(cursor))] + zip(table.keyColumns, key.values).map { (name: $0, value: $1) })
  }

  private func isNewer(_ row: JSONObject, than other: JSONObject?) -> Bool {
    guard let column = table.cursorColumn, let time = row[column]?.plainText.flatMap({ ServerTimestamp($0) }) else {
      return false
    }
    guard let other = other?[column]?.plainText.flatMap({ ServerTimestamp($0) }) else { return true }
    return time.microseconds >= other.microseconds
  }

  /// Rows that are known and were not in the sweep: each is read by its key before it counts as gone.
  ///
  /// - Parameters:
  ///   - isViewProven: Whether the same sweep has shown rows, so that it certainly looked as this user.
  ///   - isHeldAlready: Whether rows wait for a person already: those that are left of them go on waiting, however few.
  /// - Returns: How many wait for a person instead.
  private mutating func settleMissing(
    _ texts: [String], isViewProven: Bool, isHeldAlready: Bool
  ) async throws(SyncFailure) -> Int {
    guard !texts.isEmpty else { return 0 }
    let look = OpenRead(client, table)
    let total = try commit { try $0.cachedRowCount(table.name) }
    var missing: [RowKey] = []
    for piece in texts.chunks(of: Self.keysInOneRequest) {
      let keys = try commit { transaction in try piece.compactMap { try transaction.key(table, text: $0) } }
      let found = try await fetch(keys)
      missing += keys.filter { !found.contains($0.text) }
    }
    guard !missing.isEmpty else { return 0 }
    if !isConfirmed, isHeldAlready || client.holdsVanishing(missing.count, of: total, in: table.name) {
      return missing.count
    }
    if !isViewProven { try await proveView() }
    let gone = missing
    let count = try commit { transaction in
      // What was learned of a row meanwhile is newer than that it was missing.
      let newer = look.newerKeys()
      let still = gone.filter { !newer.contains($0.text) }
      for key in still { try transaction.setGone(table.name, key) }
      return still.count
    }
    if !isConfirmed { client.noteGone(count, of: table.name) }
    report.gone += count
    return 0
  }

  /// Makes sure that an answer without rows was given to this user.
  private func proveView() async throws(SyncFailure) {
    let token: Secret?
    do throws(SessionFailure) { token = try await client.sessions.accessToken() } catch { throw .session(error) }
    guard await client.isTokenProven(token) else { throw .unproven(table: table.name) }
  }
}

/// The keys that a sweep has shown, eight bytes each: a hundred thousand rows are a normal table.
///
/// By their hashes: two keys with one hash would only put off that one of them is found gone.
private struct SeenKeys {
  /// Whether anything is remembered: a first pull into an empty cache misses nothing.
  let isOn: Bool
  private var hashes: Set<Int> = []

  init(isOn: Bool) { self.isOn = isOn }

  mutating func insert(_ key: String) {
    if isOn { hashes.insert(key.hashValue) }
  }

  func contains(_ key: String) -> Bool { hashes.contains(key.hashValue) }
}
