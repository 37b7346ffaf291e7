/// Time as a name can carry it.
enum TimeText {
  /// UTC in ISO 8601's basic form, to the second, as in `20261018T130027Z`, so that names sort as the times do.
  ///
  /// - Parameter milliseconds: Milliseconds since 1970-01-01 UTC.
  static func stamp(_ milliseconds: Int64) -> String {
    let (day, second) = split(milliseconds)
    let date = date(ofDay: day)
    return digits(date.year, 4) + digits(date.month, 2) + digits(date.day, 2) + "T" + digits(second / 3600, 2)
      + digits(second / 60 % 60, 2) + digits(second % 60, 2) + "Z"
  }

  private static func split(_ milliseconds: Int64) -> (day: Int64, second: Int64) {
    let whole = (milliseconds < 0 ? milliseconds - 999 : milliseconds) / 1000
    let second = (whole % 86_400 + 86_400) % 86_400
    return ((whole - second) / 86_400, second)
  }

  /// The proleptic Gregorian date of a day counted from 1970-01-01, by counting 400-year eras that begin on a 1 March.
  private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }

  private static func digits(_ value: Int64, _ count: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }
}
