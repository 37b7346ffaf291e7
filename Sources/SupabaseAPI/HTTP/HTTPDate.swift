/// Reads the date form of HTTP headers (RFC 9110, section 5.6.7).
enum HTTPDate {
  private static let months = Array("JanFebMarAprMayJunJulAugSepOctNovDec".utf8)

  /// Unix seconds of a text like `Sun, 06 Nov 1994 08:49:37 GMT`, or nil where it is anything else.
  ///
  /// The two obsolete forms that the standard still lists are not read: no server in reach sends them.
  static func seconds(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count == 29, bytes[3...4].elementsEqual(", ".utf8), bytes[25...].elementsEqual(" GMT".utf8),
      bytes[7] == blank, bytes[11] == blank, bytes[16] == blank, bytes[19] == colon, bytes[22] == colon,
      let day = number(bytes[5..<7]), let year = number(bytes[12..<16]), let hour = number(bytes[17..<19]),
      let minute = number(bytes[20..<22]), let second = number(bytes[23..<25]),
      let month = (1...12).first(where: { months[($0 * 3 - 3)..<($0 * 3)] == bytes[8..<11] }),
      year >= 1970, (1...31).contains(day), hour < 24, minute < 60, second <= 60
    else { return nil }
    return days(year: year, month: Int64(month), day: day) * 86_400 + hour * 3_600 + minute * 60 + second
  }

  private static let blank = UInt8(ascii: " ")
  private static let colon = UInt8(ascii: ":")

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    guard digits.allSatisfy(ASCII.isDigit) else { return nil }
    return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
  }

  /// Days from 1970-01-01 in the Gregorian calendar, with years that begin in March so that a leap day comes last.
  private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let marchYear = month <= 2 ? year - 1 : year
    let marchMonth = (month + 9) % 12
    let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
    return marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear - 719_468
  }
}
