import LosslessJSON
import SQLite

/// The rows of a query as this device shows them.
struct ShownList: Sendable, Equatable {
  /// The rows, with the queued writes laid over them.
  var rows: [JSONObject]
  /// When the server sent them, by the device's clock; `nil` when it never did.
  var fetchedAt: WallTime?
  /// Whether they should be fetched again.
  var isStale = false
  /// Whether a queued write changed what is shown.
  var hasPendingMutations = false
  /// How many rows the server gave, where it stopped before all that were asked for.
  var cutAt: Int?
}

extension EngineTransaction {
  /// The kept answer to a query with the queued writes laid over it; `nil` when there is none.
  func shownList(_ query: ListQuery, _ table: TableDescription) throws -> ShownList? {
    guard let list = try cachedList(query) else { return nil }
    let shown = ShownList(rows: [], fetchedAt: list.fetchedAt, isStale: list.isStale, cutAt: list.cutAt)
    return try overlaid(try rows(of: list), query, table, shown)
  }

  /// Rows of a query with the queued writes laid over them.
  ///
  /// - Parameter list: What else is to be said of them.
  func overlaid(_ rows: [ListRow], _ query: ListQuery, _ table: TableDescription, _ list: ShownList) throws
    -> ShownList
  {
    var shown = list
    let pending = query.schema == schema ? try pendingMutations(of: query.table) : []
    guard !pending.isEmpty else {
      shown.rows = rows.map(\.row)
      return shown
    }
    var editor = ListEditor(query, table, rows: rows, limit: query.limit(cutAt: list.cutAt))
    let known = knownRows(besides: query, in: try cachedLists(query.table, schema: query.schema))
    for mutation in pending { try editor.lay(mutation.write, known: known) }
    let result = editor.result()
    shown.rows = result.rows.map(\.row)
    shown.hasPendingMutations = result.isChanged
    return shown
  }

  /// The user's queued writes to a table, in the order they will be sent.
  func pendingMutations(of table: String) throws -> [PendingMutation] {
    try database.rows(
      "SELECT * FROM mutation WHERE user_id = ? AND table_name = ? AND list = 'queued' ORDER BY id",
      [.text(user), .text(table)]
    ).map(pendingMutation)
  }
}
