/// A JSON value whose meaning is compared, not its spelling.
///
/// Strings compare by their UTF-8 bytes (not by Unicode's canonical equivalence), numbers by numeric value, objects
/// whatever the order of their members.
public enum JSONValue: Sendable {
  /// The value `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number with its text.
  case number(JSONNumber)
  /// A string, unescaped.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object, its members in order.
  case object(JSONObject)
}

extension JSONValue {
  /// Makes a number from an integer.
  public static func integer(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }

  /// Whether the value is `null`.
  public var isNull: Bool {
    if case .null = self { true } else { false }
  }

  /// The Boolean, or nil for any other kind.
  public var boolValue: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// The number, or nil for any other kind.
  public var numberValue: JSONNumber? {
    if case .number(let value) = self { value } else { nil }
  }

  /// The number as a 64-bit integer, or nil for any other kind, a fraction, or a number that does not fit.
  public var int64Value: Int64? { numberValue?.int64 }

  /// The string, or nil for any other kind.
  public var stringValue: String? {
    if case .string(let value) = self { value } else { nil }
  }

  /// The elements, or nil for any other kind.
  public var arrayValue: [JSONValue]? {
    if case .array(let value) = self { value } else { nil }
  }

  /// The object, or nil for any other kind.
  public var objectValue: JSONObject? {
    if case .object(let value) = self { value } else { nil }
  }

  /// The value of a member, or nil where there is none or the value is not an object.
  public subscript(name: String) -> JSONValue? { objectValue?[name] }

  /// What kind of value this is, to be read in a sentence: "a string", "an object", "null".
  public var kindName: String {
    switch self {
    case .null: "null"
    case .bool: "a Boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension JSONValue: CustomStringConvertible {
  /// The value as compact JSON text.
  public var description: String { serialized() }
}
