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
struct TablePull {
  let client: UserEngine
  let table: TableDescription
  let isConfirmed: Bool
  let hasChanged: @Sendable () -> Void
  var report = PullReport()

  mutating func run() async throws(SyncFailure) {
    let startedAt = client.environment.clock.now()
    let state = try currentState()
    report.heldVanished = state.heldVanished
    try await readStale()
    if try needsSweep(state) {
      try await sweep(state)
      // What went before a first pull that was cut off went on was not looked at.
      if state.firstKey != nil { try await sweepIfCountDiffers() }
    } else {
      try await readBehindCursor(state)
      try await readOverlap(state, startedAt: startedAt)
      try await sweepIfCountDiffers()
    }
    // What was learned of while an older answer was on its way.
    try await readStale()
  }

  /// How far the pulls have come; nowhere, where other columns or other conditions are asked for than before.
  private func currentState() throws(SyncFailure) -> PullState {
    let shape = table.shape
    return try commit { transaction in
      var state = try transaction.pullState(table.name)
      if let before = state.shape, before != shape {
        state = PullState(heldVanished: state.heldVanished)
        try transaction.setPullState(table.name, state)
      }
      state.shape = shape
      return state
    }
  }

  private func needsSweep(_ state: PullState) throws(SyncFailure) -> Bool {
    guard table.cursorColumn != nil, let sweptAt = state.sweptAt else { return true }
    let age = client.environment.clock.now() - sweptAt
    // A clock that was set back would keep the next sweep waiting until it has caught up.
    return isConfirmed || age >= client.configuration.sweepEvery || age < .zero
  }

  private mutating func sweepIfCountDiffers() async throws(SyncFailure) {
    let state = try commit { try $0.pullState(table.name) }
    // Rows that wait for a person are known to be missing; only another number is news.
    let expected = try commit { try $0.cachedRowCount(table.name) } - state.heldVanished
    let count = try await ask(.count(table.name, filters: table.conditions)).answer.total
    if count != expected { try await sweep(state) }
  }

  // MARK: Behind the cursor

  private mutating func readBehindCursor(_ before: PullState) async throws(SyncFailure) {
    guard let column = table.cursorColumn else { return }
    var state = before
    let names = [column] + table.keyColumns
    let start = before.cursor.map { [JSONValue.string($0)] + (before.cursorKey?.values ?? []) } ?? []
    var after = start
    while true {
      let filters = after.isEmpty ? [] : [keyset(Array(names.prefix(after.count)), after: after)]
      let page = try await select(
        table.readColumns, filters: filters, order: names.map { Order($0) }, isCounted: after == start)
      guard let last = page.rows.last else { return }
      let honest = page.rows.last { !isAhead($0, of: page.answer.serverDate) }
      if let honest { advance(&state, to: honest) }
      try keep(page, honest == nil ? nil : state)
      if page.isWhole { return }
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
  func isAhead(_ row: JSONObject, of serverDate: Int64?) -> Bool {
    guard let serverDate, let column = table.cursorColumn,
      let time = row[column]?.plainText.flatMap({ ServerTimestamp($0) })
    else { return false }
    return time.microseconds >= (serverDate + 1) * 1_000_000  // `Date` has whole seconds.
  }

  /// Moves the cursor to a row that a pull has read.
  func advance(_ state: inout PullState, to row: JSONObject) {
    guard let column = table.cursorColumn, let value = row[column]?.plainText, let key = table.key(of: row) else {
      return
    }
    if state.cursor != value { state.cursorSeenAt = client.environment.clock.now() }
    state.cursor = value
    state.cursorKey = key
  }
}
