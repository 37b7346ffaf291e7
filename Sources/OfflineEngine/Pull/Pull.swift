import LosslessJSON
import SupabaseAPI

/// What one pull found.
public struct PullReport: Sendable, Equatable {
  /// Rows that were new or whose values differed.
  public var changed = 0
  /// Rows that are gone from the server.
  public var gone = 0
  /// Rows that the server no longer shows and that wait for a person, since too many were missing at once.
  public var heldVanished = 0
}

/// How many rows may vanish from the server's answer before that is taken for an accident (DESIGN section 8).
public enum VanishingBrake {
  /// Whether so many rows of a collection gone at once wait for a person: twenty, or more than half but at least three.
  public static func holds(_ gone: Int, of total: Int) -> Bool {
    gone >= 20 || (gone >= 3 && gone * 2 > total)
  }
}

extension UserEngine {
  /// Brings the cached rows of a table up to date with the server.
  ///
  /// With a cursor column the rows behind the last one seen are read, and the table is swept only at first, when a count
  /// differs, and from time to time. Without one every pull is a sweep.
  ///
  /// - Parameters:
  ///   - table: The table's name.
  ///   - isConfirmed: Whether a person has said that rows missing in large numbers are really gone.
  ///   - hasChanged: Called each time that rows were new or differed, once they are on record; more may be on their way.
  /// - Throws: `SyncFailure`; what was read before stays.
  public func pull(
    _ table: String, isConfirmed: Bool = false, hasChanged: @escaping @Sendable () -> Void = {}
  ) async throws(SyncFailure) -> PullReport {
    var pull = TablePull(
      client: self, table: try description(of: table), isConfirmed: isConfirmed, hasChanged: hasChanged)
    return try await passLock.withLock { () async throws(SyncFailure) -> PullReport in
      do throws(SyncFailure) {
        try await pull.run()
      } catch {
        updateStatus { $0.lastSyncError = error }
        throw error
      }
      return pull.report
    }
  }
}

/// One pull of one table.
private struct TablePull {
  let client: UserEngine
  let table: TableDescription
  let isConfirmed: Bool
  let hasChanged: @Sendable () -> Void
  var report = PullReport()

  /// Keys in one `in.(…)` list: 60 UUIDs keep the URL far below every server's limit.
  private static let keysInOneRequest = 60

  mutating func run() async throws(SyncFailure) {
    let startedAt = client.environment.clock.now()
    let state = try commit { try $0.pullState(table.name) }
    report.heldVanished = state.heldVanished
    try await readStale()
    if try needsSweep(state) {
      try await sweep(state)
      return
    }
    try await readBehindCursor(state)
    try await readOverlap(state, startedAt: startedAt)
    // Rows that wait for a person are known to be missing; only another number is news.
    let expected = try commit { try $0.cachedRowCount(table.name) } - state.heldVanished
    if try await serverCount() != expected { try await sweep(state) }
  }

  private func needsSweep(_ state: PullState) throws(SyncFailure) -> Bool {
    guard table.cursorColumn != nil, let sweptAt = state.sweptAt else { return true }
    let age = client.environment.clock.now() - sweptAt
    // A clock that was set back would keep the next sweep waiting until it has caught up.
    return isConfirmed || age >= client.configuration.sweepEvery || age < .zero
  }

  // MARK: Behind the cursor

  private mutating func readBehindCursor(_ before: PullState) async throws(SyncFailure) {
    guard let column = table.cursorColumn else { return }
    var state = before
    let names = [column] + table.keyColumns
    var after = before.cursor.map { [JSONValue.string($0)] + (before.cursorKey?.values ?? []) } ?? []
    while true {
      let filters = after.isEmpty ? [] : [keyset(Array(names.prefix(after.count)), after: after)]
      let answer = try await select(table.readColumns, filters: filters, order: names.map { Order($0) })
      guard let last = answer.rows.last else { return }
      try keep(answer.rows)
      if let row = answer.rows.last(where: { !isAhead($0, of: answer.serverDate) }) {
        advance(&state, to: row)
        let reached = state
        try commit { try $0.setPullState(table.name, reached) }
      }
      // Rows without a time come last and are the sweep's to find.
      guard let time = last[column], !time.isNull, let key = table.key(of: last) else { return }
      let next = [time] + key.values
      guard next != after else { return }
      after = next
    }
  }

  /// Whether a row is stamped later than the server's own time.
  ///
  /// The cursor never passes that: a row stamped in the future by somebody's clock would hide all that comes before it.
  private func isAhead(_ row: JSONObject, of serverDate: Int64?) -> Bool {
    guard let serverDate, let column = table.cursorColumn,
      let time = row[column]?.plainText.flatMap({ ServerTimestamp($0) })
    else { return false }
    return time.microseconds >= (serverDate + 1) * 1_000_000  // `Date` has whole seconds.
  }

  private func advance(_ state: inout PullState, to row: JSONObject) {
    guard let column = table.cursorColumn, let value = row[column]?.plainText, let key = table.key(of: row) else {
      return
    }
    if state.cursor != value {
      state.cursorSeenAt = client.environment.clock.now()
      state.overlapReadAt = nil
    }
    state.cursor = value
    state.cursorKey = key
  }

  /// How long the older part of the overlap is left alone once it was read.
  private static let overlapPause = Duration.seconds(15)

  /// Looks once more at rows shortly before the cursor: a transaction that took long commits rows with older times.
  ///
  /// The newest page is looked at every time, since most transactions are short; all of it now and then, and once more by
  /// a pull that began long enough after the cursor was first seen, which is the last.
  private mutating func readOverlap(_ before: PullState, startedAt: WallTime) async throws(SyncFailure) {
    guard let column = table.cursorColumn, let cursor = before.cursor, let seenAt = before.cursorSeenAt,
      let time = ServerTimestamp(cursor)
    else { return }
    let start = JSONValue.string(time.minus(client.configuration.pullOverlap).text)
    let names = [column] + table.keyColumns
    let isLast = startedAt - seenAt > client.configuration.pullOverlap
    let rest = before.overlapReadAt.map { startedAt - $0 }
    if !isLast, let rest, rest >= .zero, rest < Self.overlapPause {
      let newest = try await select(
        overlapColumns, filters: [.gt(column, start)], order: names.map { Order($0, .descending) })
      try await take(newest.rows)
      return
    }
    var after = [start]
    var pages = 0
    while true {
      let answer = try await select(
        overlapColumns, filters: [keyset(Array(names.prefix(after.count)), after: after)],
        order: names.map { Order($0) })
      guard let last = answer.rows.last, let lastKey = table.key(of: last), let lastTime = last[column] else { break }
      pages += 1
      try await take(answer.rows)
      let next = [lastTime] + lastKey.values
      guard next != after else { break }
      after = next
    }
    guard isLast || pages > 1 else { return }
    try commit { transaction in
      var state = try transaction.pullState(table.name)
      guard state.cursor == cursor else { return }
      state.overlapReadAt = startedAt
      if isLast { state.cursorSeenAt = nil }
      try transaction.setPullState(table.name, state)
    }
  }

  /// What is read of rows that are probably known: the versions, or all of them where nothing else tells what differs.
  private var overlapColumns: [String] {
    table.versionColumn == nil
      ? table.readColumns : distinct(table.identityColumns + [table.cursorColumn].compactMap(\.self))
  }

  private mutating func take(_ rows: [JSONObject]) async throws(SyncFailure) {
    if table.versionColumn == nil { try keep(rows) } else { try await fetchDiffering(rows) }
  }

  private func serverCount() async throws(SyncFailure) -> Int? {
    try await answer(to: .count(table.name, filters: table.conditions)).total
  }

  // MARK: The sweep

  /// Reads keys and versions of all rows, fetches what is unknown or differs, and finds what is gone.
  private mutating func sweep(_ before: PullState) async throws(SyncFailure) {
    let startedAt = client.environment.clock.now()
    var known = try commit { transaction in
      var known: [String: String?] = [:]
      try transaction.forEachCachedVersion(table.name) { known.updateValue($1, forKey: $0) }
      return known
    }
    // Without versions nothing tells which rows differ, and at first nearly all do.
    let readsWhole = known.isEmpty || before.sweptAt == nil || table.versionColumn == nil
    var newest: JSONObject?
    var serverDate: Int64?
    var after: RowKey?
    var showedRows = false
    let cursor = [table.cursorColumn].compactMap(\.self)
    while true {
      let filters = after.map { [keyset(table.keyColumns, after: $0.values)] } ?? []
      let columns = readsWhole ? table.readColumns : distinct(table.identityColumns + cursor)
      let answer = try await select(columns, filters: filters, order: table.keyColumns.map { Order($0) })
      serverDate = serverDate ?? answer.serverDate
      guard let last = answer.rows.last, let lastKey = table.key(of: last), lastKey != after else { break }
      if readsWhole { try keep(answer.rows) } else { try await fetchDiffering(answer.rows, known: known) }
      for row in answer.rows {
        if let key = table.key(of: row) { known.removeValue(forKey: key.text) }
        if isNewer(row, than: newest), !isAhead(row, of: serverDate) { newest = row }
      }
      after = lastKey
      showedRows = true
    }
    // An empty table is believed at first only with proof: rows not yet seen would be taken for rows that are not there.
    if before.sweptAt == nil, !showedRows { try await proveView() }
    let held = try await settleMissing(
      Array(known.keys), isViewProven: showedRows, isHeldAlready: before.heldVanished > 0)
    let found = newest
    try commit { transaction in
      var state = try transaction.pullState(table.name)
      if let found, state.cursor == nil {
        advance(&state, to: found)
        state.overlapReadAt = startedAt  // The sweep has read it with all the rest.
      }
      state.sweptAt = startedAt
      state.heldVanished = held
      try transaction.setPullState(table.name, state)
    }
    report.heldVanished = held
  }

  private func isNewer(_ row: JSONObject, than other: JSONObject?) -> Bool {
    guard let column = table.cursorColumn, let time = row[column]?.plainText.flatMap({ ServerTimestamp($0) }) else {
      return false
    }
    guard let other = other?[column]?.plainText.flatMap({ ServerTimestamp($0) }) else { return true }
    return time.microseconds >= other.microseconds
  }

  /// Rows that were known and were not in the sweep: each is read by its key before it counts as gone.
  ///
  /// - Parameters:
  ///   - isViewProven: Whether the same sweep has shown rows, so that it certainly looked as this user.
  ///   - isHeldAlready: Whether rows wait for a person already: those that are left of them go on waiting, however few.
  /// - Returns: How many wait for a person instead.
  private mutating func settleMissing(
    _ texts: [String], isViewProven: Bool, isHeldAlready: Bool
  ) async throws(SyncFailure) -> Int {
    guard !texts.isEmpty else { return 0 }
    let keys = try commit { transaction in
      try texts.compactMap { text in try transaction.key(table, text: text) }
    }
    let total = try commit { try $0.cachedRowCount(table.name) }
    var missing: [RowKey] = []
    for piece in keys.chunks(of: Self.keysInOneRequest) {
      let found = try await fetch(piece)
      missing += piece.filter { !found.contains($0.text) }
    }
    guard !missing.isEmpty else { return 0 }
    if isHeldAlready || VanishingBrake.holds(missing.count, of: total), !isConfirmed { return missing.count }
    if !isViewProven { try await proveView() }
    let gone = missing
    try commit { transaction in
      for key in gone { try transaction.setGone(table.name, key) }
    }
    report.gone += gone.count
    return 0
  }

  /// Makes sure that an answer without rows was given to this user.
  private func proveView() async throws(SyncFailure) {
    let token: Secret?
    do throws(SessionFailure) { token = try await client.sessions.accessToken() } catch { throw .session(error) }
    guard await client.isTokenProven(token) else { throw .unproven(table: table.name) }
  }

  // MARK: Rows

  private mutating func readStale() async throws(SyncFailure) {
    while true {
      let texts = try commit { try $0.staleKeys(table, limit: Self.keysInOneRequest) }
      guard !texts.isEmpty else { return }
      let keys = try commit { transaction in try texts.compactMap { try transaction.key(table, text: $0) } }
      let found = try await fetch(keys)
      // Rows that are not shown any more are the sweep's to judge.
      try commit { transaction in
        for text in texts where !found.contains(text) { try transaction.setFresh(table.name, text) }
      }
    }
  }

  /// Fetches whole rows for those of a page of keys and versions that are unknown or differ, in a table with versions.
  private mutating func fetchDiffering(_ page: [JSONObject], known: [String: String?]? = nil) async throws(SyncFailure)
  {
    let differing = try commit { transaction in
      try page.compactMap { row -> RowKey? in
        guard let key = table.key(of: row) else { return nil }
        if let known {
          if let version = known[key.text], version == table.version(of: row) { return nil }
        } else if try transaction.isCached(table.name, key, version: table.version(of: row)) {
          return nil
        }
        return key
      }
    }
    for piece in differing.chunks(of: Self.keysInOneRequest) { _ = try await fetch(piece) }
  }

  /// Reads rows by their keys and keeps them; returns the keys that were found.
  private mutating func fetch(_ keys: [RowKey]) async throws(SyncFailure) -> Set<String> {
    var found: Set<String> = []
    var left = keys
    while !left.isEmpty {
      let answer = try await select(
        table.readColumns, filters: [table.filter(forAnyOf: left)], order: [], limit: left.count)
      try keep(answer.rows)
      found.formUnion(answer.rows.compactMap { table.key(of: $0)?.text })
      // A server may cut any answer short; only one that shows none of the keys says that they are not there.
      let rest = left.filter { !found.contains($0.text) }
      guard rest.count < left.count else { break }
      left = rest
    }
    return found
  }

  private mutating func keep(_ rows: [JSONObject]) throws(SyncFailure) {
    let changed = try commit { transaction in
      var changed = 0
      for row in rows {
        guard let key = table.key(of: row) else { continue }
        if try transaction.learnRow(table, key, row) { changed += 1 }
      }
      return changed
    }
    report.changed += changed
    if changed > 0 { hasChanged() }
  }

  // MARK: Requests

  private func select(_ columns: [String], filters: [Filter], order: [Order], limit: Int? = nil)
    async throws(SyncFailure)
    -> TableAnswer
  {
    try await answer(
      to: .select(
        table.name, columns: columns, filters: table.conditions + filters, order: order,
        limit: limit ?? client.configuration.pageRows))
  }

  private func answer(to request: TableRequest) async throws(SyncFailure) -> TableAnswer {
    do throws(RequestFailure) {
      return try await client.send(request, table: table.name).answer
    } catch {
      throw error.reason
    }
  }

  private func commit<T: Sendable>(_ body: (EngineTransaction) throws -> T) throws(SyncFailure) -> T {
    try client.commit(body)
  }
}

/// The condition that a row comes strictly behind the given values in the order of the columns.
///
/// Of several columns: `or=(a.gt.1,and(a.eq.1,b.gt.2))`, the keyset page of protocol sheet postgrest-client, section 5.
func keyset(_ columns: [String], after values: [JSONValue]) -> Filter {
  guard let column = columns.first, let value = values.first else { return .and([]) }
  let first = Filter.gt(column, value)
  guard columns.count > 1, values.count > 1 else { return first }
  return .or([
    first,
    .and([.eq(column, value), keyset(Array(columns.dropFirst()), after: Array(values.dropFirst()))]),
  ])
}

extension Array {
  /// The elements in runs of at most `size`.
  fileprivate func chunks(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}
