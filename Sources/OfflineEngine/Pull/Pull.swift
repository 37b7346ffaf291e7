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

extension OfflineClient {
  /// Brings the cached rows of a table up to date with the server.
  ///
  /// With a cursor column the rows behind the last one seen are read, and the table is swept only at first, when a count
  /// differs, and from time to time. Without one every pull is a sweep.
  ///
  /// - Parameters:
  ///   - table: The table's name.
  ///   - isConfirmed: Whether a person has said that rows missing in large numbers are really gone.
  /// - Throws: `SyncFailure`; what was read before stays.
  public func pull(_ table: String, isConfirmed: Bool = false) async throws(SyncFailure) -> PullReport {
    var pull = TablePull(client: self, table: try description(of: table), isConfirmed: isConfirmed)
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
  let client: OfflineClient
  let table: TableDescription
  let isConfirmed: Bool
  var report = PullReport()

  /// Keys in one `in.(…)` list: 60 UUIDs keep the URL far below every server's limit.
  private static let keysInOneRequest = 60

  mutating func run() async throws(SyncFailure) {
    let state = try commit { try $0.pullState(table.name) }
    try await readStale()
    if try needsSweep(state) {
      try await sweep()
      return
    }
    try await readBehindCursor(state)
    if try await serverCount() != commit({ try $0.cachedRowCount(table.name) }) { try await sweep() }
  }

  private func needsSweep(_ state: PullState) throws(SyncFailure) -> Bool {
    guard table.cursorColumn != nil, let sweptAt = state.sweptAt else { return true }
    return isConfirmed || client.environment.clock.now() - sweptAt >= client.configuration.sweepEvery
  }

  // MARK: Behind the cursor

  private mutating func readBehindCursor(_ before: PullState) async throws(SyncFailure) {
    guard let column = table.cursorColumn else { return }
    var state = before
    let order = [Order(column)] + table.keyColumns.map { Order($0) }
    while true {
      let filters = state.cursor.map {
        [keyset([column] + table.keyColumns, after: [.string($0)] + (state.cursorKey?.values ?? []))]
      }
      let answer = try await select(table.readColumns, filters: filters ?? [], order: order)
      guard let last = answer.rows.last else { break }
      try keep(answer.rows)
      let previous = state
      advance(&state, to: last, serverDate: answer.serverDate)
      guard state != previous else { break }
      let reached = state
      try commit { try $0.setPullState(table.name, reached) }
    }
    try await readOverlap(before)
  }

  /// Moves the cursor to a row, but never past the server's own time: a row stamped in the future by somebody's clock
  /// would hide all that comes before it.
  private func advance(_ state: inout PullState, to row: JSONObject, serverDate: Int64?) {
    guard let column = table.cursorColumn, let value = row[column]?.plainText, let key = table.key(of: row) else {
      return
    }
    if let serverDate, let time = ServerTimestamp(value), time.microseconds > (serverDate + 1) * 1_000_000 { return }
    if state.cursor != value { state.cursorSeenAt = client.environment.clock.now() }
    state.cursor = value
    state.cursorKey = key
  }

  /// Looks once more at rows shortly before the cursor: a transaction that took long commits rows with older times.
  private mutating func readOverlap(_ before: PullState) async throws(SyncFailure) {
    guard let column = table.cursorColumn, let cursor = before.cursor, let seenAt = before.cursorSeenAt,
      client.environment.clock.now() - seenAt <= client.configuration.pullOverlap,
      let time = ServerTimestamp(cursor)
    else { return }
    let start = time.minus(client.configuration.pullOverlap).text
    var after = [JSONValue.string(start)]
    while true {
      let names = [column] + table.keyColumns
      let answer = try await select(
        distinct(table.identityColumns + [column]), filters: [keyset(Array(names.prefix(after.count)), after: after)],
        order: names.map { Order($0) })
      guard let last = answer.rows.last, let lastKey = table.key(of: last), let lastTime = last[column] else { return }
      try await fetchDiffering(answer.rows)
      after = [lastTime] + lastKey.values
    }
  }

  private func serverCount() async throws(SyncFailure) -> Int? {
    try await answer(to: .count(table.name, filters: table.conditions)).total
  }

  // MARK: The sweep

  /// Reads keys and versions of all rows, fetches what is unknown or differs, and finds what is gone.
  private mutating func sweep() async throws(SyncFailure) {
    let startedAt = client.environment.clock.now()
    var known = try commit { transaction in
      var known: [String: String?] = [:]
      try transaction.forEachCachedVersion(table.name) { known.updateValue($1, forKey: $0) }
      return known
    }
    let isFirst = known.isEmpty
    var newest: JSONObject?
    var serverDate: Int64?
    var after: RowKey?
    var showedRows = false
    let cursor = [table.cursorColumn].compactMap(\.self)
    while true {
      let filters = after.map { [keyset(table.keyColumns, after: $0.values)] } ?? []
      let columns = isFirst ? table.readColumns : distinct(table.identityColumns + cursor)
      let answer = try await select(columns, filters: filters, order: table.keyColumns.map { Order($0) })
      serverDate = serverDate ?? answer.serverDate
      guard let last = answer.rows.last, let lastKey = table.key(of: last), lastKey != after else { break }
      if isFirst { try keep(answer.rows) } else { try await fetchDiffering(answer.rows, known: known) }
      for row in answer.rows {
        if let key = table.key(of: row) { known.removeValue(forKey: key.text) }
        if isNewer(row, than: newest) { newest = row }
      }
      after = lastKey
      showedRows = true
    }
    let held = try await settleMissing(Array(known.keys), isViewProven: showedRows)
    let found = newest
    try commit { transaction in
      var state = try transaction.pullState(table.name)
      if let found, state.cursor == nil { advance(&state, to: found, serverDate: serverDate) }
      state.sweptAt = startedAt
      state.heldVanished = held
      try transaction.setPullState(table.name, state)
    }
    report.heldVanished = held
  }

  private func isNewer(_ row: JSONObject, than other: JSONObject?) -> Bool {
    guard let column = table.cursorColumn, let time = row[column]?.plainText.flatMap(ServerTimestamp.init) else {
      return false
    }
    guard let other = other?[column]?.plainText.flatMap(ServerTimestamp.init) else { return true }
    return time.microseconds > other.microseconds
  }

  /// Rows that were known and were not in the sweep: each is read by its key before it counts as gone.
  ///
  /// - Parameter isViewProven: Whether the same sweep has shown rows, so that it certainly looked as this user.
  /// - Returns: How many wait for a person instead.
  private mutating func settleMissing(_ texts: [String], isViewProven: Bool) async throws(SyncFailure) -> Int {
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
    if VanishingBrake.holds(missing.count, of: total), !isConfirmed { return missing.count }
    if !isViewProven {
      let token: Secret
      do throws(SessionFailure) { token = try await client.sessions.accessToken() } catch { throw .session(error) }
      guard await client.sessions.isTokenProven(token) else { throw .unproven(table: table.name) }
    }
    let gone = missing
    try commit { transaction in
      for key in gone { try transaction.setGone(table.name, key) }
    }
    report.gone += gone.count
    return 0
  }

  // MARK: Rows

  private mutating func readStale() async throws(SyncFailure) {
    while true {
      let texts = try commit { try $0.staleKeys(table, limit: Self.keysInOneRequest) }
      guard !texts.isEmpty else { return }
      let keys = try commit { transaction in try texts.compactMap { try transaction.key(table, text: $0) } }
      let found = try await fetch(keys)
      let missing = keys.filter { !found.contains($0.text) }
      // Rows that are not shown any more are the sweep's to judge.
      try commit { transaction in
        for key in missing { try transaction.setFresh(table.name, key) }
      }
    }
  }

  /// Fetches whole rows for those of a page of keys and versions that are unknown or differ.
  private mutating func fetchDiffering(_ page: [JSONObject], known: [String: String?]? = nil) async throws(SyncFailure)
  {
    let differing = try commit { transaction in
      try page.compactMap { row -> RowKey? in
        guard let key = table.key(of: row) else { return nil }
        if let known {
          if let version = known[key.text], version == table.version(of: row), table.versionColumn != nil { return nil }
        } else if let cached = try transaction.cachedRow(table.name, key), cached.values != nil,
          table.versionColumn != nil,
          cached.version == table.version(of: row)
        {
          return nil
        }
        return key
      }
    }
    for piece in differing.chunks(of: Self.keysInOneRequest) { _ = try await fetch(piece) }
  }

  /// Reads rows by their keys and keeps them; returns the keys that were found.
  private mutating func fetch(_ keys: [RowKey]) async throws(SyncFailure) -> Set<String> {
    guard !keys.isEmpty else { return [] }
    let filter =
      table.keyColumns.count == 1
      ? Filter.in(table.keyColumns[0], keys.map { $0.values[0] })
      : Filter.or(keys.map { key in .and(table.filters(for: key)) })
    let answer = try await select(table.readColumns, filters: [filter], order: [], limit: keys.count)
    try keep(answer.rows)
    return Set(answer.rows.compactMap { table.key(of: $0)?.text })
  }

  private mutating func keep(_ rows: [JSONObject]) throws(SyncFailure) {
    report.changed += try commit { transaction in
      var changed = 0
      for row in rows {
        guard let key = table.key(of: row) else { continue }
        let before = try transaction.cachedRow(table.name, key)
        try transaction.setCachedRow(table, key, row)
        if before?.values != row { changed += 1 }
      }
      return changed
    }
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
private func keyset(_ columns: [String], after values: [JSONValue]) -> Filter {
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
