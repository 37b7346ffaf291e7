import LosslessJSON
import SupabaseAPI

/// Conditions on the rows of a request, all of which must hold.
///
/// A column is a column's name, `table.column` of an embedded table, or a path into JSON such as `data->>kind`. Two
/// conditions on one column travel together in one group, since the server would take only one of them otherwise.
public protocol FilterBuilder: Sendable {
  /// The conditions so far.
  var conditions: [Filter] { get set }
}

extension FilterBuilder {
  /// The column equals the value; null is asked for with `is`.
  public func eq(_ column: String, value: some FilterOperand) -> Self { adding(column, .equal, value) }

  /// The column has another value, and is not null.
  public func neq(_ column: String, value: some FilterOperand) -> Self { adding(column, .notEqual, value) }

  /// The column is greater than the value.
  public func gt(_ column: String, value: some FilterOperand) -> Self { adding(column, .greater, value) }

  /// The column is greater than the value or equal.
  public func gte(_ column: String, value: some FilterOperand) -> Self { adding(column, .greaterOrEqual, value) }

  /// The column is less than the value.
  public func lt(_ column: String, value: some FilterOperand) -> Self { adding(column, .less, value) }

  /// The column is less than the value or equal.
  public func lte(_ column: String, value: some FilterOperand) -> Self { adding(column, .lessOrEqual, value) }

  /// The column is like a pattern, in which `%` stands for any text and `_` for one character.
  public func like(_ column: String, pattern: String) -> Self { filter(column, operator: "like", value: pattern) }

  /// The column is like a pattern, whatever the case.
  public func ilike(_ column: String, pattern: String) -> Self { filter(column, operator: "ilike", value: pattern) }

  /// The column is null, or that truth value.
  public func `is`(_ column: String, value: Bool?) -> Self {
    adding(column, .identity(value.map { $0 ? .yes : .no } ?? .null))
  }

  /// The column has one of the values; none of them matches nothing.
  public func `in`(_ column: String, values: [some FilterOperand]) -> Self {
    adding(column, .oneOf(values.map(\.filterValue)))
  }

  /// The column's array or JSON holds all of the value.
  public func contains(_ column: String, value: OfflineJSON) -> Self {
    filter(column, operator: "cs", value: Self.containerText(value))
  }

  /// The column's array or JSON holds nothing but what is in the value.
  public func containedBy(_ column: String, value: OfflineJSON) -> Self {
    filter(column, operator: "cd", value: Self.containerText(value))
  }

  /// The column's array has an element in common with the value.
  public func overlaps(_ column: String, value: OfflineJSON) -> Self {
    filter(column, operator: "ov", value: Self.containerText(value))
  }

  /// A condition in PostgREST's own words, such as `("notes", operator: "not.is", value: "null")`.
  public func filter(_ column: String, operator operation: String, value: String) -> Self {
    adding(column, .written(operator: operation, operand: value))
  }

  /// The conditions that `build` adds, all in one group.
  public func and(_ build: (ConditionList) -> ConditionList) -> Self { adding(.and, build, isNegated: false) }

  /// At least one of the conditions that `build` adds.
  public func or(_ build: (ConditionList) -> ConditionList) -> Self { adding(.or, build, isNegated: false) }

  /// Not all of the conditions that `build` adds.
  public func not(_ build: (ConditionList) -> ConditionList) -> Self { adding(.and, build, isNegated: true) }

  private func adding(_ column: String, _ operation: Filter.Operator, _ value: some FilterOperand) -> Self {
    let value = value.filterValue
    guard !value.isNull else {
      return adding(column, operation == .notEqual ? .not(.identity(.null)) : .identity(.null))
    }
    return adding(column, .value(operation, value))
  }

  private func adding(_ column: String, _ comparison: Filter.Comparison) -> Self {
    var builder = self
    let isPath = column.utf8.contains { $0 == UInt8(ascii: ".") } || column.contains("->")
    builder.conditions.append(isPath ? .path(column, comparison) : .column(column, comparison))
    return builder
  }

  private func adding(
    _ junction: Filter.Junction, _ build: (ConditionList) -> ConditionList, isNegated: Bool
  ) -> Self {
    var builder = self
    builder.conditions.append(.group(junction, build(ConditionList()).conditions, isNegated: isNegated))
    return builder
  }

  private static func containerText(_ value: OfflineJSON) -> String {
    guard case .array(let elements) = value else { return value.serialized() }
    let texts = elements.map { element -> String in
      guard let text = element.stringValue else { return element.isNull ? "NULL" : element.serialized() }
      return JSONValue.string(text).serialized()
    }
    return "{" + texts.joined(separator: ",") + "}"
  }
}

/// Conditions of one group.
public struct ConditionList: FilterBuilder {
  /// The conditions so far.
  public var conditions: [Filter] = []
}

extension [Filter] {
  /// The conditions as they are sent: those that share a column stand together in one group.
  var grouped: [Filter] {
    var counts: [String: Int] = [:]
    for name in compactMap(\.subject) { counts[name, default: 0] += 1 }
    let isShared = { (filter: Filter) in filter.subject.map { (counts[$0] ?? 0) > 1 } ?? false }
    let shared = filter(isShared)
    return shared.isEmpty ? self : filter { !isShared($0) } + [.and(shared)]
  }
}

extension Filter {
  /// What a condition is about, as one name of a query.
  fileprivate var subject: String? {
    switch self {
    case .column(let name, _), .path(let name, _): name
    case .group: nil
    }
  }
}
