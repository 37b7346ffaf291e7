/// The few questions about ASCII bytes that the wire formats ask.
enum ASCII {
  static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

  static func isAlphanumeric(_ byte: UInt8) -> Bool { isDigit(byte) || isLetter(byte) }

  static func lowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }

  /// Whether a byte may stand in a header name or a method (RFC 9110, section 5.6.2).
  static func isToken(_ byte: UInt8) -> Bool {
    isAlphanumeric(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
  }

  /// Whether a byte needs no escape anywhere in a URL (RFC 3986, section 2.3).
  static func isUnreserved(_ byte: UInt8) -> Bool {
    isAlphanumeric(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
      || byte == UInt8(ascii: "~")
  }

  /// The text without spaces and tabs at its ends.
  static func trimmed(_ text: some StringProtocol) -> String {
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D || $0 == 0x0A }
    let bytes = Array(text.utf8).drop(while: isBlank)
    guard let last = bytes.lastIndex(where: { !isBlank($0) }) else { return "" }
    return String(decoding: bytes[...last], as: UTF8.self)
  }

  /// A whole number without sign, or nil where the text is anything else or too large.
  static func number(_ text: some StringProtocol) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy(isDigit) else { return nil }
    return Int64(text)
  }
}
