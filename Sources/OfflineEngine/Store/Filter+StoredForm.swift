import LosslessJSON
import SupabaseAPI

extension Filter {
  /// The condition as JSON, for cached queries and queued writes.
  ///
  /// No condition is without a form, since a write that lost one would reach other rows.
  var storedForm: JSONValue {
    switch self {
    case .column(let name, let comparison):
      let parts = comparison.jsonParts
      return .array([.string(name), .string(parts.word), parts.operand])
    case .path(let path, let comparison):
      let parts = comparison.jsonParts
      return .array([.string(path), .string(parts.word), parts.operand, "path"])
    case .group(let junction, let filters, let isNegated):
      return .array([
        .string(""), .string((isNegated ? "not." : "") + junction.rawValue), .array(filters.map(\.storedForm)),
      ])
    }
  }

  /// Reads what `storedForm` made.
  ///
  /// `nil` when a part of it is not understood, so that nothing else than what was meant is asked for.
  init?(storedForm json: JSONValue) {
    guard let parts = json.arrayValue, (3...4).contains(parts.count), let name = parts[0].stringValue,
      let word = parts[1].stringValue
    else { return nil }
    if name.isEmpty {
      let isNegated = word.hasPrefix("not.")
      guard let junction = Junction(rawValue: isNegated ? String(word.dropFirst(4)) : word),
        let members = parts[2].arrayValue
      else { return nil }
      let filters = members.compactMap(Filter.init(storedForm:))
      guard filters.count == members.count else { return nil }
      self = .group(junction, filters, isNegated: isNegated)
      return
    }
    guard let comparison = Comparison(word: word, operand: parts[2]) else { return nil }
    self = parts.count == 4 ? .path(name, comparison) : .column(name, comparison)
  }
}

extension Filter {
  /// Whether the condition looks at one of the columns, or at something inside of one.
  func isAboutColumn(anyOf columns: [String]) -> Bool {
    switch self {
    case .column(let name, _): columns.contains(name)
    case .path(let path, _): columns.contains { path.hasPrefix("\($0)->") }
    case .group(_, let filters, _): filters.contains { $0.isAboutColumn(anyOf: columns) }
    }
  }
}

extension Filter.Comparison {
  fileprivate var jsonParts: (word: String, operand: JSONValue) {
    switch self {
    case .value(let operation, let value): return (operation.rawValue, value)
    case .oneOf(let values): return ("in", .array(values))
    case .identity(let identity): return ("is", .string(identity.rawValue))
    case .written(let operation, let operand): return ("written", .array([.string(operation), .string(operand)]))
    case .not(let other):
      let parts = other.jsonParts
      return ("not", .array([.string(parts.word), parts.operand]))
    }
  }

  fileprivate init?(word: String, operand: JSONValue) {
    switch word {
    case "in":
      guard let values = operand.arrayValue else { return nil }
      self = .oneOf(values)
    case "is":
      guard let identity = operand.stringValue.flatMap(Filter.Identity.init) else { return nil }
      self = .identity(identity)
    case "written":
      guard let texts = operand.arrayValue?.compactMap(\.stringValue), texts.count == 2 else { return nil }
      self = .written(operator: texts[0], operand: texts[1])
    case "not":
      guard let parts = operand.arrayValue, parts.count == 2, let inner = parts[0].stringValue,
        let other = Filter.Comparison(word: inner, operand: parts[1])
      else { return nil }
      self = .not(other)
    default:
      guard let operation = Filter.Operator(rawValue: word) else { return nil }
      self = .value(operation, operand)
    }
  }
}
