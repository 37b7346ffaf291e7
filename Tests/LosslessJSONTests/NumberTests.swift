import LosslessJSON
import Randomness
import Testing

@Suite("Numbers") struct NumberTests {
  @Test(
    "numbers of one value are equal and hash alike, whatever their text",
    arguments: [
      ("1.10", "1.1"), ("1e2", "100"), ("100", "1E+2"), ("100.0", "1e2"), ("0", "-0"), ("0", "0.000e99"),
      ("0.05", "5e-2"), ("0.05", "0.0005e2"), ("12.5", "125e-1"), ("1e400", "10e399"), ("1e400", "0.01e402"),
      ("123456789012345678901234567890", "1.23456789012345678901234567890e29"),
      ("1e99999999999999999999999", "10e99999999999999999999998"),
      ("1e-99999999999999999999999", "0.1e-99999999999999999999998"), ("1e0100", "1e100"),
      ("1e99999999999999999", "0.1e100000000000000000"), ("1e100000000000000000", "10e99999999999999999"),
      ("1e-100000000000000001", "0.00001e-99999999999999996"),
    ])
  func equal(_ left: String, _ right: String) throws {
    let left = try #require(JSONNumber(left))
    let right = try #require(JSONNumber(right))
    #expect(left == right)
    #expect(left.hashValue == right.hashValue)
    #expect(JSONValue.number(left) == JSONValue.number(right))
  }

  @Test(
    "numbers of different values differ",
    arguments: [
      ("1", "-1"), ("1", "10"), ("1.1", "1.11"), ("0", "1e-400"), ("1e400", "1e401"), ("1e400", "2e400"),
      ("9007199254740992", "9007199254740993"), ("1e99999999999999999999", "1e-99999999999999999999"),
      ("0.1", "0.10000000000000000000000001"), ("123", "12.3"),
    ])
  func different(_ left: String, _ right: String) throws {
    #expect(try #require(JSONNumber(left)) != #require(JSONNumber(right)))
  }

  @Test(
    "text that is no JSON number makes none",
    arguments: ["", "-", "+1", "01", "1.", ".1", "1e", "1e+", "0x1", "NaN", "Infinity", " 1", "1 ", "1_000", "١"])
  func malformed(_ text: String) {
    #expect(JSONNumber(text) == nil)
  }

  @Test(
    "64-bit integers are exact, and only where there is no fraction",
    arguments: [
      ("0", 0), ("-0.0", 0), ("42", 42), ("-42", -42), ("1e2", 100), ("1.5e1", 15), ("1.5", nil), ("1e-1", nil),
      ("9223372036854775807", Int64.max), ("9223372036854775808", nil), ("-9223372036854775808", Int64.min),
      ("-9223372036854775809", nil), ("9.223372036854775807e18", Int64.max), ("-922337203685477580.8e1", Int64.min),
      ("1e19", nil), ("1e400", nil), ("1e99999999999999999999", nil), ("0e99999999999999999999", 0), ("1.0", 1),
    ] as [(String, Int64?)])
  func integers(_ text: String, _ value: Int64?) throws {
    #expect(try #require(JSONNumber(text)).int64 == value)
  }

  @Test("a number keeps its text", arguments: ["1.10", "1e400", "-0", "1E+2", "123456789012345678901234567890"])
  func keepsText(_ text: String) throws {
    #expect(try JSONValue(parsing: "[\(text)]").serialized() == "[\(text)]")
  }

  @Test("floating point, and what is integral")
  func doubles() throws {
    #expect(try #require(JSONNumber("1.5")).double == 1.5)
    #expect(try #require(JSONNumber("1e400")).double == .infinity)
    #expect(try #require(JSONNumber("1e400")).isIntegral)
    #expect(try #require(JSONNumber("2.50e1")).isIntegral)
    #expect(try !#require(JSONNumber("2.55e1")).isIntegral)
    #expect(try !#require(JSONNumber("1e-99999999999999999999")).isIntegral)
    #expect(JSONNumber(Double.nan) == nil)
    #expect(JSONNumber(Double.infinity) == nil)
    #expect(JSONNumber(0.1)?.text == "0.1")
    #expect(try JSONValue(parsing: "\(try #require(JSONNumber(1e300)))") == .number(try #require(JSONNumber("1e300"))))
  }

  @Test("equality of numbers is an equivalence that agrees with hashing and with scaling by ten")
  func laws() throws {
    var random = SeededRandom(seed: 11)
    for _ in 0..<3000 {
      let left = try #require(JSONNumber(random.numberText()))
      let right = try #require(JSONNumber(random.numberText()))
      #expect(left == left)
      #expect((left == right) == (right == left))
      if left == right { #expect(left.hashValue == right.hashValue) }
      let small = Double(left.text) ?? .nan
      let other = Double(right.text) ?? .nan
      if small != other { #expect(left != right) }
      guard !left.text.lowercased().contains("e") else { continue }
      let shifted = try #require(JSONNumber(left.text + "e0"))
      #expect(left == shifted)
    }
  }
}
