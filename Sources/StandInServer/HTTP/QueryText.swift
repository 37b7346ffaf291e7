/// The text after a URL's question mark.
enum QueryText {
  /// Splits at `&` and decodes names and values: percent sequences, and a plus as a space.
  ///
  /// A sequence that is none stays as it is. A parameter without an equals sign has no value.
  static func parameters(_ query: String) -> [(name: String, value: String?)] {
    query.utf8.split { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: ";") }.map { part in
      guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return (decoded(part), nil) }
      return (decoded(part[..<equals]), decoded(part[part.index(after: equals)...]))
    }
  }

  /// Whether the decoded bytes are UTF-8.
  static func isUTF8(_ query: String) -> Bool {
    String(validating: decodedBytes(query.utf8, plus: true), as: UTF8.self) != nil
  }

  /// A path segment: percent sequences only.
  static func decodedPath(_ path: some StringProtocol) -> String {
    String(decoding: decodedBytes(path.utf8, plus: false), as: UTF8.self)
  }

  /// A value with everything escaped that has a meaning in a query.
  static func encoded(_ value: String) -> String {
    var text: [UInt8] = []
    let digits = Array("0123456789ABCDEF".utf8)
    for byte in value.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        text.append(byte)
      default: text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func decoded(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: decodedBytes(bytes, plus: true), as: UTF8.self)
  }

  private static func decodedBytes(_ bytes: some Sequence<UInt8>, plus: Bool) -> [UInt8] {
    let source = Array(bytes)
    var output: [UInt8] = []
    output.reserveCapacity(source.count)
    var index = 0
    while index < source.count {
      let byte = source[index]
      if byte == UInt8(ascii: "%"), index + 2 < source.count, let high = hexadecimalValue(source[index + 1]),
        let low = hexadecimalValue(source[index + 2])
      {
        output.append(high << 4 | low)
        index += 3
      } else {
        output.append(plus && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
        index += 1
      }
    }
    return output
  }

  private static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
