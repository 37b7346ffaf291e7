import SQLite

/// One row that a transaction changed.
struct RowChange: Sendable {
  /// What happened to the row.
  enum Kind: String, Sendable {
    case insert = "INSERT"
    case update = "UPDATE"
    case delete = "DELETE"
  }

  let table: Table
  let kind: Kind
  /// The values before, of all columns; `nil` of an insert.
  let old: [SQLiteValue]?
  /// The values after, of all columns; `nil` of a delete.
  let new: [SQLiteValue]?
  /// The time of the transaction.
  let committedAt: Timestamp
}

/// What one transaction changes, in order; told to nobody unless it commits.
final class ChangeJournal {
  private(set) var changes: [RowChange] = []

  func add(_ change: RowChange) { changes.append(change) }
}
