/// What a REST request's query string asks for, read but not yet held against a table.
struct RestQuery: Sendable {
  var select: [SelectItem] = [.everything]
  var filters: [FilterNode] = []
  var order: [OrderTerm] = []
  /// The limit as given, which may be negative.
  var limit: Int?
  /// The offset, never negative.
  var offset = 0
  var columns: [String]?
  var onConflict: [String]?
}

/// A column, or a place within a JSON column.
struct FieldReference: Sendable, Hashable {
  let column: String
  let path: [JSONPathStep]
  /// Whether the last arrow is `->>`, which yields text.
  let isText: Bool
}

/// One entry of `select=`.
enum SelectItem: Sendable {
  /// `*`.
  case everything
  /// A column, with its other name and cast.
  case field(FieldReference, alias: String?, cast: String?)
}

/// A tree of conditions.
indirect enum FilterNode: Sendable {
  /// One comparison.
  case condition(FieldReference, isNegated: Bool, Comparison)
  /// `and=(…)` or `or=(…)`.
  case group(isNegated: Bool, isOr: Bool, [FilterNode])
}

/// The right-hand side of a condition.
enum Comparison: Sendable {
  /// Operators that may be followed by `(any)` or `(all)`.
  enum Operator: String {
    case eq, gte, gt, lte, lt, like, ilike, match, imatch
  }

  /// Whether one of several values is enough.
  enum Quantifier {
    case any
    case all
  }

  /// What `is.` names.
  enum IsValue: String {
    case null
    case notNull = "not_null"
    case isTrue = "true"
    case isFalse = "false"
    case unknown
  }

  case compare(Operator, Quantifier?, String)
  case notEqual(String)
  case list([String])
  case isValue(IsValue)
  case isDistinct(String)
  /// `cs`, `cd`, `ov`.
  case containment(String, String)
  /// Full text and ranges, which the stand-in lacks.
  case unsupported(String)
}

/// One term of `order=`.
struct OrderTerm: Sendable {
  let field: FieldReference
  let isDescending: Bool
  let nullsFirst: Bool
}
