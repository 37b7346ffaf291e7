/// One value as SQLite stores it.
public enum SQLiteValue: Sendable, Hashable {
  /// SQL NULL.
  case null
  /// A signed 64-bit integer.
  case integer(Int64)
  /// A double.
  case real(Double)
  /// UTF-8 text.
  case text(String)
  /// Bytes as they are.
  case blob([UInt8])

  /// Text, or NULL for `nil`.
  public static func optional(_ text: String?) -> SQLiteValue { text.map(SQLiteValue.text) ?? .null }

  /// An integer, or NULL for `nil`.
  public static func optional(_ number: Int64?) -> SQLiteValue { number.map(SQLiteValue.integer) ?? .null }
}

extension SQLiteValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByNilLiteral {
  /// A text value.
  public init(stringLiteral value: String) { self = .text(value) }
  /// An integer value.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// SQL NULL.
  public init(nilLiteral: ()) { self = .null }
}

/// One row of a result, detached from its statement.
public struct SQLiteRow: Sendable {
  /// Column names in the order of the query, shared by all rows of one result.
  let names: [String]
  /// The values in the order of the columns.
  public let values: [SQLiteValue]

  /// The value of the column at `index`, counted from zero.
  public subscript(index: Int) -> SQLiteValue { values[index] }

  /// The value of the column called `name`; NULL when the query has no such column.
  public subscript(name: String) -> SQLiteValue {
    guard let index = names.firstIndex(of: name) else { return .null }
    return values[index]
  }

  /// The column's text, or `nil` when it is NULL or holds something else.
  public func text(_ name: String) -> String? {
    if case .text(let text) = self[name] { text } else { nil }
  }

  /// The column's integer, or `nil` when it is NULL or holds something else.
  public func integer(_ name: String) -> Int64? {
    if case .integer(let number) = self[name] { number } else { nil }
  }

  /// The column's bytes, or `nil` when it is NULL or holds something else.
  public func blob(_ name: String) -> [UInt8]? {
    if case .blob(let bytes) = self[name] { bytes } else { nil }
  }
}
