import LosslessJSON

/// A condition on rows, as PostgREST understands it.
///
/// Its description names columns and operators, never a value.
public indirect enum Filter: Sendable, Hashable {
  /// One column compared with something.
  case column(String, Comparison)
  /// A value inside a column (`data->>kind`) or a column of an embedded table (`items.id`), in PostgREST's words.
  case path(String, Comparison)
  /// Several conditions of which all, or at least one, must hold.
  case group(Junction, [Filter], isNegated: Bool)

  /// How the conditions of a group belong together.
  public enum Junction: String, Sendable, Hashable {
    /// All must hold.
    case and
    /// At least one must hold.
    case or
  }

  /// What a column is compared with.
  public enum Comparison: Sendable, Hashable {
    /// An operator of two sides.
    case value(Operator, JSONValue)
    /// One of several values; an empty list matches nothing, and null never matches.
    case oneOf([JSONValue])
    /// Null or a truth value.
    case identity(Identity)
    /// An operator and its operand as PostgREST writes them, such as `ilike` and `%milk%`, or `not.is` and `null`.
    case written(operator: String, operand: String)
    /// The opposite of a comparison; a null column matches neither a comparison nor its opposite.
    indirect case not(Comparison)
  }

  /// The operators of two sides; the raw value is PostgREST's word.
  public enum Operator: String, Sendable, Hashable {
    /// Equal.
    case equal = "eq"
    /// Not equal.
    case notEqual = "neq"
    /// Greater.
    case greater = "gt"
    /// Greater or equal.
    case greaterOrEqual = "gte"
    /// Less.
    case less = "lt"
    /// Less or equal.
    case lessOrEqual = "lte"
  }

  /// What `is` can ask for; the raw value is PostgREST's word.
  public enum Identity: String, Sendable, Hashable {
    /// No value.
    case null
    /// True.
    case yes = "true"
    /// False.
    case no = "false"
    /// A truth value that is null.
    case unknown
  }
}

extension Filter {
  /// The column equals the value; null is asked for with `is`, since nothing equals null.
  public static func eq(_ column: String, _ value: JSONValue) -> Filter {
    value.isNull ? .is(column, .null) : .column(column, .value(.equal, value))
  }

  /// The column has another value, and is not null.
  public static func neq(_ column: String, _ value: JSONValue) -> Filter {
    value.isNull ? .not(column, .identity(.null)) : .column(column, .value(.notEqual, value))
  }

  /// The column is greater than the value.
  public static func gt(_ column: String, _ value: JSONValue) -> Filter { .column(column, .value(.greater, value)) }

  /// The column is greater than the value or equal.
  public static func gte(_ column: String, _ value: JSONValue) -> Filter {
    .column(column, .value(.greaterOrEqual, value))
  }

  /// The column is less than the value.
  public static func lt(_ column: String, _ value: JSONValue) -> Filter { .column(column, .value(.less, value)) }

  /// The column is less than the value or equal.
  public static func lte(_ column: String, _ value: JSONValue) -> Filter {
    .column(column, .value(.lessOrEqual, value))
  }

  /// The column has one of the values; an empty list matches nothing.
  public static func `in`(_ column: String, _ values: [JSONValue]) -> Filter { .column(column, .oneOf(values)) }

  /// The column is null, or a truth value.
  public static func `is`(_ column: String, _ identity: Identity) -> Filter { .column(column, .identity(identity)) }

  /// The opposite of a comparison.
  public static func not(_ column: String, _ comparison: Comparison) -> Filter { .column(column, .not(comparison)) }

  /// A comparison in PostgREST's own words, for the operators that have no case of their own.
  public static func written(_ column: String, operator operation: String, operand: String) -> Filter {
    .column(column, .written(operator: operation, operand: operand))
  }

  /// At least one of the conditions holds.
  public static func or(_ filters: [Filter]) -> Filter { .group(.or, filters, isNegated: false) }

  /// All of the conditions hold.
  public static func and(_ filters: [Filter]) -> Filter { .group(.and, filters, isNegated: false) }

  /// Rows strictly behind a place in the order of two columns: the next page of a list.
  ///
  /// The second column must be unique, so that rows of one instant are neither skipped nor read twice.
  public static func behind(
    _ cursor: String, _ cursorValue: JSONValue, key: String, _ keyValue: JSONValue
  ) -> Filter {
    .or([.gt(cursor, cursorValue), .and([.eq(cursor, cursorValue), .gt(key, keyValue)])])
  }
}

extension Filter: CustomStringConvertible, CustomReflectable {
  /// Columns and operators, without any value.
  public var description: String {
    switch self {
    case .column(let name, let comparison), .path(let name, let comparison): "\(name) \(comparison.words)"
    case .group(let junction, let filters, let isNegated):
      (isNegated ? "not " : "") + "("
        + filters.map(\.description).joined(separator: " \(junction.rawValue) ") + ")"
    }
  }

  /// Shows what the description shows, so that no dump holds a value.
  public var customMirror: Mirror { Mirror(self, children: ["filter": description]) }
}

extension Filter.Comparison: CustomStringConvertible, CustomReflectable {
  /// The operator, without any value.
  public var description: String { words }

  /// Shows the operator only.
  public var customMirror: Mirror { Mirror(self, children: ["comparison": words]) }

  fileprivate var words: String {
    switch self {
    case .value(let operation, _): "\(operation.rawValue) …"
    case .oneOf(let values): "in (\(values.count) values)"
    case .identity(let identity): "is \(identity.rawValue)"
    case .written(let operation, _): "\(operation) …"
    case .not(let other): "not \(other.words)"
    }
  }
}
