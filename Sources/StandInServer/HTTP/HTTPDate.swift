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
}
