import LosslessJSON

/// The rows of a table that other cached lists hold with all columns of one list.
struct KnownRows {
  /// The row under a key.
  let row: (String) throws -> JSONObject?
  /// Every such row, by its key.
  let all: () throws -> [(key: String, row: JSONObject)]

  /// No other list holds anything.
  static var none: KnownRows { KnownRows(row: { _ in nil }, all: { [] }) }
}
