import LosslessJSON

extension Filter {
  /// The condition as one `name=value` of a query, not yet percent-encoded.
  var queryItem: (name: String, value: String) {
    switch self {
    case .column(let name, let comparison):
      (ColumnName.filterText(name), comparison.text(isInGroup: false))
    case .path(let path, let comparison):
      (path, comparison.text(isInGroup: false))
    case .group(let junction, let filters, let isNegated):
      ((isNegated ? "not." : "") + junction.rawValue, Self.list(filters))
    }
  }

  /// The condition inside a group, where reserved characters need quotes.
  private var memberText: String {
    switch self {
    case .column(let name, let comparison):
      "\(ColumnName.filterText(name)).\(comparison.text(isInGroup: true))"
    case .path(let path, let comparison):
      "\(path).\(comparison.text(isInGroup: true))"
    case .group(let junction, let filters, let isNegated):
      (isNegated ? "not." : "") + junction.rawValue + Self.list(filters)
    }
  }

  private static func list(_ filters: [Filter]) -> String {
    "(" + filters.map(\.memberText).joined(separator: ",") + ")"
  }
}

extension Filter.Comparison {
  /// Operator and value: the value as it is when it is all that follows, quoted where other text follows it.
  fileprivate func text(isInGroup: Bool) -> String {
    switch self {
    case .value(let operation, let value):
      "\(operation.rawValue).\(isInGroup ? FilterValue.quoted(value) : FilterValue.plain(value))"
    case .oneOf(let values):
      "in.(" + values.map(FilterValue.quoted).joined(separator: ",") + ")"
    case .identity(let identity):
      "is.\(identity.rawValue)"
    case .written(let operation, let operand):
      // A list or a range in a group keeps its own brackets; everything else is a text.
      "\(operation).\(isInGroup && !FilterValue.isBracketed(operand) ? FilterValue.quoted(.string(operand)) : operand)"
    case .not(let other):
      "not.\(other.text(isInGroup: isInGroup))"
    }
  }
}

/// How a value is written into a filter.
enum FilterValue {
  /// The text of a value, with nothing added: alone after an operator everything is taken as it is.
  static func plain(_ value: JSONValue) -> String {
    switch value {
    case .null: "null"
    case .bool(let truth): truth ? "true" : "false"
    case .number(let number): number.text
    case .string(let text): text
    case .array, .object: value.serialized()
    }
  }

  /// The text of a value inside a list or a group, in double quotes where PostgREST would read more than text in it.
  static func quoted(_ value: JSONValue) -> String {
    let text = plain(value)
    // An empty text would be no element at all, and a brace would begin an array.
    guard text.isEmpty || text.unicodeScalars.contains(where: isReserved) else { return text }
    return QuotedText.quoted(text)
  }

  /// Whether an operand is a list, an array or a range, whose brackets are its own.
  static func isBracketed(_ operand: String) -> Bool {
    guard let first = operand.first, let last = operand.last, operand.count > 1 else { return false }
    return "([{".contains(first) && ")]}".contains(last)
  }

  private static func isReserved(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "-", "_": false
    case ",", ".", ":", "*", "(", ")", "\"", "\\", "{", "}": true
    default: scalar.properties.isWhitespace || scalar.value < 0x20
    }
  }
}

/// Text in double quotes, with a backslash before each quote and backslash in it.
enum QuotedText {
  static func quoted(_ text: String) -> String {
    let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
    guard text.utf8.contains(where: { $0 == quote || $0 == backslash }) else { return "\"\(text)\"" }
    var result = [quote]
    for byte in text.utf8 {
      if byte == quote || byte == backslash { result.append(backslash) }
      result.append(byte)
    }
    return String(decoding: result + [quote], as: UTF8.self)
  }
}

/// How the name of a column is written outside a body.
enum ColumnName {
  /// The name as it is where it is a plain word, in double quotes where PostgREST would read more than a name in it.
  static func text(_ name: String) -> String {
    let isPlain =
      !name.isEmpty && !ASCII.isDigit(name.utf8.first ?? 0)
      && name.utf8.allSatisfy { ASCII.isAlphanumeric($0) || $0 == UInt8(ascii: "_") }
    return isPlain || name == "*" ? name : QuotedText.quoted(name)
  }

  /// The name before an operator, where PostgREST's own parameters must not be meant.
  static func filterText(_ name: String) -> String { parameters.contains(name) ? QuotedText.quoted(name) : text(name) }

  private static let parameters: Set<String> = [
    "select", "order", "limit", "offset", "columns", "on_conflict", "and", "or", "not",
  ]

  static func list(_ names: [String]) -> String { names.map(text).joined(separator: ",") }

  /// Every name in quotes, as the clients write the `columns` of an insert.
  static func quotedList(_ names: [String]) -> String { names.map(QuotedText.quoted).joined(separator: ",") }
}
