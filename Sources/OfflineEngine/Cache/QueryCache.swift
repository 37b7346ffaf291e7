import LosslessJSON

extension EngineTransaction {
  /// What this device saw of a row: the version in a cached copy that holds the version column, with that copy's values
  /// of some columns (spec 5, "What the queue records"); `nil` when no cached list holds it.
  func cachedBase(_ table: TableDescription, _ key: RowKey, columns: [String]) throws -> WriteBase? { nil }

  /// Lays a write that the server has taken into every cached list it reaches.
  ///
  /// - Parameter rows: What the server gave back; `nil` when no row was asked back.
  func applyAccepted(_ write: Write, _ table: TableDescription, rows: [JSONObject]?) throws {}

  /// Lays values that the server showed of a row into every cached list that holds it; `nil` drops it from them.
  ///
  /// - Parameter keepsVersion: Whether the cached rows keep the version that this device saw, so that a later write
  ///   still meets the move.
  func applyServerRow(_ table: TableDescription, _ key: RowKey, _ values: JSONObject?, keepsVersion: Bool) throws {}

  /// Has the cached lists of a table fetched again by their readers.
  func markListsStale(_ table: String, schema: String) throws {}
}
