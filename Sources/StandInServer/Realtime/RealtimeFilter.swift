import SQLite

/// The filter of one entry: conditions on the columns of a row that must all hold (protocol sheet realtime, section 4).
struct RealtimeFilter {
  /// What a condition compares with.
  private enum Test {
    /// The order of the row's value to the given one.
    case order(SQLiteValue, @Sendable (Int) -> Bool)
    case list([SQLiteValue])
    case isValue(Comparison.IsValue)
    case distinct(SQLiteValue)
    case like(LikePattern)
    case expression(String, ignoringCase: Bool)
  }

  private struct Condition {
    let place: Int
    let type: ColumnType
    let isNegated: Bool
    let test: Test
  }

  /// Why a filter cannot be used, in the server's words.
  struct Fault: Error {
    let message: String
  }

  private let conditions: [Condition]

  /// The greatest number of values behind `in`.
  private static let listMax = 100

  /// Reads `column=op.value`, several of them between commas.
  init(_ text: String, of table: Table, now: Timestamp) throws(Fault) {
    var conditions: [Condition] = []
    for part in Self.parts(text) where !part.isEmpty {
      guard let equals = part.firstIndex(of: "=") else {
        throw Fault(message: "Error parsing `filter` params: \(text)")
      }
      conditions.append(
        try Self.condition(String(part[..<equals]), String(part[part.index(after: equals)...]), of: table, now))
    }
    self.conditions = conditions
  }

  /// Whether a row fits.
  ///
  /// - Parameter values: The row's stored values; `nil` for a column that the change does not tell.
  func matches(_ values: [SQLiteValue?]) -> Bool {
    conditions.allSatisfy { condition in
      guard let value = values[condition.place] else { return false }
      // In SQL a comparison with NULL is unknown, and so is its negation.
      guard let holds = Self.holds(condition, value) else { return false }
      return holds != condition.isNegated
    }
  }

  private static func holds(_ condition: Condition, _ stored: SQLiteValue) -> Bool? {
    let value = condition.type.comparable(stored)
    switch condition.test {
    case .distinct(let other):
      if value == .null || other == .null { return value != other }
      return order(value, other) != 0
    case .isValue(let wanted):
      switch wanted {
      case .null, .unknown: return stored == .null
      case .notNull: return stored != .null
      case .isTrue: return stored == 1
      case .isFalse: return stored == 0
      }
    case _ where stored == .null: return nil
    case .order(let other, let fits): return fits(order(value, other))
    case .list(let others): return others.contains { order(value, $0) == 0 }
    case .like(let pattern): return pattern.matches(text(stored))
    case .expression(let pattern, let ignoringCase):
      return RegularExpression.matches(text(stored), pattern, ignoringCase: ignoringCase)
    }
  }

  private static func text(_ value: SQLiteValue) -> String {
    if case .text(let text) = value { text } else { "" }
  }

  /// The order of two comparable values of one type: less than, equal to or more than zero.
  private static func order(_ left: SQLiteValue, _ right: SQLiteValue) -> Int {
    switch (left, right) {
    case (.integer(let left), .integer(let right)): left < right ? -1 : left == right ? 0 : 1
    case (.real(let left), .real(let right)): left < right ? -1 : left == right ? 0 : 1
    case (.text(let left), .text(let right)): order(Array(left.utf8), Array(right.utf8))
    case (.blob(let left), .blob(let right)): order(left, right)
    // Not-a-number is kept as a text and lies above all numbers.
    case (.text, _): 1
    case (_, .text): -1
    default: 0
    }
  }

  private static func order(_ left: [UInt8], _ right: [UInt8]) -> Int {
    left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
  }

  // MARK: Reading

  private static func condition(
    _ name: String, _ text: String, of table: Table, _ now: Timestamp
  ) throws(Fault) -> Condition {
    guard let place = table.index(of: name) else { throw Fault(message: "invalid column for filter \(name)") }
    let type = table.columns[place].type
    var rest = text[...]
    let isNegated = rest.hasPrefix("not.")
    if isNegated { rest = rest.dropFirst(4) }
    guard let dot = rest.firstIndex(of: ".") else { throw Fault(message: "Error parsing `filter` params: \(name)") }
    let value = String(rest[rest.index(after: dot)...])
    func comparable(_ text: String) throws(Fault) -> SQLiteValue {
      do {
        return type.comparable(try type.stored(text, now: now))
      } catch {
        throw Fault(message: error.message)
      }
    }
    func plain() throws(Fault) -> SQLiteValue { try comparable(unquoted(value)) }
    let test: Test
    switch String(rest[..<dot]) {
    case "eq": test = .order(try plain()) { $0 == 0 }
    case "neq": test = .order(try plain()) { $0 != 0 }
    case "lt": test = .order(try plain()) { $0 < 0 }
    case "lte": test = .order(try plain()) { $0 <= 0 }
    case "gt": test = .order(try plain()) { $0 > 0 }
    case "gte": test = .order(try plain()) { $0 >= 0 }
    case "in":
      guard value.hasPrefix("("), value.hasSuffix(")"),
        let elements = ArrayText.parse("{" + value.dropFirst().dropLast() + "}")
      else { throw Fault(message: "Error parsing `filter` params: \(name)") }
      guard elements.count <= listMax else {
        throw Fault(message: "too many values for `in` filter. Maximum \(listMax)")
      }
      var values: [SQLiteValue] = []
      for element in elements { if let element { values.append(try comparable(element)) } }
      test = .list(values)
    case "is":
      guard let wanted = Comparison.IsValue(rawValue: value.lowercased()),
        type == .boolean || wanted == .null || wanted == .notNull
      else { throw Fault(message: "invalid value for `is` filter") }
      test = .isValue(wanted)
    case "isdistinct": test = .distinct(try plain())
    case "like", "ilike":
      try check(type, isText: name)
      test = .like(LikePattern(unquoted(value), ignoringCase: rest.hasPrefix("i")))
    case "match", "imatch":
      try check(type, isText: name)
      guard RegularExpression.isValid(unquoted(value)) else { throw Fault(message: "invalid regular expression") }
      test = .expression(unquoted(value), ignoringCase: rest.hasPrefix("i"))
    case let name: throw Fault(message: "Error parsing `filter` params: unsupported operator \(name)")
    }
    return Condition(place: place, type: type, isNegated: isNegated, test: test)
  }

  private static func check(_ type: ColumnType, isText name: String) throws(Fault) {
    guard type == .text else { throw Fault(message: "invalid type for filter \(name)") }
  }

  /// The parts between the commas that stand in no quotes and no parentheses.
  private static func parts(_ text: String) -> [String] {
    var parts: [String] = [""]
    var depth = 0
    var isQuoted = false
    var isEscaped = false
    for character in text {
      if isEscaped {
        isEscaped = false
      } else if character == "\\", isQuoted {
        isEscaped = true
      } else if character == "\"" {
        isQuoted.toggle()
      } else if !isQuoted {
        if character == "(" { depth += 1 }
        if character == ")" { depth -= 1 }
        if character == ",", depth == 0 {
          parts.append("")
          continue
        }
      }
      parts[parts.count - 1].append(character)
    }
    return parts.map { String($0.drop { $0 == " " }) }
  }

  /// A value without the double quotes around it.
  private static func unquoted(_ text: String) -> String {
    guard text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return text }
    var plain = ""
    var isEscaped = false
    for character in text.dropFirst().dropLast() {
      if character == "\\", !isEscaped {
        isEscaped = true
      } else {
        plain.append(character)
        isEscaped = false
      }
    }
    return plain
  }
}
