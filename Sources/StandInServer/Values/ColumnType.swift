import SQLite

/// The type of a column: which texts are its values, how SQLite keeps them, and how they are written.
///
/// | type | in SQLite |
/// | --- | --- |
/// | uuid, text, json, jsonb | text, in the form that PostgreSQL prints |
/// | numeric | text with all its digits; compared by `DecimalText.sortKey` |
/// | boolean | 0 and 1 |
/// | smallint, integer, bigint | integer |
/// | double precision | real; `NaN` is the text "NaN", which SQLite sorts above all numbers, as PostgreSQL does |
/// | date | days from 1970-01-01 |
/// | timestamptz | microseconds from the Unix epoch |
/// | text[], integer[] | a JSON array |
/// | int4range, tsvector | text, in the form that PostgreSQL prints; a tsvector is kept but not searched |
enum ColumnType: Hashable, Sendable {
  case uuid
  case text
  case boolean
  case int2
  case int4
  case int8
  case numeric
  case float8
  case date
  case timestamptz
  case json
  case jsonb
  case textArray
  case int4Array
  case int4Range
  case tsvector

  /// The type with a name as a schema file spells it, or `nil`.
  init?(schemaName: String) {
    switch schemaName {
    case "uuid": self = .uuid
    case "text", "varchar", "character varying": self = .text
    case "boolean", "bool": self = .boolean
    case "int2", "smallint": self = .int2
    case "int4", "integer", "int": self = .int4
    case "int8", "bigint": self = .int8
    case "numeric", "decimal": self = .numeric
    case "float8", "double precision": self = .float8
    case "date": self = .date
    case "timestamptz", "timestamp with time zone": self = .timestamptz
    case "json": self = .json
    case "jsonb": self = .jsonb
    case "text[]": self = .textArray
    case "int4[]", "integer[]": self = .int4Array
    case "int4range": self = .int4Range
    case "tsvector": self = .tsvector
    default: return nil
    }
  }

  /// The names that a schema file may use, for error messages.
  static let schemaNames =
    "uuid, text, varchar(n), boolean, int2, int4, int8, numeric, float8, date, timestamptz, json, jsonb, text[], int4[], int4range, tsvector"

  /// The name that PostgreSQL uses in messages.
  var name: String {
    switch self {
    case .uuid: "uuid"
    case .text: "text"
    case .boolean: "boolean"
    case .int2: "smallint"
    case .int4: "integer"
    case .int8: "bigint"
    case .numeric: "numeric"
    case .float8: "double precision"
    case .date: "date"
    case .timestamptz: "timestamp with time zone"
    case .json: "json"
    case .jsonb: "jsonb"
    case .textArray: "text[]"
    case .int4Array: "integer[]"
    case .int4Range: "int4range"
    case .tsvector: "tsvector"
    }
  }

  /// The declared type of SQLite's column, chosen so that SQLite converts nothing.
  var sqliteType: String {
    switch self {
    case .uuid, .text, .numeric, .json, .jsonb, .textArray, .int4Array, .int4Range, .tsvector: "TEXT"
    case .boolean, .int2, .int4, .int8, .date, .timestamptz: "INTEGER"
    case .float8: "REAL"
    }
  }

  /// The type of the elements of an array type.
  var element: ColumnType? {
    switch self {
    case .textArray: .text
    case .int4Array: .int4
    default: nil
    }
  }

  /// An SQL expression that compares and sorts as PostgreSQL compares the type, given one that yields a stored value.
  func comparable(_ expression: String) -> String {
    switch self {
    case .numeric: "tm_numeric_key(\(expression))"
    case .jsonb: "tm_jsonb_key(\(expression))"
    case .int4Range: "tm_range_key(\(expression))"
    case .textArray, .int4Array: "tm_array_key(\(expression))"
    default: expression
    }
  }

  /// A stored value in the form in which `comparable` yields it.
  func comparable(_ value: SQLiteValue) -> SQLiteValue {
    guard case .text(let text) = value else { return value }
    switch self {
    case .numeric: return DecimalText(text).map { .blob($0.sortKey) } ?? .null
    case .textArray, .int4Array: return .blob(arrayKey(of: text))
    case .int4Range: return (try? IntegerRange(text)).map { .blob($0.sortKey) } ?? .null
    case .jsonb: return JSONBText.sortKey(of: text).map(SQLiteValue.blob) ?? .null
    default: return value
    }
  }
}
