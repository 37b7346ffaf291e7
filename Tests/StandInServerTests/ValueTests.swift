import LosslessJSON
import Randomness
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Values as PostgreSQL reads and prints them") struct ValueTests {
  static let now = Timestamp(microseconds: 1_792_328_427_486_123)

  static let timestamps: [(text: String, printed: String)] = [
    ("2026-10-18T13:00:27.486123+00:00", "2026-10-18T13:00:27.486123+00:00"),
    ("2026-10-18 13:00:27.486123+00", "2026-10-18T13:00:27.486123+00:00"),
    ("2026-10-18T13:00:27Z", "2026-10-18T13:00:27+00:00"),
    ("2026-10-18T13:00:27.500z", "2026-10-18T13:00:27.5+00:00"),
    ("2026-10-18T13:00:27.120000Z", "2026-10-18T13:00:27.12+00:00"),
    ("2026-10-18T13:00:27.1234565Z", "2026-10-18T13:00:27.123457+00:00"),
    ("2026-10-18T13:00:27.9999999Z", "2026-10-18T13:00:28+00:00"),
    ("2026-10-18T13:00", "2026-10-18T13:00:00+00:00"),
    ("2026-10-18", "2026-10-18T00:00:00+00:00"),
    ("  2026-10-18 ", "2026-10-18T00:00:00+00:00"),
    ("2026-10-18T13:00:00+05:30", "2026-10-18T07:30:00+00:00"),
    ("2026-10-18T13:00:00-0800", "2026-10-18T21:00:00+00:00"),
    ("2026-10-18T13:00:00 +02", "2026-10-18T11:00:00+00:00"),
    ("2026-12-31T23:59:60Z", "2027-01-01T00:00:00+00:00"),
    ("2026-12-31T24:00:00Z", "2027-01-01T00:00:00+00:00"),
    ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00+00:00"),
    ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999+00:00"),
    ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00+00:00"),
    ("12026-01-01T00:00:00Z", "12026-01-01T00:00:00+00:00"),
    ("infinity", "infinity"), ("-infinity", "-infinity"), ("epoch", "1970-01-01T00:00:00+00:00"),
    ("now", "2026-10-18T13:00:27.486123+00:00"), ("today", "2026-10-18T00:00:00+00:00"),
  ]

  @Test("a moment is read in every usual spelling and printed in one", arguments: timestamps)
  func timestamp(_ text: String, printed: String) throws {
    #expect(try TimeReader.timestamp(text, now: Self.now).jsonText == printed)
  }

  static let badTimes: [(text: String, code: String)] = [
    ("", "22007"), ("yesterdayish", "22007"), ("2026-10-18T13:00:27.5 00:00", "22007"), ("2026-10-18T", "22007"),
    ("2026-10-18T13", "22007"), ("2026-10-18T13:0", "22007"), ("2026-10-18T13:00:00+", "22007"),
    ("26-10-18", "22007"), ("2026-10-18T13:00:00Zx", "22007"), ("2026-13-01", "22008"), ("2026-02-30", "22008"),
    ("2023-02-29", "22008"), ("2026-10-18T25:00:00", "22008"), ("2026-10-18T13:60:00", "22008"),
    ("2026-10-18T13:00:61", "22008"), ("0000-01-01", "22008"), ("300000-01-01", "22008"),
    ("2026-10-18T13:00:00+16", "22008"),
  ]

  @Test("a text that is no moment is told from one that cannot be", arguments: badTimes)
  func badTime(_ text: String, code: String) {
    let fault = #expect(throws: DatabaseFault.self) { try ColumnType.timestamptz.stored(text, now: Self.now) }
    #expect(fault?.code == code)
  }

  @Test("days and moments go there and back over thousands of years")
  func days() {
    for day in stride(from: -719_162, through: 3_000_000, by: 97) {
      let date = CivilDate(daysSinceEpoch: day)
      #expect(date.daysSinceEpoch == day)
      #expect(CivilDate(year: date.year, month: date.month, day: date.day) == date)
    }
  }

  /// A text, its type, and how it is written in JSON, or the error's code.
  static let texts: [(type: ColumnType, text: String, result: String)] = [
    (.uuid, "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\""),
    (.uuid, "{a0eebc999c0b4ef8bb6d6bb9bd380a11}", "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\""),
    (.uuid, "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11", "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\""),
    (.uuid, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1", "22P02"), (.uuid, " a0eebc999c0b4ef8bb6d6bb9bd380a11", "22P02"),
    (.uuid, "a0eebc99--9c0b-4ef8-bb6d-6bb9bd380a11", "22P02"), (.uuid, "", "22P02"),
    (.boolean, "t", "true"), (.boolean, " YES ", "true"), (.boolean, "on", "true"), (.boolean, "1", "true"),
    (.boolean, "fal", "false"), (.boolean, "of", "false"), (.boolean, "0", "false"), (.boolean, "o", "22P02"),
    (.boolean, "", "22P02"), (.boolean, "truely", "22P02"), (.boolean, "2", "22P02"),
    (.int2, "32767", "32767"), (.int2, "32768", "22003"), (.int4, " +5 ", "5"), (.int4, "-2147483648", "-2147483648"),
    (.int4, "2147483648", "22003"), (.int4, "1.0", "22P02"), (.int4, "", "22P02"), (.int4, "- 5", "22P02"),
    (.int8, "9223372036854775807", "9223372036854775807"), (.int8, "9223372036854775808", "22003"),
    (.int8, "1e3", "22P02"),
    (.numeric, "1.10", "1.10"), (.numeric, "1e3", "1000"), (.numeric, "1.5e-3", "0.0015"), (.numeric, "-0.0", "0.0"),
    (.numeric, ".5", "0.5"), (.numeric, "5.", "5"), (.numeric, "007", "7"), (.numeric, "NaN", "\"NaN\""),
    (.numeric, "-inf", "\"-Infinity\""), (.numeric, "12345678901234567890.123456789", "12345678901234567890.123456789"),
    (.numeric, "1,5", "22P02"), (.numeric, "", "22P02"), (.numeric, "1e", "22P02"), (.numeric, "--1", "22P02"),
    (.float8, "0.1", "0.1"), (.float8, "1e21", "1e+21"), (.float8, "100000000000000", "100000000000000"),
    (.float8, "1000000000000000", "1e+15"), (.float8, "0.0001", "0.0001"), (.float8, "0.00001", "1e-05"),
    (.float8, "-0", "-0"), (.float8, "NaN", "\"NaN\""), (.float8, "infinity", "\"Infinity\""),
    (.float8, "1e400", "22003"), (.float8, "0x10", "22P02"), (.float8, "", "22P02"),
    (.float8, "123456789.125", "123456789.125"), (.float8, "5e-324", "5e-324"),
    (.date, "2026-10-18", "\"2026-10-18\""), (.date, "2026-10-18T23:00:00Z", "\"2026-10-18\""),
    (.date, "2026-02-29", "22008"),
    (.jsonb, #"{"bb":1,"a":[1.50,1e2],"bb":2}"#, "22P02"),
    (.jsonb, #"{"bb":1,"a":[1.50,1e2]}"#, #"{"a": [1.50, 100], "bb": 1}"#),
    (.jsonb, "{", "22P02"), (.json, #"{"b": 1,"a":2}"#, #"{"b": 1,"a":2}"#),
    (.textArray, #"{red,"a,b",NULL,"NULL"}"#, #"["red","a,b",null,"NULL"]"#), (.textArray, "{}", "[]"),
    (.textArray, "red", "22P02"), (.textArray, "{a,}", "22P02"), (.int4Array, "{1, 2}", "[1,2]"),
    (.int4Array, "{x}", "22P02"), (.text, "a\u{0}b", "22021"),
  ]

  @Test("a text is read as its type reads it and written as JSON", arguments: texts)
  func text(_ type: ColumnType, _ text: String, _ result: String) {
    do {
      var output: [UInt8] = []
      type.appendJSON(try type.stored(text, now: Self.now), to: &output)
      #expect(String(decoding: output, as: UTF8.self) == result)
    } catch {
      #expect(error.code == result, "\(error)")
    }
  }

  @Test("keys of numbers sort as the numbers do")
  func numberKeys() {
    var generator = SeededRandom(seed: 7)
    var texts = ["0", "-0.0", "1", "1.0", "-1", "10", "9.99", "0.1", "0.01", "-0.01", "1e300", "-1e300", "1e-300", "2"]
    for _ in 0..<300 {
      let digits = Int64.random(in: -1_000_000...1_000_000, using: &generator)
      texts.append("\(digits)e\(Int.random(in: -6...6, using: &generator))")
    }
    let numbers = texts.map { (text: $0, key: DecimalText($0)?.sortKey ?? [], value: Double($0) ?? 0) }
    for left in numbers {
      // One look a number: tens of thousands of recorded comparisons would take longer than the comparing.
      let wrong = numbers.first { right in
        left.key.lexicographicallyPrecedes(right.key) != (left.value < right.value)
          || (left.key == right.key) != (left.value == right.value)
      }
      #expect(wrong == nil, "\(left.text) and \(wrong?.text ?? "")")
    }
    #expect(DecimalText("NaN").map { $0.sortKey }?.first ?? 0 > DecimalText("Infinity").map { $0.sortKey }?.first ?? 9)
  }

  @Test("doubles are printed with the shortest digits that read back")
  func doubles() {
    var generator = SeededRandom(seed: 11)
    for _ in 0..<2_000 {
      let number = Double(bitPattern: generator.next())
      guard number.isFinite else { continue }
      #expect(Double(FloatText.text(of: number)) == number)
    }
  }

  static let likes: [(pattern: String, text: String, fits: Bool)] = [
    ("", "", true), ("", "a", false), ("%", "", true), ("%%", "abc", true), ("a%", "abc", true), ("%c", "abc", true),
    ("%b%", "abc", true), ("a_c", "abc", true), ("a_c", "ac", false), ("_", "👩", true), ("a\\%", "a%", true),
    ("a\\%", "ab", false), ("\\a", "a", true), ("%ab%ab", "xabyabab", true), ("%aab", "aaab", true),
    ("A%", "abc", false),
    ("é", "e\u{301}", false),
  ]

  @Test("LIKE goes by characters, with an escape", arguments: likes)
  func like(_ pattern: String, _ text: String, _ fits: Bool) {
    #expect(LikePattern(pattern, ignoringCase: false).matches(text) == fits)
  }

  @Test("LIKE without case folds letters of every script, and a long row of wildcards stays cheap")
  func like() {
    #expect(LikePattern("ZOË%", ignoringCase: true).matches("zoë x"))
    let pattern = LikePattern(String(repeating: "%a", count: 200) + "b", ignoringCase: false)
    #expect(!pattern.matches(String(repeating: "a", count: 5_000)))
  }

  static let jsonOrder = [
    "null", #""a""#, #""b""#, "-1", "1", "1.5", "2", "10", "false", "true", "[]", "[1]", "[2]", "[0,0]", "{}",
    #"{"a": 1}"#,
  ]

  @Test("jsonb sorts by kind and then by value")
  func jsonbOrder() {
    let keys = Self.jsonOrder.map { JSONBText.sortKey(of: $0) ?? [] }
    for (left, right) in zip(keys, keys.dropFirst()) { #expect(left.lexicographicallyPrecedes(right)) }
    #expect(JSONBText.sortKey(of: #"{"a":1.0,"bb":2}"#) == JSONBText.sortKey(of: #"{"bb":2,"a":1}"#))
  }

  @Test("strings are escaped as PostgreSQL escapes them")
  func strings() {
    var output: [UInt8] = []
    JSONText.append("a\"\\\u{8}\t\n\u{C}\r\u{1}\u{7F}/é\u{2028}", to: &output)
    #expect(String(decoding: output, as: UTF8.self) == "\"a\\\"\\\\\\b\\t\\n\\f\\r\\u0001\u{7F}/é\u{2028}\"")
  }

  @Test("query strings are decoded once, and what is no percent sequence stays")
  func query() {
    let parameters = QueryText.parameters("a=1+2%2B&b=%zz%2&c&d==%C3%A9;e=")
    #expect(parameters.map(\.name) == ["a", "b", "c", "d", "e"])
    #expect(parameters.map(\.value) == ["1 2+", "%zz%2", nil, "=é", ""])
  }
}
