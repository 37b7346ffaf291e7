/// A server's timestamp, understood only as far as a pull needs it: to look a little before one, and to see that one lies
/// in the future.
///
/// Versions are never understood at all: they are compared as text.
struct ServerTimestamp {
  /// Microseconds since 1970-01-01T00:00:00Z.
  let microseconds: Int64

  init(microseconds: Int64) { self.microseconds = microseconds }

  /// Which texts are read.
  enum Form {
    /// A time without an offset is read as UTC; what follows is not looked at.
    case any
    /// The whole text is a time with its offset.
    case zoned
  }

  /// Reads PostgreSQL's JSON form, `2026-10-18T13:00:27.486123+00:00` (RFC 3339 with one to six digits of fraction or
  /// none, an offset of hours, or hours and minutes, or `Z`).
  ///
  /// `nil` for anything else.
  init?(_ text: String, _ form: Form = .any) {
    let bytes = Array(text.utf8)
    func number(_ range: Range<Int>) -> Int64? {
      guard range.upperBound <= bytes.count, bytes[range].allSatisfy({ $0 >= 48 && $0 <= 57 }) else { return nil }
      return bytes[range].reduce(0) { $0 * 10 + Int64($1 - 48) }
    }
    guard bytes.count >= 19, bytes[4] == 45, bytes[7] == 45, bytes[10] == 84 || bytes[10] == 32, bytes[13] == 58,
      bytes[16] == 58, let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
      let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19)
    else { return nil }
    var index = 19
    var fraction: Int64 = 0
    if index < bytes.count, bytes[index] == 46 {
      index += 1
      var scale: Int64 = 100_000
      while index < bytes.count, bytes[index] >= 48, bytes[index] <= 57 {
        fraction += Int64(bytes[index] - 48) * scale
        scale /= 10
        index += 1
      }
    }
    var offsetMinutes: Int64 = 0
    let rest = bytes.count - index
    if index < bytes.count, bytes[index] == 43 || bytes[index] == 45 {
      guard let hours = number(index + 1..<index + 3) else { return nil }
      let minutes = index + 6 <= bytes.count ? number(index + 4..<index + 6) ?? 0 : 0
      offsetMinutes = (hours * 60 + minutes) * (bytes[index] == 45 ? -1 : 1)
      if form == .zoned, rest != 3, rest != 6 || bytes[index + 3] != 58 { return nil }
    } else if form == .zoned {
      guard rest == 1, bytes[index] == 90 || bytes[index] == 122 else { return nil }
    }
    let seconds = Self.days(year, month, day) * 86_400 + hour * 3_600 + (minute - offsetMinutes) * 60 + second
    microseconds = seconds * 1_000_000 + fraction
  }

  /// The time that much earlier.
  func minus(_ duration: Duration) -> ServerTimestamp {
    ServerTimestamp(microseconds: microseconds - duration.nanoseconds / 1_000)
  }

  /// The time in UTC as RFC 3339 with whole seconds, rounded down.
  var text: String { WallTime.text(secondsSince1970: microseconds / 1_000_000) }

  /// Days from the Unix epoch to a date of the proleptic Gregorian calendar, by counting from the first of March.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let y = month <= 2 ? year - 1 : year
    let era = (y >= 0 ? y : y - 399) / 400
    let yearOfEra = y - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
