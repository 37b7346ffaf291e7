import Glibc

/// When a photo was taken, as its camera's clock showed it.
public struct CaptureTime: Sendable, Hashable {
  /// Seconds since 1970 of a clock that shows this time in UTC.
  private let clock: Int
  /// The camera's distance from UTC in seconds, to the east positive; `nil` where it did not say, as older ones.
  public let offset: Int?

  /// Reads what EXIF says (2.32, DateTimeOriginal and OffsetTimeOriginal): `2026:10:18 13:00:27` and `+02:00`.
  ///
  /// - Returns: `nil` for a time that no calendar has, such as the zeros of a camera whose clock was never set.
  public init?(exif text: String, offset: String? = nil) {
    let bytes = Array(text.utf8.prefix(19))
    guard bytes.count == 19 else { return nil }
    func number(_ range: Range<Int>) -> Int32? { Int32(String(decoding: bytes[range], as: UTF8.self)) }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
      let minute = number(14..<16), let second = number(17..<19), year >= 1826
    else { return nil }
    var fields = tm()
    (fields.tm_year, fields.tm_mon, fields.tm_mday) = (year - 1900, month - 1, day)
    (fields.tm_hour, fields.tm_min, fields.tm_sec) = (hour, minute, second)
    clock = timegm(&fields)
    // timegm makes the 1st of March of a 29th of February that was none.
    guard (fields.tm_mon, fields.tm_mday, fields.tm_hour) == (month - 1, day, hour), fields.tm_min == minute else {
      return nil
    }
    self.offset = offset.flatMap(Self.seconds)
  }

  /// The moment, in seconds since 1970.
  ///
  /// - Parameter fallback: The distance from UTC in seconds that counts where the camera named none.
  public func secondsSince1970(otherwiseOffset fallback: Int) -> Int { clock - (offset ?? fallback) }

  private static func seconds(_ offset: String) -> Int? {
    let bytes = Array(offset.utf8.prefix(6))
    guard bytes.count == 6, let hours = Int(String(decoding: bytes[1..<3], as: UTF8.self)),
      let minutes = Int(String(decoding: bytes[4..<6], as: UTF8.self)), hours < 24, minutes < 60
    else { return nil }
    return (bytes[0] == UInt8(ascii: "-") ? -1 : 1) * (hours * 3600 + minutes * 60)
  }
}

extension ImageInfo {
  /// When it was taken, where it says so in a way that can be read.
  public var taken: CaptureTime? { takenAt.flatMap { CaptureTime(exif: $0, offset: takenAtOffset) } }
}
