import LosslessJSON
import SupabaseAPI

extension Filter {
  /// Whether a row meets the condition, as far as this device can judge it (spec 5, "The five outcomes").
  ///
  /// Judged are equality, membership, `is`, and the order of numbers and of times. Text is compared byte for byte, since
  /// its order and patterns follow a collation that only the server knows.
  ///
  /// - Returns: `nil` when it cannot be told, also where the row lacks the column.
  func holds(for row: JSONObject) -> Bool? {
    switch self {
    case .column(let name, let comparison):
      return row[name].flatMap { comparison.holds(for: $0) }
    case .path:
      return nil
    case .group(let junction, let filters, let isNegated):
      let isAll = junction == .and
      var result: Bool? = isAll
      for filter in filters {
        switch filter.holds(for: row) {
        case .some(isAll): break
        case .some: return isNegated ? isAll : !isAll  // One is enough to decide.
        case nil: result = nil
        }
      }
      return result.map { $0 != isNegated }
    }
  }
}

extension Filter.Comparison {
  fileprivate func holds(for value: JSONValue) -> Bool? {
    switch self {
    case .identity(let identity):
      switch identity {
      case .null: value.isNull
      case .yes: value == .bool(true)
      case .no: value == .bool(false)
      case .unknown: value.isNull
      }
    // Against no value nothing holds, not even the opposite of a comparison.
    case .value where value.isNull, .oneOf where value.isNull: false
    case .value(let operation, let operand): ValueOrder.holds(value, operation, operand)
    case .oneOf(let operands): Self.isAny(of: operands, value)
    case .written(let operation, let operand):
      Self.read(operation, operand).flatMap { $0.holds(for: value) }
    case .not(let other):
      switch other {
      case .identity: other.holds(for: value).map { !$0 }
      default: value.isNull ? false : other.holds(for: value).map { !$0 }
      }
    }
  }

  private static func isAny(of operands: [JSONValue], _ value: JSONValue) -> Bool? {
    var result: Bool? = false
    for operand in operands where !operand.isNull {
      switch ValueOrder.holds(value, .equal, operand) {
      case true?: return true
      case false?: break
      case nil: result = nil
      }
    }
    return result
  }

  /// The comparison that an operator in PostgREST's own words means; `nil` for one that only the server can judge.
  private static func read(_ operation: String, _ operand: String) -> Filter.Comparison? {
    if operation.hasPrefix("not.") { return read(String(operation.dropFirst(4)), operand).map { .not($0) } }
    if operation == "is" { return Filter.Identity(rawValue: operand).map { .identity($0) } }
    return Filter.Operator(rawValue: operation).map { .value($0, .string(operand)) }
  }
}

/// How two values of a column stand to one another, as the database would order them.
enum ValueOrder {
  static func holds(_ value: JSONValue, _ operation: Filter.Operator, _ operand: JSONValue) -> Bool? {
    switch operation {
    case .equal: isEqual(value, operand)
    case .notEqual: isEqual(value, operand).map { !$0 }
    case .greater: compare(value, operand).map { $0 > 0 }
    case .greaterOrEqual: compare(value, operand).map { $0 >= 0 }
    case .less: compare(value, operand).map { $0 < 0 }
    case .lessOrEqual: compare(value, operand).map { $0 <= 0 }
    }
  }

  private static func isEqual(_ value: JSONValue, _ operand: JSONValue) -> Bool? {
    switch value {
    case .bool(let truth): operand.truth.map { $0 == truth }
    case .number(let number): operand.number.map { $0 == number }
    case .string(let text):
      operand.text.map { $0 == text || compare(value, operand) == 0 || isSameUUID(text, $0) }
    case .null, .array, .object: nil
    }
  }

  /// Below, at or above zero; `nil` where only the database knows.
  static func compare(_ value: JSONValue, _ operand: JSONValue) -> Int? {
    switch value {
    case .number(let left):
      guard let right = operand.number else { return nil }
      if let left = left.int64, let right = right.int64 { return left < right ? -1 : left > right ? 1 : 0 }
      return left.double < right.double ? -1 : left.double > right.double ? 1 : 0
    case .bool(let left):
      guard let right = operand.truth else { return nil }
      return left == right ? 0 : right ? -1 : 1
    case .string(let text):
      guard let other = operand.text else { return nil }
      if text.utf8.count >= 20, other.utf8.count >= 20, let left = ServerTimestamp(text, .zoned),
        let right = ServerTimestamp(other, .zoned)
      {
        return left.microseconds < right.microseconds ? -1 : left.microseconds > right.microseconds ? 1 : 0
      }
      guard isDate(text), isDate(other) else { return nil }
      return text < other ? -1 : text > other ? 1 : 0
    case .null, .array, .object: return nil
    }
  }

  /// Whether the text is a plain date, whose order is the text's.
  private static func isDate(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return bytes.count == 10
      && bytes.enumerated().allSatisfy { $0 == 4 || $0 == 7 ? $1 == 45 : (48...57).contains($1) }
  }

  private static func isSameUUID(_ left: String, _ right: String) -> Bool {
    left.utf8.count == 36 && right.utf8.count == 36 && left.utf8.filter({ $0 == 45 }).count == 4
      && left.lowercased() == right.lowercased()
  }
}

extension JSONValue {
  /// The value as the server would read it for a column of truth values.
  fileprivate var truth: Bool? {
    switch self {
    case .bool(let truth): truth
    case .string("true"), .string("t"): true
    case .string("false"), .string("f"): false
    default: nil
    }
  }

  fileprivate var number: JSONNumber? {
    switch self {
    case .number(let number): number
    case .string(let text): JSONNumber(text)
    default: nil
    }
  }

  fileprivate var text: String? {
    switch self {
    case .string(let text): text
    case .number(let number): number.text
    case .bool(let truth): truth ? "true" : "false"
    default: nil
    }
  }
}
