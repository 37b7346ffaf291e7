/// Base64 with the URL-safe alphabet and without padding, as JSON Web Tokens use it (RFC 7515, section 2).
enum Base64URL {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// The text of `bytes`.
  static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let left = bytes.count - index
      let group =
        UInt32(bytes[index]) << 16 | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
        | (left > 2 ? UInt32(bytes[index + 2]) : 0)
      text.append(alphabet[Int(group >> 18)])
      text.append(alphabet[Int(group >> 12 & 63)])
      if left > 1 { text.append(alphabet[Int(group >> 6 & 63)]) }
      if left > 2 { text.append(alphabet[Int(group & 63)]) }
      index += 3
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The bytes of `text`, or `nil` when it is not exactly such text.
  ///
  /// A stray bit is refused too, so that one token has one spelling.
  static func decode(_ text: some StringProtocol) -> [UInt8]? { decode(Array(text.utf8)[...]) }

  /// The bytes of a text that is there as bytes.
  static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * 3 / 4)
    var buffer: UInt32 = 0
    var bits = 0
    for byte in text {
      guard let value = value(of: byte) else { return nil }
      buffer = buffer << 6 | value
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
      }
    }
    guard bits < 6, buffer & ((1 << UInt32(bits)) - 1) == 0 else { return nil }
    return bytes
  }

  /// The bytes of a text in either alphabet, with or without padding.
  static func decodeAny(_ text: String) -> [UInt8]? {
    let bytes = text.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? 95 : $0 }
    let end = bytes.lastIndex { $0 != UInt8(ascii: "=") }.map { $0 + 1 } ?? 0
    return decode(bytes[..<end])
  }

  private static func value(of byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
