extension JSONParser {
  /// Reads a string from its opening quote to behind its closing quote.
  mutating func string() throws(JSONError) -> String {
    let quote = offset
    let start = offset + 1
    offset = start
    try skipPlain(from: quote)
    if offset < input.count, input[offset] == UInt8(ascii: "\"") {
      let text = String(decoding: UnsafeBufferPointer(rebasing: input[start..<offset]), as: UTF8.self)
      offset += 1
      return text
    }
    return try escapedString(from: quote)
  }

  /// Goes on with a string whose first escape has been reached.
  private mutating func escapedString(from quote: Int) throws(JSONError) -> String {
    scratch.removeAll(keepingCapacity: true)
    scratch.append(contentsOf: UnsafeBufferPointer(rebasing: input[(quote + 1)..<offset]))
    while true {
      guard offset < input.count else { throw unterminated(from: quote) }
      if input[offset] == UInt8(ascii: "\"") {
        offset += 1
        return String(decoding: scratch, as: UTF8.self)
      }
      try escape(in: quote)
      let start = offset
      try skipPlain(from: quote)
      scratch.append(contentsOf: UnsafeBufferPointer(rebasing: input[start..<offset]))
    }
  }

  /// Moves to the next quote, backslash or end, past everything that stands for itself.
  private mutating func skipPlain(from quote: Int) throws(JSONError) {
    while true {
      skipPlainWords()
      guard offset < input.count else { throw unterminated(from: quote) }
      let byte = input[offset]
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        return
      case 0x00..<0x20:
        throw controlCharacter(byte, from: quote)
      case 0x80...:
        offset += try multibyteLength(at: offset)
      default:
        offset += 1
      }
    }
  }

  /// Moves over ASCII that stands for itself, eight bytes at a time, up to a byte that needs a look.
  private mutating func skipPlainWords() {
    let raw = UnsafeRawBufferPointer(input)
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    var place = offset
    while place + 8 <= raw.count {
      let word = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: place, as: UInt64.self))
      let quotes = word ^ (ones &* 0x22)
      let slashes = word ^ (ones &* 0x5C)
      // A borrow can only mark bytes above a marked one, so the lowest mark is always true.
      let marks =
        ((quotes &- ones) & ~quotes | (slashes &- ones) & ~slashes | (word &- ones &* 0x20) & ~word | word) & highs
      if marks != 0 {
        place += marks.trailingZeroBitCount / 8
        break
      }
      place += 8
    }
    offset = place
  }

  /// Returns how many bytes the character at a place has, checked as UTF-8 (Unicode, table 3-7).
  func multibyteLength(at start: Int) throws(JSONError) -> Int {
    let lead = input[start]
    let length: Int
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch lead {
    case 0xC2...0xDF: length = 2
    case 0xE0:
      length = 3
      second = 0xA0...0xBF
    case 0xED:
      length = 3
      second = 0x80...0x9F
    case 0xE1...0xEF: length = 3
    case 0xF0:
      length = 4
      second = 0x90...0xBF
    case 0xF1...0xF3: length = 4
    case 0xF4:
      length = 4
      second = 0x80...0x8F
    default: throw invalidUTF8(at: start)
    }
    guard start + length <= input.count else { throw invalidUTF8(at: start) }
    if lead == 0xED, input[start + 1] >= 0xA0 {
      throw failure(
        .loneSurrogate, "half of a surrogate pair, which is not UTF-8; expected a whole character", at: start)
    }
    guard second ~= input[start + 1] else { throw invalidUTF8(at: start) }
    for index in 2..<max(length, 2) where input[start + index] & 0xC0 != 0x80 { throw invalidUTF8(at: start) }
    return length
  }

  /// Reads an escape and puts what it stands for into the scratch.
  private mutating func escape(in quote: Int) throws(JSONError) {
    let start = offset
    guard offset + 1 < input.count else { throw unterminated(from: quote) }
    let letter = input[offset + 1]
    offset += 2
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): scratch.append(letter)
    case UInt8(ascii: "n"): scratch.append(0x0A)
    case UInt8(ascii: "t"): scratch.append(0x09)
    case UInt8(ascii: "r"): scratch.append(0x0D)
    case UInt8(ascii: "b"): scratch.append(0x08)
    case UInt8(ascii: "f"): scratch.append(0x0C)
    case UInt8(ascii: "u"): try unicodeEscape(from: start)
    default: throw invalidEscape(at: start)
    }
  }

  private mutating func unicodeEscape(from start: Int) throws(JSONError) {
    guard var value = fourDigits(at: offset) else { throw invalidEscape(at: start) }
    offset += 4
    if 0xD800...0xDFFF ~= value {
      guard value < 0xDC00, offset + 1 < input.count, input[offset] == UInt8(ascii: "\\"),
        input[offset + 1] == UInt8(ascii: "u"), let low = fourDigits(at: offset + 2), 0xDC00...0xDFFF ~= low
      else {
        let digits = String(decoding: UnsafeBufferPointer(rebasing: input[start..<(start + 6)]), as: UTF8.self)
        throw failure(
          .loneSurrogate, "\(digits) is half of a surrogate pair; expected both halves or the character itself",
          at: start)
      }
      value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
      offset += 6
    }
    guard let scalar = Unicode.Scalar(value) else { throw invalidEscape(at: start) }
    if let encoded = UTF8.encode(scalar) { scratch.append(contentsOf: encoded) }
  }

  /// Reads four hexadecimal digits, or returns nil where there are none.
  private func fourDigits(at start: Int) -> UInt32? {
    guard start + 4 <= input.count else { return nil }
    var value: UInt32 = 0
    for index in start..<(start + 4) {
      let digit: UInt8
      switch input[index] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = input[index] - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = input[index] - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = input[index] - UInt8(ascii: "A") + 10
      default: return nil
      }
      value = value << 4 | UInt32(digit)
    }
    return value
  }
}
