/// Base64 with padding (RFC 4648, section 4), as fields of HTTP carry bytes.
enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// The text of `bytes`.
  static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = (0..<3).reduce(UInt32(0)) { sum, step in
        sum << 8 | (start + step < bytes.count ? UInt32(bytes[start + step]) : 0)
      }
      for place in 0..<4 {
        let isThere = start + place <= bytes.count
        text.append(isThere ? alphabet[Int(group >> UInt32(18 - 6 * place) & 63)] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
