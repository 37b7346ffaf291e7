/// The text forms of days and times that PostgreSQL reads and writes.
///
/// Only the shape is looked at; nothing is converted.
enum DateText {
  /// Whether a text is a day: `2026-10-18`, also with more digits in the year, ` BC` behind it, or infinite.
  static func isDate(_ text: String) -> Bool {
    if isInfinite(text) { return true }
    var reader = Reader(text)
    return reader.day() && (reader.isAtEnd || reader.ending(" BC"))
  }

  /// Whether a text is a day with a time of the day: seconds, their fraction and the zone may be absent.
  static func isTimestamp(_ text: String) -> Bool {
    if isInfinite(text) { return true }
    var reader = Reader(text)
    guard reader.day(), reader.one(of: "T t"), reader.number(digits: 2...2, 0...24), reader.one(of: ":"),
      reader.number(digits: 2...2, 0...59)
    else { return false }
    if reader.one(of: ":") {
      guard reader.number(digits: 2...2, 0...60) else { return false }
      if reader.one(of: "."), !reader.number(digits: 1...9, 0...999_999_999) { return false }
    }
    return reader.zone() && (reader.isAtEnd || reader.ending(" BC"))
  }

  private static func isInfinite(_ text: String) -> Bool { text == "infinity" || text == "-infinity" }

  private struct Reader {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = Substring(text).utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func one(of characters: String) -> Bool {
      guard let byte = rest.first, characters.utf8.contains(byte) else { return false }
      rest.removeFirst()
      return true
    }

    mutating func number(digits: ClosedRange<Int>, _ values: ClosedRange<Int>) -> Bool {
      read(digits: digits).map { values.contains($0) } ?? false
    }

    mutating func ending(_ text: String) -> Bool { rest.elementsEqual(text.utf8) }

    mutating func day() -> Bool {
      guard let year = read(digits: 4...6), one(of: "-"), let month = read(digits: 2...2), (1...12).contains(month),
        one(of: "-"), let day = read(digits: 2...2)
      else { return false }
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
      return (1...days[month - 1]).contains(day)
    }

    /// A zone, or nothing: `Z`, `+02`, `+0200`, `+02:00`, `+02:00:30`.
    mutating func zone() -> Bool {
      if one(of: "Zz") || !one(of: "+-") { return true }
      guard number(digits: 2...2, 0...15) else { return false }
      if one(of: ":") {
        guard number(digits: 2...2, 0...59) else { return false }
        return one(of: ":") ? number(digits: 2...2, 0...59) : true
      }
      guard let next = rest.first, (0x30...0x39).contains(next) else { return true }
      return number(digits: 2...2, 0...59)
    }

    private mutating func read(digits: ClosedRange<Int>) -> Int? {
      var value = 0
      var count = 0
      while count < digits.upperBound, let byte = rest.first, (0x30...0x39).contains(byte) {
        value = value * 10 + Int(byte - 0x30)
        count += 1
        rest.removeFirst()
      }
      return digits.contains(count) ? value : nil
    }
  }
}
