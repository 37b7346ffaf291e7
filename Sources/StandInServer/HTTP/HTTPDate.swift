/// Dates as HTTP writes them (RFC 9110, section 5.6.7).
enum HTTPDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// `Sun, 18 Oct 2026 13:00:27 GMT`.
  static func text(unixSeconds: Int64) -> String {
    let day = Int(unixSeconds >= 0 ? unixSeconds / 86_400 : (unixSeconds - 86_399) / 86_400)
    let inDay = Int(unixSeconds) - day * 86_400
    let date = CivilDate(daysSinceEpoch: day)
    let time = [inDay / 3_600, inDay / 60 % 60, inDay % 60].map { padded($0, to: 2) }.joined(separator: ":")
    let weekday = days[((day % 7) + 7) % 7]
    return "\(weekday), \(padded(date.day, to: 2)) \(months[date.month - 1]) \(padded(date.year, to: 4)) \(time) GMT"
  }

  /// The Unix time of such a date; `nil` for any other text, also for the two forms that nobody writes any more.
  static func unixSeconds(_ text: String) -> Int64? {
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[5] == "GMT", let day = Int(parts[1]), let year = Int(parts[3]),
      let month = months.firstIndex(of: String(parts[2])), let date = CivilDate(year: year, month: month + 1, day: day)
    else { return nil }
    let time = parts[4].split(separator: ":").compactMap { Int64($0) }
    guard time.count == 3, time.allSatisfy({ (0...60).contains($0) }) else { return nil }
    return Int64(date.daysSinceEpoch) * 86_400 + time[0] * 3_600 + time[1] * 60 + time[2]
  }
}
