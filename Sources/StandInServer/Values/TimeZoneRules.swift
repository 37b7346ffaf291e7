import Glibc
import Synchronization

/// The offsets of one time zone, from the system's time zone database (RFC 8536).
struct TimeZoneRules: Sendable, Equatable {
  /// The name, as `America/New_York`.
  let name: String
  /// From when on an offset holds, in seconds from the Unix epoch, ascending.
  private let transitions: [(start: Int64, offset: Int)]
  /// What holds before the first of them.
  private let first: Int
  /// What holds after the last of them.
  private let rule: YearlyRule?

  /// The zone in which the times of the request that is being answered are read and written; `nil` is UTC.
  ///
  /// It is what `SET LOCAL TimeZone` is to a transaction of PostgreSQL.
  @TaskLocal static var current: TimeZoneRules?

  static func == (left: TimeZoneRules, right: TimeZoneRules) -> Bool { left.name == right.name }

  /// The zone of that name, or `nil` when the system has none.
  static func named(_ name: String) -> TimeZoneRules? {
    if let known = cache.withLock({ $0[name] }) { return known }
    let rules = TimeZoneRules(named: name)
    cache.withLock { cache in
      // Names come from clients: what is remembered has a bound.
      if cache.count < 1_000 { cache[name] = .some(rules) }
    }
    return rules
  }

  private static let cache = Mutex<[String: TimeZoneRules?]>([:])

  /// The seconds to add to UTC at a moment, in seconds from the Unix epoch.
  func offset(at seconds: Int64) -> Int {
    if let rule, seconds >= transitions.last?.start ?? .min { return rule.offset(at: seconds) }
    var lower = 0
    var upper = transitions.count
    while lower < upper {
      let middle = (lower + upper) / 2
      if transitions[middle].start <= seconds { lower = middle + 1 } else { upper = middle }
    }
    return lower == 0 ? first : transitions[lower - 1].offset
  }

  /// The seconds to add to UTC at a local time, of which some come twice and some never: the earlier offset counts.
  func offset(atLocal seconds: Int64) -> Int {
    let guess = offset(at: seconds - Int64(offset(at: seconds - 86_400)))
    let before = offset(at: seconds - Int64(guess) - 86_400)
    return offset(at: seconds - Int64(before)) == before ? before : guess
  }

  // MARK: Reading

  private init?(named name: String) {
    let isName =
      !name.isEmpty && name.utf8.count < 100
      && name.utf8.allSatisfy {
        isDigit($0) || (65...90).contains($0) || (97...122).contains($0) || "/_+-".utf8.contains($0)
      }
    guard isName, !name.hasPrefix("/"), !name.hasSuffix("/") else { return nil }
    guard let bytes = Self.read("/usr/share/zoneinfo/\(name)") else { return nil }
    self.init(name, bytes)
  }

  init?(_ name: String, _ bytes: [UInt8]) {
    var reader = Reader(bytes: bytes)
    // Of the two tables the second has room for all times.
    guard let small = reader.header(), small.version >= UInt8(ascii: "2") else { return nil }
    reader.place += small.bodyBytes(timeBytes: 4)
    guard let header = reader.header() else { return nil }
    var starts: [Int64] = []
    for _ in 0..<header.times { starts.append(reader.integer(8)) }
    var kinds: [Int] = []
    for _ in 0..<header.times { kinds.append(Int(reader.integer(1))) }
    var offsets: [Int] = []
    var firstStandard: Int?
    for _ in 0..<header.kinds {
      offsets.append(Int(Int32(truncatingIfNeeded: reader.integer(4))))
      if reader.integer(1) == 0, firstStandard == nil { firstStandard = offsets.last }
      _ = reader.integer(1)
    }
    guard !reader.isBroken, !offsets.isEmpty, kinds.allSatisfy(offsets.indices.contains) else { return nil }
    self.name = name
    transitions = zip(starts, kinds).map { ($0, offsets[$1]) }
    first = firstStandard ?? offsets[0]
    reader.place += header.restBytes(timeBytes: 8)
    // The rule stands between two ends of lines, the second of which is the file's.
    guard reader.place + 1 < bytes.count, bytes[reader.place] == 10, bytes.last == 10 else { return nil }
    let footer = bytes[reader.place...]
    rule = YearlyRule(String(decoding: footer.filter { $0 != 10 }, as: UTF8.self))
  }

  private struct Header {
    let version: UInt8
    let universal: Int
    let standard: Int
    let leaps: Int
    let times: Int
    let kinds: Int
    let characters: Int

    func restBytes(timeBytes: Int) -> Int { characters + leaps * (timeBytes + 4) + standard + universal }
    func bodyBytes(timeBytes: Int) -> Int { times * (timeBytes + 1) + kinds * 6 + restBytes(timeBytes: timeBytes) }
  }

  private struct Reader {
    let bytes: [UInt8]
    var place = 0
    var isBroken = false

    mutating func integer(_ count: Int) -> Int64 {
      guard place + count <= bytes.count else {
        isBroken = true
        return 0
      }
      defer { place += count }
      return bytes[place..<(place + count)].reduce(0) { $0 << 8 | Int64($1) }
    }

    mutating func header() -> Header? {
      guard bytes.dropFirst(place).starts(with: "TZif".utf8), bytes.count >= place + 44 else { return nil }
      let version = bytes[place + 4]
      place += 20
      var counts: [Int] = []
      for _ in 0..<6 { counts.append(Int(integer(4))) }
      guard counts.allSatisfy({ (0...100_000).contains($0) }) else { return nil }
      return Header(
        version: version, universal: counts[0], standard: counts[1], leaps: counts[2], times: counts[3],
        kinds: counts[4], characters: counts[5])
    }
  }

  private static func read(_ path: String) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 17)
    let count = Glibc.read(file, &bytes, bytes.count)
    guard count > 44 else { return nil }
    return Array(bytes[..<count])
  }
}

/// What a zone does every year, as in `EST5EDT,M3.2.0,M11.1.0`: POSIX's rule at the end of a zone's file.
struct YearlyRule: Sendable, Equatable {
  private struct Change: Equatable {
    /// `M3.2.0`: month, week (5 is the last), day of the week; or a day of the year.
    enum Day: Equatable {
      case week(month: Int, week: Int, day: Int)
      /// `J60`, without 29 February; `60` counts from 0 and with it.
      case year(Int, skipsLeapDay: Bool)
    }
    let day: Day
    /// The local time in seconds.
    let time: Int
  }

  private let standard: Int
  private let summer: Int
  private let start: Change?
  private let end: Change?

  /// `nil` for a text that is no rule.
  init?(_ text: String) {
    var rest = text[...]
    guard Self.takeName(&rest), let offset = Self.takeTime(&rest) else { return nil }
    standard = -offset
    guard !rest.isEmpty else {
      (summer, start, end) = (standard, nil, nil)
      return
    }
    guard Self.takeName(&rest) else { return nil }
    summer = rest.first == "," ? standard + 3_600 : -(Self.takeTime(&rest) ?? 0)
    guard let start = Self.takeChange(&rest), let end = Self.takeChange(&rest), rest.isEmpty else { return nil }
    (self.start, self.end) = (start, end)
  }

  func offset(at seconds: Int64) -> Int {
    guard let start, let end else { return standard }
    let (local, overflow) = seconds.addingReportingOverflow(Int64(standard))
    guard !overflow else { return standard }
    let day = (local - (local % 86_400 + 86_400) % 86_400) / 86_400
    let year = CivilDate(daysSinceEpoch: Int(day)).year
    let summerStart = Self.moment(start, in: year) - Int64(standard)
    let summerEnd = Self.moment(end, in: year) - Int64(summer)
    // South of the equator summer goes over the turn of the year.
    let isSummer =
      summerStart < summerEnd
      ? seconds >= summerStart && seconds < summerEnd : seconds >= summerStart || seconds < summerEnd
    return isSummer ? summer : standard
  }

  /// A change's local time, in seconds from the epoch as if it were UTC.
  private static func moment(_ change: Change, in year: Int) -> Int64 {
    func days(_ month: Int, _ day: Int) -> Int {
      CivilDate(year: year, month: month, day: day)?.daysSinceEpoch ?? 0
    }
    let day: Int
    switch change.day {
    case .year(let number, let skipsLeapDay):
      let isLeap = CivilDate(year: year, month: 2, day: 29) != nil
      day = days(1, 1) + (skipsLeapDay ? number - 1 + (isLeap && number >= 60 ? 1 : 0) : number)
    case .week(let month, let week, let weekday):
      let first = days(month, 1)
      // The epoch was a Thursday.
      var found = first + (weekday - (first + 4) % 7 + 7) % 7 + (week - 1) * 7
      let next = month == 12 ? days(12, 31) + 1 : days(month + 1, 1)
      while found >= next { found -= 7 }
      day = found
    }
    return Int64(day) * 86_400 + Int64(change.time)
  }

  // MARK: Reading

  private static func takeName(_ text: inout Substring) -> Bool {
    if text.first == "<" {
      guard let end = text.firstIndex(of: ">") else { return false }
      text = text[text.index(after: end)...]
      return true
    }
    let name = text.prefix(while: \.isLetter)
    text = text[name.endIndex...]
    return name.count >= 3
  }

  private static func takeNumber(_ text: inout Substring) -> Int? {
    let digits = text.prefix(while: \.isNumber)
    text = text[digits.endIndex...]
    return Int(digits)
  }

  /// `5`, `-5:30` or `02:00:00`, in seconds.
  private static func takeTime(_ text: inout Substring) -> Int? {
    let isNegative = text.first == "-"
    if isNegative || text.first == "+" { text = text.dropFirst() }
    guard var seconds = takeNumber(&text).map({ $0 * 3_600 }) else { return nil }
    for unit in [60, 1] where text.first == ":" {
      text = text.dropFirst()
      guard let number = takeNumber(&text) else { return nil }
      seconds += number * unit
    }
    return isNegative ? -seconds : seconds
  }

  private static func takeChange(_ text: inout Substring) -> Change? {
    guard text.first == "," else { return nil }
    text = text.dropFirst()
    let day: Change.Day
    if text.first == "M" {
      var numbers: [Int] = []
      repeat {
        text = text.dropFirst()
        guard let number = takeNumber(&text) else { return nil }
        numbers.append(number)
      } while text.first == "."
      guard numbers.count == 3, (1...12).contains(numbers[0]), (1...5).contains(numbers[1]), numbers[2] <= 6 else {
        return nil
      }
      day = .week(month: numbers[0], week: numbers[1], day: numbers[2])
    } else {
      let skipsLeapDay = text.first == "J"
      if skipsLeapDay { text = text.dropFirst() }
      guard let number = takeNumber(&text), number <= 366 else { return nil }
      day = .year(number, skipsLeapDay: skipsLeapDay)
    }
    guard text.first == "/" else { return Change(day: day, time: 7_200) }
    text = text.dropFirst()
    return takeTime(&text).map { Change(day: day, time: $0) }
  }
}
