/// How text is written into a URL.
enum PercentEncoding {
  /// Text inside a query, as the Swift client writes it: everything but unreserved characters, `?` and `/` is encoded,
  /// so a blank is `%20` and a plus is `%2B` (a plus left bare arrives as a blank).
  static func query(_ text: String) -> String {
    encoded(text) { ASCII.isUnreserved($0) || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "/") }
  }

  /// One segment of a path: everything but unreserved characters is encoded.
  static func segment(_ text: String) -> String {
    encoded(text, keeping: ASCII.isUnreserved)
  }

  private static func encoded(_ text: String, keeping isKept: (UInt8) -> Bool) -> String {
    guard !text.utf8.allSatisfy(isKept) else { return text }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if isKept(byte) {
        bytes.append(byte)
      } else {
        bytes.append(UInt8(ascii: "%"))
        bytes.append(digits[Int(byte >> 4)])
        bytes.append(digits[Int(byte & 0x0F)])
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static let digits = Array("0123456789ABCDEF".utf8)
}
