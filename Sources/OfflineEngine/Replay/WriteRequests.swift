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
    let made = write.request?.conditions ?? []
    // An insert that found its key taken is an update of that row, which its caller built no conditions for.
    var filters = made.isEmpty ? filters(for: write.key) : made
    if let versionColumn, let version { filters.append(.eq(versionColumn, .string(version))) }
    if write.operation == .delete { return .delete(name, filters: filters, returning: identityColumns) }
    // A row keeps its key: a user may well be allowed to set its columns, but not these.
    let values = made.isEmpty ? besidesKey(write.values) : write.values
    return .update(name, set: values, filters: filters, returning: distinct(identityColumns + values.names))
  }
}

extension Write {
  /// The request exactly as its caller built it.
  var requestAsMade: TableRequest {
    let made = request ?? WriteRequest()
    var request: TableRequest
    switch operation {
    case .insert, .upsert:
      request =
        made.rows.map { .insert(table, rows: $0, missingDefault: made.takesDefaults) } ?? .insert(table, row: values)
      if operation == .upsert {
        request.duplicates = made.ignoresDuplicates ? .ignore : .merge
        request.conflictColumns = made.conflictColumns
      }
    case .update: request = .update(table, set: values, filters: made.conditions.grouped)
    case .delete: request = .delete(table, filters: made.conditions.grouped)
    }
    request.selection = made.selection
    request.returnsRows = made.selection != nil || made.isSingle
    request.isSingle = made.isSingle
    return request
  }

  /// Whether the row meets what the write asks for beside the key; `nil` when only the server can tell.
  func isReached(in row: JSONObject, _ table: TableDescription) -> Bool? {
    let others = request?.conditions.filter { !$0.isAbout(anyOf: table.keyColumns) } ?? []
    return Filter.and(others).holds(for: row)
  }

  /// The columns that a read for this write must show.
  func readNames(_ table: TableDescription) -> [String] { values.names + conditionColumns(table) }

  /// Whether an insert may have been refused only because the rows were asked back, which its caller did not ask for:
  /// a table that its writer may not read.
  func mayBeHidden(_ refusal: ServerError) -> Bool {
    guard let request, operation == .insert, refusal.code == "42501" else { return false }
    return request.selection == nil && !request.isSingle
  }

  /// The columns that the conditions beside the key name.
  func conditionColumns(_ table: TableDescription) -> [String] {
    request?.conditions.compactMap(\.columnName).filter { !table.keyColumns.contains($0) } ?? []
  }
}

extension Filter {
  /// The column that a condition on a whole column is about.
  var columnName: String? {
    switch self {
    case .column(let name, _): name
    case .path, .group: nil
    }
  }

  fileprivate func isAbout(anyOf columns: [String]) -> Bool { columnName.map(columns.contains) ?? false }
}
