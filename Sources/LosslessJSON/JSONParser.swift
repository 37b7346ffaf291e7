/// Reads one JSON text in a single pass over its bytes, with stacks of its own instead of recursion.
///
/// Values that belong to containers still open wait on one stack, so that closing a container takes them off in one
/// piece and each array or object is allocated once, at its size.
struct JSONParser {
  /// How many levels of arrays and objects a text may have.
  static let levelsMax = 512

  /// A container that is still open.
  private struct Frame {
    var isObject: Bool
    /// The place of the opening bracket.
    var start: Int
    var firstValue: Int
    var firstName: Int
    /// The names so far, once they are too many to be compared one by one.
    var seen: Set<NameKey>?
  }

  /// A member's name, waiting for the object to be closed.
  private struct PendingName {
    var text: String
    var digest: UInt64
    var start: Int
  }

  /// From this many members on, an object's names are kept in a set.
  private static let namesComparedMax = 32

  let input: UnsafeBufferPointer<UInt8>
  var offset = 0
  /// Where an unescaped string is put together; kept, so that it is allocated once.
  var scratch: [UInt8] = []

  private var frames: [Frame] = []
  private var values: [JSONValue] = []
  private var names: [PendingName] = []

  init(_ input: UnsafeBufferPointer<UInt8>) {
    self.input = input
  }

  /// Whether a text begins with a UTF-8 byte-order mark.
  static func startsWithMark(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    bytes.count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF
  }

  /// Reads the whole text.
  mutating func parse() throws(JSONError) -> JSONValue {
    if JSONParser.startsWithMark(input) { offset = 3 }
    skipSpace()
    if offset == input.count {
      throw failure(.empty, "the text is empty; expected a JSON value", at: offset)
    }
    if let encoding = otherEncoding {
      throw failure(.invalidUTF8, "the text is \(encoding); save it as UTF-8", at: 0)
    }
    while true {
      guard let value = try openOrReadValue() else { continue }
      if let whole = try attach(value) {
        skipSpace()
        if offset < input.count { throw trailingText() }
        return whole
      }
    }
  }

  /// Reads a value that has nothing inside; or opens a container, and returns nil.
  private mutating func openOrReadValue() throws(JSONError) -> JSONValue? {
    guard offset < input.count else { throw expectedValue() }
    switch input[offset] {
    case UInt8(ascii: "\""):
      return .string(try string())
    case UInt8(ascii: "{"):
      try open(isObject: true)
      if offset < input.count, input[offset] == UInt8(ascii: "}") {
        offset += 1
        frames.removeLast()
        return .object(JSONObject())
      }
      try memberName()
      return nil
    case UInt8(ascii: "["):
      try open(isObject: false)
      if offset < input.count, input[offset] == UInt8(ascii: "]") {
        offset += 1
        frames.removeLast()
        return .array([])
      }
      return nil
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      return .number(try number())
    case UInt8(ascii: "t") where isWord("true"):
      offset += 4
      return .bool(true)
    case UInt8(ascii: "f") where isWord("false"):
      offset += 5
      return .bool(false)
    case UInt8(ascii: "n") where isWord("null"):
      offset += 4
      return .null
    default:
      throw expectedValue()
    }
  }

  /// Gives a finished value to the container it stands in, and closes what ends behind it.
  ///
  /// - Returns: The whole text's value once the outermost container is closed; nil while more is to come.
  private mutating func attach(_ finished: JSONValue) throws(JSONError) -> JSONValue? {
    var value = finished
    while let frame = frames.last {
      values.append(value)
      skipSpace()
      let close = frame.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
      guard offset < input.count, input[offset] == UInt8(ascii: ",") || input[offset] == close else {
        throw expectedCommaOrClose(frame.isObject, openedAt: frame.start)
      }
      let byte = input[offset]
      offset += 1
      if byte != close {
        let comma = offset - 1
        skipSpace()
        if offset < input.count, input[offset] == close { throw trailingComma(at: comma, frame.isObject) }
        if frame.isObject { try memberName() }
        return nil
      }
      value = frame.isObject ? .object(takeObject(frame)) : .array(takeArray(frame))
      frames.removeLast()
    }
    return value
  }

  private mutating func open(isObject: Bool) throws(JSONError) {
    guard frames.count < JSONParser.levelsMax else {
      throw failure(.tooDeep, "more than \(JSONParser.levelsMax) levels of arrays and objects", at: offset)
    }
    frames.append(Frame(isObject: isObject, start: offset, firstValue: values.count, firstName: names.count))
    offset += 1
    skipSpace()
  }

  private mutating func takeArray(_ frame: Frame) -> [JSONValue] {
    let elements = Array(values[frame.firstValue...])
    values.removeSubrange(frame.firstValue...)
    return elements
  }

  private mutating func takeObject(_ frame: Frame) -> JSONObject {
    let count = values.count - frame.firstValue
    let members = [(name: String, value: JSONValue)](unsafeUninitializedCapacity: count) { buffer, filled in
      for index in 0..<count {
        buffer.initializeElement(
          at: index, to: (names[frame.firstName + index].text, values[frame.firstValue + index]))
      }
      filled = count
    }
    values.removeSubrange(frame.firstValue...)
    names.removeSubrange(frame.firstName...)
    return JSONObject(unique: members)
  }

  /// Reads a member's name and the colon behind it, up to the value.
  private mutating func memberName() throws(JSONError) {
    let start = offset
    guard offset < input.count, input[offset] == UInt8(ascii: "\"") else { throw expectedName() }
    let text = try string()
    let digest = JSONParser.digest(of: text)
    try refuseDuplicate(text, digest, at: start)
    names.append(PendingName(text: text, digest: digest, start: start))
    skipSpace()
    guard offset < input.count, input[offset] == UInt8(ascii: ":") else { throw expectedColon(after: text) }
    offset += 1
    skipSpace()
  }

  private mutating func refuseDuplicate(_ text: String, _ digest: UInt64, at start: Int) throws(JSONError) {
    let frame = frames.count - 1
    let first = frames[frame].firstName
    if frames[frame].seen == nil, names.count - first >= JSONParser.namesComparedMax {
      frames[frame].seen = Set(names[first...].map { NameKey(text: $0.text) })
    }
    if frames[frame].seen != nil {
      if frames[frame].seen?.insert(NameKey(text: text)).inserted == true { return }
    } else {
      var index = first
      while index < names.count {
        if names[index].digest == digest, sameBytes(names[index].text, text) { break }
        index += 1
      }
      if index == names.count { return }
    }
    throw duplicate(text, at: start, firstAt: names[first...].first { sameBytes($0.text, text) }?.start)
  }

  /// A cheap number by which most names differ; equal ones are compared.
  private static func digest(of text: String) -> UInt64 {
    var digest = UInt64(truncatingIfNeeded: text.utf8.count)
    for byte in text.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return digest
  }

  // MARK: Words, spaces and numbers

  mutating func skipSpace() {
    while offset < input.count {
      let byte = input[offset]
      guard byte <= 0x20, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
      offset += 1
    }
  }

  private func isWord(_ word: StaticString) -> Bool {
    let end = offset + word.utf8CodeUnitCount
    guard end <= input.count else { return false }
    for index in 0..<word.utf8CodeUnitCount where input[offset + index] != word.utf8Start[index] { return false }
    return end == input.count || !JSONParser.isWordByte(input[end])
  }

  private mutating func number() throws(JSONError) -> JSONNumber {
    let start = offset
    switch NumberScan.end(of: input, from: start) {
    case .success(let end):
      if end < input.count, JSONParser.isWordByte(input[end]) || input[end] == UInt8(ascii: ".") {
        throw invalidNumber(from: start)
      }
      offset = end
      return JSONNumber(unchecked: String(decoding: input[start..<end], as: UTF8.self))
    case .failure(let failure):
      throw invalidNumber(from: start, failure)
    }
  }
}
