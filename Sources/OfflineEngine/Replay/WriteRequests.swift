import LosslessJSON
import SupabaseAPI

extension TableDescription {
  /// The filters that pin one row.
  func filters(for key: RowKey) -> [Filter] {
    zip(keyColumns, key.values).map { Filter.eq($0, $1) }
  }

  /// The condition that a row is one of several.
  func filter(forAnyOf keys: [RowKey]) -> Filter {
    keyColumns.count == 1
      ? .in(keyColumns[0], keys.flatMap { $0.values.prefix(1) })
      : .or(keys.map { .and(filters(for: $0)) })
  }

  /// The request of an update or delete, guarded by a version where one is given.
  func request(for write: Write, guardedWith version: String?) -> TableRequest {
    var filters = write.request?.conditions ?? filters(for: write.key)
    if let versionColumn, let version { filters.append(.eq(versionColumn, .string(version))) }
    if write.operation == .delete { return .delete(name, filters: filters, returning: identityColumns) }
    // A row keeps its key: a user may well be allowed to set its columns, but not these.
    var values = write.values
    if write.request == nil { for column in keyColumns { values[column] = nil } }
    return .update(name, set: values, filters: filters, returning: distinct(identityColumns + values.names))
  }

  /// The request of a write exactly as its caller built it.
  func requestAsMade(_ write: Write) -> TableRequest {
    let made = write.request ?? WriteRequest()
    var request: TableRequest
    switch write.operation {
    case .insert, .upsert:
      request =
        made.rows.map { .insert(name, rows: $0, missingDefault: made.takesDefaults) }
        ?? .insert(name, row: write.values)
      if write.operation == .upsert {
        request.duplicates = made.ignoresDuplicates ? .ignore : .merge
        request.conflictColumns = made.conflictColumns
      }
    case .update: request = .update(name, set: write.values, filters: made.conditions)
    case .delete: request = .delete(name, filters: made.conditions)
    }
    request.selection = made.selection
    request.returnsRows = made.selection != nil
    request.isSingle = made.isSingle
    return request
  }
}

extension Write {
  /// Whether the row meets what the write asks for beside the key; `nil` when only the server can tell.
  func isReached(in row: JSONObject, _ table: TableDescription) -> Bool? {
    let others = request?.conditions.filter { !$0.isAbout(anyOf: table.keyColumns) } ?? []
    return Filter.and(others).holds(for: row)
  }

  /// The columns that the conditions beside the key name.
  func conditionColumns(_ table: TableDescription) -> [String] {
    request?.conditions.compactMap(\.columnName).filter { !table.keyColumns.contains($0) } ?? []
  }
}

extension Filter {
  /// The column that a plain condition is about.
  var columnName: String? {
    guard case .column(let name, _) = self else { return nil }
    return name
  }

  fileprivate func isAbout(anyOf columns: [String]) -> Bool { columnName.map(columns.contains) ?? false }
}
