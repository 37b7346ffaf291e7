/// One column that rows are ordered by.
public struct Order: Sendable, Hashable {
  /// Which end comes first.
  public enum Direction: String, Sendable, Hashable {
    /// The smallest first.
    case ascending = "asc"
    /// The greatest first.
    case descending = "desc"
  }

  /// Where rows without a value stand.
  public enum Nulls: String, Sendable, Hashable {
    /// Before all others.
    case first = "nullsfirst"
    /// After all others.
    case last = "nullslast"
  }

  /// The column.
  public var column: String
  /// Which end comes first.
  public var direction: Direction
  /// Where rows without a value stand; nil leaves it to the server (last when ascending, first when descending).
  public var nulls: Nulls?

  /// Makes an order by one column.
  public init(_ column: String, _ direction: Direction = .ascending, nulls: Nulls? = nil) {
    self.column = column
    self.direction = direction
    self.nulls = nulls
  }

  var text: String { "\(ColumnName.text(column)).\(direction.rawValue)" + (nulls.map { ".\($0.rawValue)" } ?? "") }
}

/// How the server counts the rows that match; the raw value is PostgREST's word.
public enum Count: String, Sendable, Hashable {
  /// Every row, which costs a scan.
  case exact
  /// The planner's guess.
  case planned
  /// Exact for few rows, the planner's guess for many.
  case estimated
}
