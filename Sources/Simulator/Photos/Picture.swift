import Hashing

/// Pictures that exist once each: as small as their formats allow, and known by a number in a comment.
struct Picture: Sendable {
  let number: Int

  /// A whole picture: a GIF, or a JPEG that says when it was taken.
  var bytes: [UInt8] { number.isMultiple(of: 2) ? gif : jpeg }

  /// Whether bytes are those of a whole picture.
  static func isWhole(_ bytes: [UInt8]) -> Bool {
    bytes.starts(with: "GIF89a".utf8) && bytes.last == 0x3B || bytes.starts(with: [0xFF, 0xD8]) && bytes.last == 0xD9
  }

  /// The SHA-256 of bytes, in hexadecimal.
  static func sha256(_ bytes: [UInt8]) -> String {
    Crypto.sha256(bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  private var comment: [UInt8] { Array("picture \(number)".utf8) }

  /// One pixel (GIF89a, sections 18 to 27).
  private var gif: [UInt8] {
    Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF]
      + [0x21, 0xFE, UInt8(comment.count)] + comment + [0]
      + [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0] + [0x3B]
  }

  /// One grey block (ITU T.81, annex B): its tables have one code each, for "nothing more".
  private var jpeg: [UInt8] {
    let code: [UInt8] = [1] + Array(repeating: 0, count: 15) + [0]
    return [0xFF, 0xD8] + Self.segment(0xE1, exif) + Self.segment(0xFE, comment)
      + Self.segment(0xDB, [0] + Array(repeating: 1, count: 64))
      + Self.segment(0xC0, [8, 0, 1, 0, 1, 1, 1, 0x11, 0])
      + Self.segment(0xC4, [0x00] + code) + Self.segment(0xC4, [0x10] + code)
      + Self.segment(0xDA, [1, 1, 0, 0, 63, 0]) + [0x3F, 0xFF, 0xD9]
  }

  private static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
    let size = content.count + 2
    return [0xFF, marker, UInt8(size >> 8), UInt8(size & 0xFF)] + content
  }

  /// Two directories, of which the second has `DateTimeOriginal` (EXIF 2.3, section 4.6).
  private var exif: [UInt8] {
    func short(_ value: Int) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }
    func directory(_ tag: Int, type: Int, count: Int, value: Int) -> [UInt8] {
      short(1) + short(tag) + short(type) + short(0) + short(count) + short(0) + short(value) + short(0) + short(0)
    }
    let (minute, second) = (number / 60 % 60, number % 60)
    let taken = "2026:03:04 05:\(minute < 10 ? "0" : "")\(minute):\(second < 10 ? "0" : "")\(second)"
    return Array("Exif".utf8) + [0, 0] + Array("MM".utf8) + [0, 42, 0, 0, 0, 8]
      + directory(0x8769, type: 4, count: 1, value: 26) + directory(0x9003, type: 2, count: 20, value: 44)
      + Array(taken.utf8) + [0]
  }
}
