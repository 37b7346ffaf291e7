import LosslessJSON
import SQLite

/// The functions that bring PostgreSQL's ways of comparing into SQLite.
enum SQLFunctions {
  /// Adds them to a connection.
  static func add(to database: Database) throws(SQLiteError) {
    try database.addFunction("tm_numeric_key", argumentCount: 1) { ColumnType.numeric.comparable($0[0]) }
    try database.addFunction("tm_jsonb_key", argumentCount: 1) { ColumnType.jsonb.comparable($0[0]) }
    try database.addFunction("tm_range_key", argumentCount: 1) { ColumnType.int4Range.comparable($0[0]) }
    try database.addFunction("tm_array_key", argumentCount: 1) { ColumnType.textArray.comparable($0[0]) }
    try database.addFunction("tm_range", argumentCount: 3) { arguments in
      guard case .text(let name) = arguments[0], case .text(let left) = arguments[1],
        case .text(let right) = arguments[2], let range = try? IntegerRange(left), let other = try? IntegerRange(right)
      else { return .null }
      return .integer(range.holds(name, other) ? 1 : 0)
    }
    try database.addFunction("tm_like", argumentCount: 3) { arguments in
      guard case .text(let text) = arguments[0], case .text(let pattern) = arguments[1] else { return .null }
      return .integer(LikePattern(pattern, ignoringCase: arguments[2] == 1).matches(text) ? 1 : 0)
    }
    try database.addFunction("tm_match", argumentCount: 3) { arguments in
      guard case .text(let text) = arguments[0], case .text(let pattern) = arguments[1] else { return .null }
      return .integer(RegularExpression.matches(text, pattern, ignoringCase: arguments[2] == 1) ? 1 : 0)
    }
    // tm_json(document, wantsText, step, …): a text step names a member, an integer step counts elements.
    try database.addFunction("tm_json", argumentCount: -1) { arguments in
      guard arguments.count >= 2, case .text(let text) = arguments[0] else { return .null }
      let steps = arguments.dropFirst(2).map { step in
        switch step {
        case .integer(let index): JSONPathStep(name: String(index), index: Int(index))
        case .text(let name): JSONPathStep(name: name, index: nil)
        default: JSONPathStep(name: "", index: nil)
        }
      }
      return JSONBText.follow(Array(steps), inText: text, asText: arguments[1] == 1)
    }
    // tm_to_jsonb(type, value): the type by PostgreSQL's name.
    try database.addFunction("tm_to_jsonb", argumentCount: 2) { arguments in
      guard case .text(let name) = arguments[0], let type = ColumnType(schemaName: name) else { return .null }
      return type.jsonb(arguments[1])
    }
    try database.addFunction("tm_contains", argumentCount: 2) { arguments in
      guard let left = document(arguments[0]), let right = document(arguments[1]) else { return .null }
      return .integer(Containment.jsonb(left, contains: right) ? 1 : 0)
    }
    try database.addFunction("tm_array_contains", argumentCount: 2) { arguments in
      guard let left = document(arguments[0])?.arrayValue, let right = document(arguments[1])?.arrayValue else {
        return .null
      }
      return .integer(right.allSatisfy { !$0.isNull && left.contains($0) } ? 1 : 0)
    }
    try database.addFunction("tm_array_overlaps", argumentCount: 2) { arguments in
      guard let left = document(arguments[0])?.arrayValue, let right = document(arguments[1])?.arrayValue else {
        return .null
      }
      return .integer(right.contains { !$0.isNull && left.contains($0) } ? 1 : 0)
    }
  }

  private static func document(_ value: SQLiteValue) -> JSONValue? {
    guard case .text(let text) = value else { return nil }
    return try? JSONValue(parsing: text)
  }
}

extension JSONBText {
  /// What `->` or `->>` finds in a document's text, as a stored value of `jsonb` or `text`.
  static func follow(_ path: [JSONPathStep], inText text: String, asText: Bool) -> SQLiteValue {
    guard let document = try? JSONValue(parsing: text), let found = follow(path, from: document) else { return .null }
    guard asText else { return .text(found.serialized(.oneLine)) }
    return .optional(ColumnType.plainText(found))
  }
}

/// `@>` of `jsonb`.
enum Containment {
  static func jsonb(_ left: JSONValue, contains right: JSONValue) -> Bool {
    // A scalar may stand for an array of one, at the top only.
    if case .array(let elements) = left, right.arrayValue == nil, right.objectValue == nil {
      return elements.contains(right)
    }
    return contains(left, right)
  }

  private static func contains(_ left: JSONValue, _ right: JSONValue) -> Bool {
    switch (left, right) {
    case (.object(let left), .object(let right)):
      right.members.allSatisfy { member in left[member.name].map { contains($0, member.value) } ?? false }
    case (.array(let left), .array(let right)):
      right.allSatisfy { wanted in left.contains { contains($0, wanted) } }
    default: left == right
    }
  }
}
