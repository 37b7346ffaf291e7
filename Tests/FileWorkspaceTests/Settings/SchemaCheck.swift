import LosslessJSON

/// As much of a JSON Schema validator as the schemas of this package need.
///
/// Knows only the words that stand in `known`, so that a schema with another word fails the test rather than passing it.
struct SchemaCheck {
  private static let known: Set<String> = [
    "$schema", "title", "description", "default", "examples", "readOnly", "type", "enum", "pattern", "minimum",
    "maximum",
    "properties", "patternProperties", "additionalProperties", "required", "minProperties", "items", "minItems",
    "uniqueItems", "anyOf", "not", "dependencies",
  ]

  struct UnknownWord: Error {
    var word: String
  }

  /// Whether a value is what a schema describes.
  static func allows(_ schema: JSONValue, _ value: JSONValue) throws -> Bool {
    if let flag = schema.boolValue { return flag }
    guard let schema = schema.objectValue else { return false }
    for (word, rule) in schema {
      guard known.contains(word) else { throw UnknownWord(word: word) }
      guard try allows(word, rule, value) else { return false }
    }
    return try value.objectValue.map { try members($0, schema) } ?? true
  }

  private static func allows(_ word: String, _ rule: JSONValue, _ value: JSONValue) throws -> Bool {
    let count = rule.numberValue?.int64.map(Int.init) ?? 0
    switch word {
    case "type": return (rule.arrayValue ?? [rule]).contains { isKind(value, $0.stringValue ?? "") }
    case "enum": return rule.arrayValue?.contains(value) ?? false
    case "anyOf": return try (rule.arrayValue ?? []).contains { try allows($0, value) }
    case "not": return try !allows(rule, value)
    case "pattern":
      guard let text = value.stringValue else { return true }
      return try text.firstMatch(of: Regex(rule.stringValue ?? "")) != nil
    case "minimum": return value.numberValue.map { $0.double >= rule.numberValue?.double ?? 0 } ?? true
    case "maximum": return value.numberValue.map { $0.double <= rule.numberValue?.double ?? 0 } ?? true
    case "required":
      guard let object = value.objectValue else { return true }
      return (rule.arrayValue ?? []).allSatisfy { object[$0.stringValue ?? ""] != nil }
    case "dependencies":
      guard let object = value.objectValue else { return true }
      return (rule.objectValue ?? [:]).members.allSatisfy { dependency in
        object[dependency.name] == nil
          || (dependency.value.arrayValue ?? []).allSatisfy { object[$0.stringValue ?? ""] != nil }
      }
    case "minProperties": return value.objectValue.map { $0.count >= count } ?? true
    case "minItems": return value.arrayValue.map { $0.count >= count } ?? true
    case "uniqueItems": return value.arrayValue.map { Set($0).count == $0.count } ?? true
    case "items": return try value.arrayValue.map { try $0.allSatisfy { try allows(rule, $0) } } ?? true
    default: return true
    }
  }

  private static func members(_ object: JSONObject, _ schema: JSONObject) throws -> Bool {
    for (name, value) in object {
      var isNamed = false
      if let rule = schema["properties"]?[name] {
        isNamed = true
        guard try allows(rule, value) else { return false }
      }
      for (pattern, rule) in schema["patternProperties"]?.objectValue ?? [:] {
        guard try name.firstMatch(of: Regex(pattern)) != nil else { continue }
        isNamed = true
        guard try allows(rule, value) else { return false }
      }
      if !isNamed, let rule = schema["additionalProperties"], !(try allows(rule, value)) { return false }
    }
    return true
  }

  private static func isKind(_ value: JSONValue, _ kind: String) -> Bool {
    switch (kind, value) {
    case ("string", .string), ("boolean", .bool), ("null", .null), ("array", .array), ("object", .object): true
    case ("number", .number): true
    case ("integer", .number(let number)): number.int64 != nil || number.double.rounded() == number.double
    default: false
    }
  }
}
