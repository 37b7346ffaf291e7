/// A moment as PostgreSQL's `timestamptz` holds it: whole microseconds, here counted from the Unix epoch.
struct Timestamp: Hashable, Comparable {
  /// Microseconds from 1970-01-01T00:00:00Z.
  var microseconds: Int64

  /// Later than every other moment.
  static let infinity = Timestamp(microseconds: .max)
  /// Earlier than every other moment.
  static let minusInfinity = Timestamp(microseconds: .min)

  static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

  /// The form PostgREST sends: `2026-10-18T13:00:27.486123+00:00`, without trailing zeros of the fraction, and without
  /// a fraction when it is zero.
  ///
  /// The time of day and the offset are those of the request's time zone.
  var jsonText: String { text(separator: "T") { Self.zoneText($0, always: true) } }

  /// The form PostgreSQL itself prints: `2026-10-18 13:00:27.486123+00`.
  var postgresText: String { text(separator: " ") { Self.zoneText($0, always: false) } }

  /// An offset as `+05:30`, with seconds where it has some; without minutes as `+05` unless always wanted.
  private static func zoneText(_ offset: Int, always: Bool) -> String {
    guard offset != 0 else { return always ? "+00:00" : "+00" }
    let size = abs(offset)
    var text = (offset < 0 ? "-" : "+") + padded(size / 3_600, to: 2)
    if always || size % 3_600 != 0 { text += ":" + padded(size / 60 % 60, to: 2) }
    if size % 60 != 0 { text += ":" + padded(size % 60, to: 2) }
    return text
  }

  /// The form of Auth: RFC 3339 with `Z`, always with six digits of fraction.
  var authText: String {
    let (date, time, fraction) = parts
    return "\(date.text)T\(time).\(padded(fraction, to: 6))Z"
  }

  /// The day in UTC, counted from the epoch.
  var day: Int { Int((microseconds - floorModulo(microseconds, Self.microsecondsPerDay)) / Self.microsecondsPerDay) }

  static let microsecondsPerDay: Int64 = 86_400_000_000

  private func text(separator: String, zone: (Int) -> String) -> String {
    if self == .infinity { return "infinity" }
    if self == .minusInfinity { return "-infinity" }
    let offset = TimeZoneRules.current?.offset(at: Self.seconds(of: microseconds)) ?? 0
    let (local, isTooLate) = microseconds.addingReportingOverflow(Int64(offset) * 1_000_000)
    let (date, time, fraction) = Timestamp(microseconds: isTooLate ? microseconds : local).parts
    let zone = zone(isTooLate ? 0 : offset)
    var digits = fraction == 0 ? "" : "." + padded(fraction, to: 6)
    while digits.hasSuffix("0") { digits.removeLast() }
    let text = date.text
    guard text.hasSuffix(" BC") else { return "\(text)\(separator)\(time)\(digits)\(zone)" }
    return "\(text.dropLast(3))\(separator)\(time)\(digits)\(zone) BC"
  }

  /// The whole seconds at or before a moment.
  static func seconds(of microseconds: Int64) -> Int64 {
    (microseconds - floorModulo(microseconds, 1_000_000)) / 1_000_000
  }

  private var parts: (date: CivilDate, time: String, fraction: Int) {
    let inDay = Int(floorModulo(microseconds, Self.microsecondsPerDay))
    let seconds = inDay / 1_000_000
    let time = "\(padded(seconds / 3_600, to: 2)):\(padded(seconds / 60 % 60, to: 2)):\(padded(seconds % 60, to: 2))"
    return (CivilDate(daysSinceEpoch: day), time, inDay % 1_000_000)
  }
}

/// The remainder that is never negative.
private func floorModulo(_ value: Int64, _ divisor: Int64) -> Int64 {
  let rest = value % divisor
  return rest < 0 ? rest + divisor : rest
}

/// Why a text is no date or time; PostgreSQL gives the two cases different codes.
enum TimeFault: Error {
  /// Not of the form of a date or time (22007).
  case syntax
  /// Of the form, but there is no such day or hour (22008).
  case range
}

/// Reads dates and times as PostgreSQL's input does, as far as programs write them: ISO 8601 with `T` or a space, with
/// or without time, fraction and zone, and the words `now`, `today`, `epoch`, `infinity`.
struct TimeReader {
  private let bytes: [UInt8]
  private var place = 0
  /// The zone that the text names.
  private var named: TimeZoneRules?

  private init(_ text: String) {
    bytes = Array(trimmedBytes(text))
  }

  /// Reads a `timestamptz`; a text without a zone is in that of the request, which is UTC unless it says otherwise.
  static func timestamp(_ text: String, now: Timestamp) throws(TimeFault) -> Timestamp {
    var reader = TimeReader(text)
    if let special = reader.special(now: now) { return special }
    let (date, microseconds, given) = try reader.dateAndTime()
    let (days, isTooLate) = Int64(date.daysSinceEpoch).multipliedReportingOverflow(by: Timestamp.microsecondsPerDay)
    let (local, isTooLateInDay) = days.addingReportingOverflow(microseconds)
    guard !isTooLate, !isTooLateInDay else { throw .range }
    let offset =
      given ?? Int64((reader.named ?? TimeZoneRules.current)?.offset(atLocal: Timestamp.seconds(of: local)) ?? 0)
      * 1_000_000
    let (total, isBeyond) = local.subtractingReportingOverflow(offset)
    guard !isBeyond else { throw .range }
    return Timestamp(microseconds: total)
  }

  /// Reads a `date`, as days from the epoch; a time of day is read and dropped.
  static func day(_ text: String, now: Timestamp) throws(TimeFault) -> Int64 {
    var reader = TimeReader(text)
    if let special = reader.special(now: now) {
      if special == .infinity { return .max }
      if special == .minusInfinity { return .min }
      return Int64(special.day)
    }
    return Int64(try reader.dateAndTime().date.daysSinceEpoch)
  }

  private func special(now: Timestamp) -> Timestamp? {
    switch String(decoding: bytes, as: UTF8.self).lowercased() {
    case "now": now
    case "today": Self.midnight(of: now, daysLater: 0)
    case "tomorrow": Self.midnight(of: now, daysLater: 1)
    case "yesterday": Self.midnight(of: now, daysLater: -1)
    case "epoch": Timestamp(microseconds: 0)
    case "infinity", "+infinity": .infinity
    case "-infinity": .minusInfinity
    default: nil
    }
  }

  /// The beginning of a day in the request's time zone.
  private static func midnight(of now: Timestamp, daysLater: Int) -> Timestamp {
    let zone = TimeZoneRules.current
    let seconds = Timestamp.seconds(of: now.microseconds)
    let local = seconds + Int64(zone?.offset(at: seconds) ?? 0)
    let midnight = (local - (local % 86_400 + 86_400) % 86_400) + Int64(daysLater) * 86_400
    return Timestamp(microseconds: (midnight - Int64(zone?.offset(atLocal: midnight) ?? 0)) * 1_000_000)
  }

  private mutating func dateAndTime() throws(TimeFault) -> (date: CivilDate, microseconds: Int64, offset: Int64?) {
    let year = try number(digits: 4...6)
    try expect("-")
    let month = try number(digits: 1...2)
    try expect("-")
    let day = try number(digits: 1...2)
    var microseconds: Int64 = 0
    var offset: Int64?
    if let next = peek, next == UInt8(ascii: "T") || next == UInt8(ascii: "t") || next == UInt8(ascii: " ") {
      place += 1
      while peek == UInt8(ascii: " ") { place += 1 }
      microseconds = try timeOfDay()
      offset = try zone()
    } else if place < bytes.count {
      offset = try zone()
    }
    guard place == bytes.count else { throw .syntax }
    guard year >= 1, year <= 294_276, let date = CivilDate(year: year, month: month, day: day) else { throw .range }
    return (date, microseconds, offset)
  }

  private mutating func timeOfDay() throws(TimeFault) -> Int64 {
    let hour = try number(digits: 1...2)
    try expect(":")
    let minute = try number(digits: 2...2)
    var second = 0
    var fraction: Int64 = 0
    if peek == UInt8(ascii: ":") {
      place += 1
      second = try number(digits: 2...2)
      if peek == UInt8(ascii: ".") || peek == UInt8(ascii: ",") {
        place += 1
        fraction = try microsecondsOfFraction()
      }
    }
    // PostgreSQL takes 24:00:00 and a leap second, and carries them over.
    let isLast = hour == 24 && minute == 0 && second == 0 && fraction == 0
    guard hour <= 23 || isLast, minute <= 59, second <= 60 else { throw .range }
    return (Int64(hour) * 3_600 + Int64(minute) * 60 + Int64(second)) * 1_000_000 + fraction
  }

  /// Digits after the point, rounded to microseconds as PostgreSQL rounds them.
  private mutating func microsecondsOfFraction() throws(TimeFault) -> Int64 {
    let start = place
    var value: Int64 = 0
    while let byte = peek, isDigit(byte) {
      if place - start < 6 { value = value * 10 + Int64(byte - UInt8(ascii: "0")) }
      place += 1
    }
    let count = place - start
    guard count > 0 || peek != UInt8(ascii: ".") else { throw .syntax }
    for _ in 0..<max(0, 6 - count) { value *= 10 }
    let next = start + 6
    return count > 6 && bytes[next] >= UInt8(ascii: "5") ? value + 1 : value
  }

  /// Reads `Z`, `+02`, `+0200`, `+02:00` or `-02:00:00`, also after blanks, as microseconds; `nil` for nothing at all.
  private mutating func zone() throws(TimeFault) -> Int64? {
    while peek == UInt8(ascii: " ") { place += 1 }
    guard let sign = peek else { return nil }
    let rest = String(decoding: bytes[place...], as: UTF8.self).lowercased()
    if rest == "z" || rest == "utc" || rest == "gmt" {
      place = bytes.count
      return 0
    }
    if let zone = TimeZoneRules.named(String(decoding: bytes[place...], as: UTF8.self)) {
      place = bytes.count
      named = zone
      return nil
    }
    guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { throw .syntax }
    place += 1
    let hours = try number(digits: 1...2)
    var minutes = 0
    var seconds = 0
    if peek == UInt8(ascii: ":") {
      place += 1
      minutes = try number(digits: 2...2)
      if peek == UInt8(ascii: ":") {
        place += 1
        seconds = try number(digits: 2...2)
      }
    } else if let byte = peek, isDigit(byte) {
      minutes = try number(digits: 2...2)
    }
    guard hours <= 15, minutes <= 59, seconds <= 59 else { throw .range }
    let offset = Int64(hours * 3_600 + minutes * 60 + seconds) * 1_000_000
    return sign == UInt8(ascii: "-") ? -offset : offset
  }

  private var peek: UInt8? { place < bytes.count ? bytes[place] : nil }

  private mutating func expect(_ character: Unicode.Scalar) throws(TimeFault) {
    guard peek == UInt8(ascii: character) else { throw .syntax }
    place += 1
  }

  private mutating func number(digits: ClosedRange<Int>) throws(TimeFault) -> Int {
    var value = 0
    var count = 0
    while count < digits.upperBound, let byte = peek, isDigit(byte) {
      value = value * 10 + Int(byte - UInt8(ascii: "0"))
      count += 1
      place += 1
    }
    guard count >= digits.lowerBound else { throw .syntax }
    return value
  }
}

/// Whether an ASCII byte is a digit.
func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
