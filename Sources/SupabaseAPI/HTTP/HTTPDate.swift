/// Reads the date form of HTTP headers (RFC 9110, section 5.6.7).
enum HTTPDate {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Unix seconds of a text like `Sun, 06 Nov 1994 08:49:37 GMT`, or nil where it is anything else.
  ///
  /// The two obsolete forms that the standard still lists are not read: no server in reach sends them.
  static func seconds(_ text: String) -> Int64? {
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[0].hasSuffix(","), parts[5] == "GMT",
      let day = ASCII.number(parts[1]), let monthIndex = months.firstIndex(of: String(parts[2])),
      let year = ASCII.number(parts[3]), (1970...9999).contains(year)
    else { return nil }
    let month = Int64(monthIndex) + 1
    let clock = parts[4].split(separator: ":", omittingEmptySubsequences: false).compactMap { ASCII.number($0) }
    guard (1...31).contains(day), clock.count == 3, clock[0] < 24, clock[1] < 60, clock[2] <= 60 else { return nil }
    return days(year: year, month: month, day: day) * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2]
  }

  /// Days from 1970-01-01 in the Gregorian calendar, with years that begin in March so that a leap day comes last.
  private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let marchYear = month <= 2 ? year - 1 : year
    let marchMonth = (month + 9) % 12
    let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
    return marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear - 719_468
  }
}
