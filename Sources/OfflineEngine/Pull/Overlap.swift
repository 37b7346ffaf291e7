import LosslessJSON
import SupabaseAPI

extension TablePull {
  /// How long the older part of the overlap is left alone once it was read, also when the cursor moves meanwhile: the one
  /// change after a hundred thousand costs what any other does.
  private static let overlapPause = Duration.seconds(15)

  /// How many of the newest rows are looked at meanwhile.
  private static let newestRows = 100

  /// Looks once more at rows shortly before the cursor: a transaction that took long commits rows with older times.
  ///
  /// The newest rows are looked at every time, since most transactions are short; all of it now and then, and once more by
  /// a pull that began long enough after the cursor was first seen, which is the last.
  mutating func readOverlap(_ before: PullState, startedAt: WallTime) async throws(SyncFailure) {
    guard let column = table.cursorColumn, let cursor = before.cursor, let seenAt = before.cursorSeenAt,
      let time = ServerTimestamp(cursor)
    else { return }
    // What came late while the older part was left alone is to be found by the read that follows.
    let start = JSONValue.string(time.minus(client.configuration.pullOverlap + Self.overlapPause).text)
    let names = [column] + table.keyColumns
    let isLast = startedAt - seenAt > client.configuration.pullOverlap
    let rest = before.overlapReadAt.map { startedAt - $0 }
    if !isLast, let rest, rest >= .zero, rest < Self.overlapPause {
      try await take(
        try await select(
          overlapColumns, filters: [.gt(column, start)], order: names.map { Order($0, .descending) },
          limit: min(Self.newestRows, client.configuration.pageRows)))
      return
    }
    var after = [start]
    var pages = 0
    while true {
      let page = try await select(
        overlapColumns, filters: [keyset(Array(names.prefix(after.count)), after: after)],
        order: names.map { Order($0) }, isCounted: pages == 0)
      guard let last = page.rows.last, let lastKey = table.key(of: last), let lastTime = last[column] else { break }
      pages += 1
      try await take(page)
      if page.isWhole { break }
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

  private mutating func take(_ page: PulledPage) async throws(SyncFailure) {
    if table.versionColumn == nil { try keep(page) } else { try await fetchDiffering(page) }
  }
}
