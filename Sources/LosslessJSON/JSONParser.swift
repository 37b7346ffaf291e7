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
    /// Whether the names so far are those of the object closed last at this level, in their order.
    var followsTemplate: Bool
    /// The place of the opening bracket.
    var start: Int
    var firstValue: Int
    var firstName: Int
  }

  /// A member's name, waiting for the object to be closed.
  private struct PendingName {
    var text: String
    var digest: UInt64
    /// The place of the opening quote, and the place behind the closing one.
    var start: Int
    var end: Int
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
  /// The names of the object closed last, by level.
  ///
  /// The rows of a table have the same names in the same order, so the next object's names mostly need neither be made
  /// again nor be compared with each other.
  private var templates: [[PendingName]] = []
  /// The names of the open objects that have too many to be compared one by one, by level.
  private var namesSeen: [Int: Set<NameKey>] = [:]

  init(_ input: UnsafeBufferPointer<UInt8>) {
    self.input = input
    // Room for a row, so that reading one small object allocates each stack once.
    frames.reserveCapacity(4)
    values.reserveCapacity(16)
    names.reserveCapacity(16)
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
    repeat {
      while try !readOrOpenValue() {}
    } while try !closeContainers()
    skipSpace()
    if offset < input.count { throw trailingText() }
    return values.removeLast()
  }

  /// Reads a value that has nothing inside onto the stack; or opens a container, and returns false.
  private mutating func readOrOpenValue() throws(JSONError) -> Bool {
    guard offset < input.count else { throw expectedValue() }
    switch input[offset] {
    case UInt8(ascii: "\""):
      values.append(.string(try string()))
    case UInt8(ascii: "{"):
      try open(isObject: true)
      guard offset < input.count, input[offset] == UInt8(ascii: "}") else {
        try memberName()
        return false
      }
      offset += 1
      frames.removeLast()
      values.append(.object(JSONObject()))
    case UInt8(ascii: "["):
      try open(isObject: false)
      guard offset < input.count, input[offset] == UInt8(ascii: "]") else { return false }
      offset += 1
      frames.removeLast()
      values.append(.array([]))
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      values.append(.number(try number()))
    case UInt8(ascii: "t") where isWord("true"):
      offset += 4
      values.append(.bool(true))
    case UInt8(ascii: "f") where isWord("false"):
      offset += 5
      values.append(.bool(false))
    case UInt8(ascii: "n") where isWord("null"):
      offset += 4
      values.append(.null)
    default:
      throw expectedValue()
    }
    return true
  }

  /// Moves behind a finished value to the next one, closing the containers that end there.
  ///
  /// - Returns: Whether the outermost container was closed.
  private mutating func closeContainers() throws(JSONError) -> Bool {
    while let frame = frames.last {
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
        return false
      }
      if frame.isObject { closeObject(frame) } else { closeArray(frame) }
      frames.removeLast()
    }
    return true
  }

  private mutating func open(isObject: Bool) throws(JSONError) {
    guard frames.count < JSONParser.levelsMax else {
      throw failure(.tooDeep, "more than \(JSONParser.levelsMax) levels of arrays and objects", at: offset)
    }
    frames.append(
      Frame(
        isObject: isObject, followsTemplate: isObject && frames.count < templates.count, start: offset,
        firstValue: values.count, firstName: names.count))
    offset += 1
    skipSpace()
  }

  private mutating func closeArray(_ frame: Frame) {
    let count = values.count - frame.firstValue
    let elements = [JSONValue](unsafeUninitializedCapacity: count) { buffer, filled in
      // Taken off from the end: that moves the values, where a copy would count references up and down.
      for index in (0..<count).reversed() { buffer.initializeElement(at: index, to: values.removeLast()) }
      filled = count
    }
    values.append(.array(elements))
  }

  private mutating func closeObject(_ frame: Frame) {
    let level = frames.count - 1
    let count = values.count - frame.firstValue
    // Nothing follows at the outermost level.
    if level > 0, !frame.followsTemplate || templates[level].count != count {
      while templates.count <= level { templates.append([]) }
      templates[level] = Array(names[frame.firstName...])
    }
    if count > JSONParser.namesComparedMax { namesSeen[level] = nil }
    let members = [(name: String, value: JSONValue)](unsafeUninitializedCapacity: count) { buffer, filled in
      for index in (0..<count).reversed() {
        buffer.initializeElement(at: index, to: (names.removeLast().text, values.removeLast()))
      }
      filled = count
    }
    values.append(.object(JSONObject(unique: members)))
  }

  /// Reads a member's name and the colon behind it, up to the value.
  private mutating func memberName() throws(JSONError) {
    let start = offset
    guard offset < input.count, input[offset] == UInt8(ascii: "\"") else { throw expectedName() }
    if !nameFollowsTemplate() {
      let text = try string()
      let digest = JSONParser.digest(of: text)
      try refuseDuplicate(text, digest, at: start)
      names.append(PendingName(text: text, digest: digest, start: start, end: offset))
    }
    skipSpace()
    guard offset < input.count, input[offset] == UInt8(ascii: ":") else {
      throw expectedColon(after: names.last?.text ?? "")
    }
    offset += 1
    skipSpace()
  }

  /// Takes the name from the object closed last at this level if it stands there at the same place, byte for byte.
  private mutating func nameFollowsTemplate() -> Bool {
    let level = frames.count - 1
    guard frames[level].followsTemplate else { return false }
    let place = names.count - frames[level].firstName
    if place < templates[level].count {
      let start = templates[level][place].start
      let length = templates[level][place].end - start
      if offset + length <= input.count, isRepeated(start, length: length) {
        names.append(templates[level][place])
        names[names.count - 1].start = offset
        offset += length
        names[names.count - 1].end = offset
        return true
      }
    }
    frames[level].followsTemplate = false
    return false
  }

  /// Whether the bytes at the place are those of an earlier one.
  private func isRepeated(_ start: Int, length: Int) -> Bool {
    for index in 0..<length where input[start + index] != input[offset + index] { return false }
    return true
  }

  private mutating func refuseDuplicate(_ text: String, _ digest: UInt64, at start: Int) throws(JSONError) {
    let level = frames.count - 1
    let first = frames[level].firstName
    if names.count - first < JSONParser.namesComparedMax {
      var index = first
      while index < names.count {
        if names[index].digest == digest, sameBytes(names[index].text, text) { break }
        index += 1
      }
      if index == names.count { return }
    } else {
      if namesSeen[level] == nil { namesSeen[level] = Set(names[first...].map { NameKey(text: $0.text) }) }
      if namesSeen[level]?.insert(NameKey(text: text)).inserted == true { return }
    }
    throw duplicate(text, at: start, firstAt: names[first...].first { sameBytes($0.text, text) }?.start)
  }

  /// A cheap number by which most names differ; equal ones are compared.
  private static func digest(of text: String) -> UInt64 {
    let digest = text.utf8.withContiguousStorageIfAvailable { bytes in
      bytes.reduce(UInt64(truncatingIfNeeded: bytes.count)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
    return digest ?? 0
  }

  // MARK: Words, spaces and numbers

  @inline(__always)
  mutating func skipSpace() {
    if offset < input.count, input[offset] > 0x20 { return }
    skipSpaceThere()
  }

  private mutating func skipSpaceThere() {
    var place = offset
    while place < input.count {
      let byte = input[place]
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { break }
      place += 1
    }
    offset = place
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
