import LosslessJSON

/// One condition that rows must meet to belong to a collection; all of a collection's conditions must hold.
public struct RowCondition: Sendable, Hashable {
  /// How a column is compared; each is PostgREST's operator of the same name.
  public enum Comparison: String, Sendable, Hashable, CaseIterable {
    /// Equal; for `null`, that the column is null.
    case eq
    /// Not equal; for `null`, that the column is not null.
    case neq
    /// Less.
    case lt
    /// Less or equal.
    case lte
    /// Greater.
    case gt
    /// Greater or equal.
    case gte
    /// One of an array of values.
    case `in`
  }

  /// The column, which need not stand in the files.
  public var column: String
  /// How it is compared.
  public var comparison: Comparison
  /// What it is compared with; an array for `in`.
  public var value: JSONValue

  /// Makes a condition.
  public init(_ column: String, _ comparison: Comparison, _ value: JSONValue) {
    self.column = column
    self.comparison = comparison
    self.value = value
  }

  /// Reads `{"archived": false, "priority": {"gte": 2}, "list": {"in": ["a", "b"]}, "deleted_at": null}`.
  static func conditions(_ node: SettingsNode) throws(SettingsError) -> [RowCondition] {
    var conditions: [RowCondition] = []
    for (column, node) in try node.members("conditions such as {\"archived\": false}") {
      if node.value.objectValue == nil {
        try requireScalar(node)
        conditions.append(RowCondition(column, .eq, node.value))
        continue
      }
      let known = Comparison.allCases.map(\.rawValue)
      try node.requireObject(of: known)
      let comparisons = try node.members("")
      if comparisons.isEmpty {
        throw node.error("no comparison; expected one of \(known.joined(separator: ", ")), such as {\"gte\": 2}")
      }
      for (word, node) in comparisons {
        guard let comparison = Comparison(rawValue: word) else { continue }
        if comparison == .in {
          let elements = try node.elements("an array of values")
          if elements.isEmpty { throw node.error("no values; expected at least one") }
          for element in elements {
            try requireScalar(element)
            if element.value.isNull { throw element.error("null is never among values; compare with {\"eq\": null}") }
          }
        } else {
          try requireScalar(node)
          if node.value.isNull, comparison != .eq, comparison != .neq {
            throw node.error("nothing is less or greater than null; expected a text, a number, true or false")
          }
        }
        conditions.append(RowCondition(column, comparison, node.value))
      }
    }
    return conditions
  }

  private static func requireScalar(_ node: SettingsNode) throws(SettingsError) {
    switch node.value {
    case .array, .object: throw node.expected("a text, a number, true, false or null")
    default: return
    }
  }
}
