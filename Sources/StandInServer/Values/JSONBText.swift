import LosslessJSON

/// JSON as PostgreSQL's `jsonb` keeps and prints it: blanks after colons and commas, members sorted by the length of
/// their names and then by their bytes, the last of two equal names, numbers without exponent.
enum JSONBText {
  /// The text of a value.
  static func text(of value: JSONValue) -> String { normalised(value).serialized(.oneLine) }

  /// The value with its members in order and its numbers as `numeric` prints them.
  static func normalised(_ value: JSONValue) -> JSONValue {
    switch value {
    case .number(let number):
      return DecimalText(number.text).flatMap { JSONNumber($0.text) }.map(JSONValue.number) ?? value
    case .array(let elements): return .array(elements.map(normalised))
    case .object(let object):
      let members = object.members.map { (name: $0.name, value: normalised($0.value)) }
      return .object(JSONObject(members.sorted { isBefore($0.name, $1.name) }))
    default: return value
    }
  }

  /// The value without the members of its objects that are null, at every depth; elements of arrays stay.
  static func withoutNulls(_ value: JSONValue) -> JSONValue {
    switch value {
    case .array(let elements): return .array(elements.map(withoutNulls))
    case .object(let object):
      return .object(
        JSONObject(object.members.filter { !$0.value.isNull }.map { ($0.name, withoutNulls($0.value)) }))
    default: return value
    }
  }

  /// Bytes whose order as bytes is the order of `jsonb` values: null, string, number, boolean, array, object; arrays
  /// and objects with fewer entries come first.
  ///
  /// `nil` when the text is no JSON.
  static func sortKey(of text: String) -> [UInt8]? {
    guard let value = try? JSONValue(parsing: text) else { return nil }
    var key: [UInt8] = []
    append(normalised(value), to: &key)
    return key
  }

  /// Follows a path of member names and array positions, as `->` does; negative positions count from the end.
  static func follow(_ path: [JSONPathStep], from value: JSONValue) -> JSONValue? {
    var current = value
    for step in path {
      switch (current, step.index) {
      case (.array(let elements), let index?):
        let place = index < 0 ? elements.count + index : index
        guard elements.indices.contains(place) else { return nil }
        current = elements[place]
      case (.object(let object), _):
        // A number names an array's element only: PostgreSQL's `->` with an integer finds nothing in an object.
        guard step.index == nil, let found = object[step.name] else { return nil }
        current = found
      default: return nil
      }
    }
    return current
  }

  static func isBefore(_ left: String, _ right: String) -> Bool {
    let (leftBytes, rightBytes) = (left.utf8, right.utf8)
    if leftBytes.count != rightBytes.count { return leftBytes.count < rightBytes.count }
    return leftBytes.lexicographicallyPrecedes(rightBytes)
  }

  private static func append(_ value: JSONValue, to key: inout [UInt8]) {
    switch value {
    case .null: key.append(1)
    case .string(let text):
      key.append(2)
      append(text, to: &key)
    case .number(let number):
      key.append(3)
      appendEscaped(DecimalText(number.text)?.sortKey ?? [], to: &key)
    case .bool(let flag): key += [4, flag ? 1 : 0]
    case .array(let elements):
      key.append(5)
      append(count: elements.count, to: &key)
      for element in elements { append(element, to: &key) }
    case .object(let object):
      key.append(6)
      append(count: object.count, to: &key)
      for (name, member) in object.members {
        append(name, to: &key)
        append(member, to: &key)
      }
    }
  }

  private static func append(_ text: String, to key: inout [UInt8]) { appendEscaped(Array(text.utf8), to: &key) }

  /// A zero ends the bytes, so that a prefix comes first; a zero within is told apart.
  private static func appendEscaped(_ bytes: [UInt8], to key: inout [UInt8]) {
    for byte in bytes {
      key.append(byte)
      if byte == 0 { key.append(0xFF) }
    }
    key += [0, 0]
  }

  private static func append(count: Int, to key: inout [UInt8]) {
    for shift in [24, 16, 8, 0] { key.append(UInt8(truncatingIfNeeded: count >> shift)) }
  }
}

/// One step of a JSON path such as `->size` or `->0`.
struct JSONPathStep: Hashable {
  /// The member's name as written.
  let name: String
  /// The position, when the step is an integer.
  let index: Int?
}
