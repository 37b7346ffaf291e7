import LosslessJSON

/// What a REST request's query string asks for, read but not yet held against a table.
struct RestQuery: Sendable {
  var select: [SelectItem] = [.everything]
  /// The conditions, each on the table at the end of its path: an empty path is the request's own table.
  var filters: [Placed<FilterNode>] = []
  var order: [Placed<[OrderTerm]>] = []
  var ranges: [Placed<Window>] = []
  var columns: [String]?
  var onConflict: [String]?
  /// What a read of a function gives its arguments, in the order of the query.
  var arguments: [(name: String, value: String)] = []

  /// The limit as given, which may be negative.
  var limit: Int? { ranges.first { $0.path.isEmpty }?.value.limit }
  /// The offset, never negative.
  var offset: Int { ranges.first { $0.path.isEmpty }?.value.offset ?? 0 }
  /// The conditions on the request's own table.
  var ownFilters: [FilterNode] { filters.filter { $0.path.isEmpty }.map(\.value) }
  /// The order of the request's own rows.
  var ownOrder: [OrderTerm] { order.first { $0.path.isEmpty }?.value ?? [] }
}

/// Something that is asked of the table at the end of a path of embedded tables.
struct Placed<Value: Sendable>: Sendable {
  let path: [String]
  var value: Value
}

/// A limit and an offset.
struct Window: Sendable {
  /// As given, which may be negative.
  var limit: Int?
  /// Never negative.
  var offset = 0
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
  /// A related table.
  case relation(SelectedRelation)
  /// `count()`, `amount.sum()` and their like.
  case aggregate
}

/// A related table of `select=`: `photos:task_photos!inner(id)`.
struct SelectedRelation: Sendable {
  /// A table, a foreign key or a column.
  let name: String
  let alias: String?
  let hint: String?
  /// Whether a row without a related one is left out.
  let isInner: Bool
  /// Whether the columns become columns of the row around.
  let isSpread: Bool
  let select: [SelectItem]
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
  /// `cs`, `cd`, `ov`, and those of ranges: `sl`, `sr`, `nxl`, `nxr`, `adj`.
  case containment(String, String)
  /// Full text, which the stand-in lacks.
  case unsupported(String)
}

/// One term of `order=`.
struct OrderTerm: Sendable {
  /// The embedded table whose column it is; `nil` for the table's own.
  let relation: String?
  let field: FieldReference
  let isDescending: Bool
  let nullsFirst: Bool
}
