import LosslessJSON
import SupabaseAPI

extension OfflineClient {
  /// The rows that a request asks for, past the project's row limit where that is wanted and can be done.
  ///
  /// - Returns: The rows, and how many the server gave where it stopped before all that were asked for.
  func readRows(
    _ request: TableRequest, _ table: TableDescription, _ session: SessionState
  ) async throws -> (rows: [JSONObject], cutAt: Int?) {
    guard configuration.readsPastRowLimit, let rowLimit = configuration.rowLimit,
      request.limit.map({ $0 > rowLimit }) ?? true, let first = request.pages(by: table.keyColumns)
    else {
      let answer = try await send(request, session)
      let cutAt = cutAt(answer, request)
      if let cutAt { warnOfRowLimit(table.name, cutAt) }
      return (answer.rows, cutAt)
    }
    var rows: [JSONObject] = []
    var page = first
    var last: RowKey?
    while true {
      let answer = try await send(page, session)
      rows += answer.rows
      guard cutAt(answer, page) != nil else { return (rows, nil) }
      guard let key = answer.rows.last.flatMap(table.key), key != last else {
        // A view may have rows without a key, or with one that is not theirs alone.
        warnOfRowLimit(table.name, rows.count)
        return (rows, rows.count)
      }
      last = key
      page = first
      page.filters = (first.filters + [keyset(table.keyColumns, after: key.values)]).grouped
      page.offset = nil
      page.limit = first.limit.map { $0 - rows.count }
    }
  }

  /// How many rows the server gave, where it stopped before all that were asked for, as far as can be told.
  func cutAt(_ answer: TableAnswer, _ request: TableRequest) -> Int? {
    let count = answer.rows.count
    if let limit = request.limit, count >= limit { return nil }
    if let total = answer.total { return count > 0 && count + (request.offset ?? 0) < total ? count : nil }
    guard let rowLimit = configuration.rowLimit, count >= rowLimit else { return nil }
    return count
  }
}

extension TableRequest {
  /// The request in the order of a key, by which it can be read on behind any of its rows; `nil` where that order is
  /// not the request's, or its rows do not show the key.
  fileprivate func pages(by columns: [String]) -> TableRequest? {
    let selection = Selection(self)
    guard columns.allSatisfy(selection.shows) else { return nil }
    let keyOrder = columns.map { Order($0) }
    guard order.isEmpty || order == keyOrder else { return nil }
    var request = self
    request.order = keyOrder
    return request
  }
}
