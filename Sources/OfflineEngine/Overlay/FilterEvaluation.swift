import LosslessJSON
import SupabaseAPI

extension Filter {
  /// Whether a row meets the condition, as far as this device can judge it (spec 5, "The five outcomes").
  ///
  /// Judged are equality, membership, `is`, patterns, and the order of numbers and of times. The order of texts follows a
  /// collation that only the server knows.
  ///
  /// - Returns: `nil` when it cannot be told, also where the row lacks the column.
  func holds(for row: JSONObject) -> Bool? { verdict(row).holds }

  private func verdict(_ row: JSONObject) -> Verdict {
    switch self {
    case .column(let name, let comparison):
      return row[name].map { comparison.verdict($0) } ?? .unknown
    case .path:
      return .unknown
    case .group(let junction, let filters, let isNegated):
      let verdicts = filters.map { $0.verdict(row) }
      let deciding: Verdict = junction == .and ? .no : .yes
      let result = [deciding, .unknown, .null].first { verdicts.contains($0) } ?? deciding.negated
      return isNegated ? result.negated : result
    }
  }
}

/// What a condition comes to for one row: SQL's three values, and not to be told here.
private enum Verdict {
  case yes
  case no
  /// Neither the condition nor its opposite holds: a column without a value was compared.
  case null
  case unknown

  init(_ holds: Bool?) { self = holds.map { $0 ? .yes : .no } ?? .unknown }

  var negated: Verdict {
    switch self {
    case .yes: .no
    case .no: .yes
    case .null, .unknown: self
    }
  }

  /// Whether the row is in the answer.
  var holds: Bool? {
    switch self {
    case .yes: true
    case .no, .null: false
    case .unknown: nil
    }
  }
}

extension Filter.Comparison {
  fileprivate func verdict(_ value: JSONValue) -> Verdict {
    switch self {
    case .identity(let identity):
      switch identity {
      case .null, .unknown: Verdict(value.isNull)
      case .yes: Verdict(value == .bool(true))
      case .no: Verdict(value == .bool(false))
      }
    case .not(let other): other.verdict(value).negated
    case .written(let operation, let operand):
      if let comparison = Self.read(operation, operand) {
        comparison.verdict(value)
      } else if let pattern = TextPattern(operation, operand) {
        value.isNull ? .null : Verdict(pattern.holds(for: value))
      } else {
        .unknown
      }
    case .value(let operation, let operand):
      value.isNull ? .null : Verdict(ValueOrder.holds(value, operation, operand))
    case .oneOf(let operands):
      value.isNull && !operands.isEmpty ? .null : Verdict(Self.isAny(of: operands, value))
    }
  }

  private static func isAny(of operands: [JSONValue], _ value: JSONValue) -> Bool? {
    var result: Bool? = false
    for operand in operands {
      // In a list null is four letters like any other text.
      switch ValueOrder.holds(value, .equal, operand.isNull ? "null" : operand) {
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

/// A pattern of `like` or `ilike`, as PostgreSQL matches it: `%` and PostgREST's `*` stand for any text, `_` for one
/// character, and a backslash takes the next one as it is.
struct TextPattern {
  private enum Part: Equatable {
    case any
    case one
    case scalar(Unicode.Scalar)
  }

  private let parts: [Part]
  private let ignoresCase: Bool

  /// The pattern of an operator in PostgREST's words; `nil` for another operator, and for a pattern that is an error.
  init?(_ operation: String, _ operand: String) {
    guard operation == "like" || operation == "ilike" else { return nil }
    ignoresCase = operation == "ilike"
    var parts: [Part] = []
    var scalars = operand.unicodeScalars.makeIterator()
    while let scalar = scalars.next() {
      switch scalar {
      case "%", "*": parts.append(.any)
      case "_": parts.append(.one)
      case "\\":
        guard let next = scalars.next() else { return nil }
        parts.append(.scalar(next))
      default: parts.append(.scalar(scalar))
      }
    }
    self.parts = parts
  }

  /// Whether a value matches; `nil` where it is no text, or where only the server's locale knows the other case.
  func holds(for value: JSONValue) -> Bool? {
    guard let text = value.stringValue else { return nil }
    guard ignoresCase else { return matches(Array(text.unicodeScalars), parts) }
    let isPlain = { (part: Part) in if case .scalar(let scalar) = part { scalar.isASCII } else { true } }
    guard text.unicodeScalars.allSatisfy(\.isASCII), parts.allSatisfy(isPlain) else { return nil }
    let lower = parts.map { part -> Part in
      guard case .scalar(let scalar) = part else { return part }
      return .scalar(Self.lowercased(scalar))
    }
    return matches(text.unicodeScalars.map(Self.lowercased), lower)
  }

  private static func lowercased(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    scalar.properties.lowercaseMapping.unicodeScalars.first ?? scalar
  }

  /// Takes steps in both; at a mismatch the last `any` takes one more.
  private func matches(_ text: [Unicode.Scalar], _ parts: [Part]) -> Bool {
    var (place, part) = (0, 0)
    var retry: (place: Int, part: Int)?
    while place < text.count {
      if part < parts.count, parts[part] == .any {
        retry = (place, part)
        part += 1
      } else if part < parts.count, parts[part] == .one || parts[part] == .scalar(text[place]) {
        place += 1
        part += 1
      } else if let last = retry {
        retry = (last.place + 1, last.part)
        (place, part) = (last.place + 1, last.part + 1)
      } else {
        return false
      }
    }
    return parts[part...].allSatisfy { $0 == .any }
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
