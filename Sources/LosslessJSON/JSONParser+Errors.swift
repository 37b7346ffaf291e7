/// The sentences of the parser: what was found, and what was expected in its place.
extension JSONParser {
  func failure(_ kind: JSONError.Kind, _ message: String, at offset: Int) -> JSONError {
    JSONError(kind, message, at: offset, in: input)
  }

  static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"):
      true
    default: false
    }
  }

  /// Names the encoding of a text that is plainly not UTF-8, or returns nil.
  var otherEncoding: String? {
    guard input.count >= 2 else { return nil }
    switch (input[0], input[1]) {
    case (0xFF, 0xFE), (0xFE, 0xFF): return "UTF-16"
    case (0x00, 0x00) where input.count >= 4 && input[2] == 0xFE: return "UTF-32"
    case (0x00, 0x01...), (0x01..., 0x00): return "UTF-16"
    default: return nil
    }
  }

  /// The word (letters, digits, sign) at a place, as far as it is worth showing.
  private func word(at start: Int) -> String {
    var end = start
    while end < input.count, end - start < 40, JSONParser.isWordByte(input[end]) || "+-.".utf8.contains(input[end]) {
      end += 1
    }
    return String(decoding: UnsafeBufferPointer(rebasing: input[start..<end]), as: UTF8.self)
  }

  /// Names what stands at a place.
  private func found(at place: Int) -> String {
    guard place < input.count else { return "the end of the text" }
    let byte = input[place]
    switch byte {
    case 0x00..<0x20, 0x7F:
      return "the control character U+" + JSONParser.fourDigits(UInt32(byte))
    case 0x80...:
      guard (try? multibyteLength(at: place)) != nil else { return JSONParser.byteName(byte) }
      let end = min(place + 4, input.count)
      let scalars = String(decoding: UnsafeBufferPointer(rebasing: input[place..<end]), as: UTF8.self).unicodeScalars
      guard let scalar = scalars.first else { return JSONParser.byteName(byte) }
      if scalar.properties.isWhitespace || JSONError.printable(scalar) != scalar {
        return "the character U+" + JSONParser.fourDigits(scalar.value)
      }
      return "'\(scalar)'"
    case UInt8(ascii: "\""):
      return "a string"
    default:
      if JSONParser.isWordByte(byte) { return "'\(word(at: place))'" }
      return "'\(Unicode.Scalar(byte))'"
    }
  }

  private static func fourDigits(_ value: UInt32) -> String {
    let digits = String(value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }

  private static func byteName(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16, uppercase: true)
    return "the byte 0x" + (digits.count < 2 ? "0" : "") + digits + ", which is not UTF-8"
  }

  /// A mistake that people make at any place, or nil where this is not one.
  private func commonMistake() -> JSONError? {
    guard offset < input.count else { return nil }
    switch input[offset] {
    case UInt8(ascii: "#"):
      return failure(.comment, "a comment; JSON has none", at: offset)
    case UInt8(ascii: "/")
    where offset + 1 < input.count
      && (input[offset + 1] == UInt8(ascii: "/") || input[offset + 1] == UInt8(ascii: "*")):
      return failure(.comment, "a comment; JSON has none", at: offset)
    case 0x80... where (try? multibyteLength(at: offset)) == nil:
      return invalidUTF8(at: offset)
    default:
      return nil
    }
  }

  /// Whether a quotation mark that is not JSON's stands at the place.
  private var isForeignQuote: Bool {
    guard offset < input.count else { return false }
    if input[offset] == UInt8(ascii: "'") || input[offset] == UInt8(ascii: "`") { return true }
    return ["'“'", "'”'", "'„'", "'‘'", "'’'", "'«'"].contains(found(at: offset))
  }

  func expectedValue() -> JSONError {
    if let mistake = commonMistake() { return mistake }
    guard offset < input.count else {
      return failure(.unexpectedEnd, "the text ends where a value was expected", at: offset)
    }
    if isForeignQuote {
      return failure(.unexpected, "found \(found(at: offset)); strings are written in double quotes (\")", at: offset)
    }
    let word = word(at: offset)
    let bare = word.drop { $0 == "+" || $0 == "-" }.lowercased()
    if ["nan", "infinity", "inf"].contains(bare) {
      return failure(.notFinite, "'\(word)' is not a JSON number; expected a finite number or null", at: offset)
    }
    if let first = word.utf8.first, first == UInt8(ascii: "+") || first == UInt8(ascii: ".") {
      return failure(.invalidNumber, "a number does not begin with '\(Unicode.Scalar(first))'", at: offset)
    }
    let meant = ["true": "true", "false": "false", "null": "null", "none": "null", "nil": "null", "undefined": "null"]
    if let meant = meant[bare] {
      return failure(.unexpected, "found '\(word)'; expected \(meant)", at: offset)
    }
    if !word.isEmpty {
      return failure(
        .unexpected, "found '\(word)'; expected a value (a string is written in double quotes)", at: offset)
    }
    return failure(.unexpected, "found \(found(at: offset)); expected a value", at: offset)
  }

  func expectedName() -> JSONError {
    if let mistake = commonMistake() { return mistake }
    guard offset < input.count else {
      return failure(.unexpectedEnd, "the text ends within an object; expected a member's name or '}'", at: offset)
    }
    return failure(
      .unexpected, "found \(found(at: offset)); expected a member's name in double quotes (\")", at: offset)
  }

  func expectedColon(after name: String) -> JSONError {
    if let mistake = commonMistake() { return mistake }
    let message = "\(found(at: offset)) behind the name \(JSONError.quoted(name)); expected ':'"
    return offset < input.count
      ? failure(.unexpected, "found " + message, at: offset) : failure(.unexpectedEnd, "found " + message, at: offset)
  }

  func expectedCommaOrClose(_ isObject: Bool, openedAt start: Int) -> JSONError {
    if let mistake = commonMistake() { return mistake }
    let close = isObject ? "'}'" : "']'"
    guard offset < input.count else {
      let kind = isObject ? "object" : "array"
      let line = failure(.unexpectedEnd, "", at: start).position.line
      return failure(
        .unexpectedEnd, "the text ends within the \(kind) that begins in line \(line); expected ',' or \(close)",
        at: offset)
    }
    return failure(.unexpected, "found \(found(at: offset)); expected ',' or \(close)", at: offset)
  }

  func trailingComma(at comma: Int, _ isObject: Bool) -> JSONError {
    failure(.trailingComma, "a comma before '\(isObject ? "}" : "]")'; expected nothing behind the last one", at: comma)
  }

  func trailingText() -> JSONError {
    commonMistake()
      ?? failure(.trailingText, "found \(found(at: offset)) behind the value; expected the end of the text", at: offset)
  }

  func duplicate(_ name: String, at start: Int, firstAt first: Int?) -> JSONError {
    let line = first.map { failure(.unexpected, "", at: $0).position.line }
    let place = line.map { " (first in line \($0))" } ?? ""
    return failure(
      .duplicateName(name), "the name \(JSONError.quoted(name)) stands in this object twice\(place)", at: start)
  }

  func unterminated(from quote: Int) -> JSONError {
    let line = failure(.unexpectedEnd, "", at: quote).position.line
    return failure(
      .unexpectedEnd, "the text ends within the string that begins in line \(line); expected '\"'", at: input.count)
  }

  func controlCharacter(_ byte: UInt8, from quote: Int) -> JSONError {
    switch byte {
    case 0x0A, 0x0D:
      failure(.controlCharacter, "the line ends within a string; expected '\"', or \\n for a new line", at: offset)
    case 0x09:
      failure(.controlCharacter, "a tab within a string; expected \\t", at: offset)
    default:
      failure(
        .controlCharacter,
        "\(found(at: offset)) within a string; expected \\u" + JSONParser.fourDigits(UInt32(byte)), at: offset)
    }
  }

  func invalidUTF8(at place: Int) -> JSONError {
    failure(.invalidUTF8, "found \(JSONParser.byteName(input[place])); save the text as UTF-8", at: place)
  }

  func invalidEscape(at backslash: Int) -> JSONError {
    if backslash + 1 < input.count, input[backslash + 1] == UInt8(ascii: "u") {
      return failure(.invalidEscape, "\\u without four hexadecimal digits behind it", at: backslash)
    }
    let letter = backslash + 1 < input.count ? found(at: backslash + 1) : "nothing"
    return failure(
      .invalidEscape,
      "a backslash before \(letter); expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u, or \\\\ for a backslash",
      at: backslash)
  }

  func invalidNumber(from start: Int, _ reason: NumberScan.Failure? = nil) -> JSONError {
    let word = word(at: start)
    guard let reason else {
      return failure(.invalidNumber, "'\(word)' is not a number; text is written in double quotes", at: start)
    }
    switch reason.reason {
    case .noDigitAfterMinus:
      if ["-nan", "-infinity", "-inf"].contains(word.lowercased()) {
        return failure(.notFinite, "'\(word)' is not a JSON number; expected a finite number or null", at: start)
      }
      return failure(.invalidNumber, "'\(word)' is not a number; expected a digit behind '-'", at: start)
    case .leadingZero:
      return failure(.invalidNumber, "'\(word)' has a leading zero; numbers have none", at: start)
    case .noDigitAfterPoint:
      return failure(.invalidNumber, "'\(word)' is not a number; expected a digit behind '.'", at: start)
    case .noDigitInExponent:
      return failure(.invalidNumber, "'\(word)' is not a number; expected a digit in the exponent", at: start)
    }
  }
}
