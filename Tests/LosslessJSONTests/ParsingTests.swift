import LosslessJSON
import Testing

@Suite("Reading JSON text") struct ParsingTests {
  static let accepted: [(String, JSONValue)] = [
    ("null", .null), (" true ", true), ("\t\r\nfalse\n", false), ("0", 0), ("-0", 0), ("12", 12), ("1.50", 1.5),
    ("1e400", .number(JSONNumber("1e400") ?? 0)), ("\"\"", ""), ("\"a\"", "a"), ("[]", []), ("{}", [:]),
    ("[1, [2, {\"a\": [ ]}], \"x\"]", [1, [2, ["a": []]], "x"]),
    ("{\"a\" : 1 , \"b\":{\"c\":null}}", ["a": 1, "b": ["c": nil]]),
    (#""\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00\u0000""#, "\"\\/\u{8}\u{C}\n\r\tAé😀\u{0}"),
    ("\"é日😀\u{7F}\u{2028}\"", "é日😀\u{7F}\u{2028}"), ("\u{FEFF}{\"a\": 1}", ["a": 1]),
    ("{\"\": 1, \" \": 2}", ["": 1, " ": 2]), ("{\"é\": 1, \"e\u{301}\": 2}", ["é": 1, "e\u{301}": 2]),
    ("\"1234567\\n89012345678\"", "1234567\n89012345678"),
  ]

  @Test("what RFC 8259 allows is read", arguments: accepted)
  func accepts(_ text: String, _ value: JSONValue) throws {
    #expect(try JSONValue(parsing: text) == value)
    #expect(try JSONDocument(parsing: text).text.utf8.elementsEqual(text.utf8))
  }

  struct Refusal: Sendable, CustomTestStringConvertible {
    var bytes: [UInt8]
    var kind: JSONError.Kind
    var line: Int
    var column: Int
    var message: String

    init(_ text: String, _ kind: JSONError.Kind, _ line: Int, _ column: Int, _ message: String) {
      self.init(Array(text.utf8), kind, line, column, message)
    }

    init(_ bytes: [UInt8], _ kind: JSONError.Kind, _ line: Int, _ column: Int, _ message: String) {
      self.bytes = bytes
      self.kind = kind
      self.line = line
      self.column = column
      self.message = message
    }

    var testDescription: String { String(decoding: bytes, as: UTF8.self) }
  }

  static let refused: [Refusal] = [
    Refusal("", .empty, 1, 1, "the text is empty; expected a JSON value"),
    Refusal(" \n ", .empty, 2, 2, "the text is empty; expected a JSON value"),
    Refusal("\u{FEFF}", .empty, 1, 1, "the text is empty; expected a JSON value"),
    Refusal("{", .unexpectedEnd, 1, 2, "the text ends within an object; expected a member's name or '}'"),
    Refusal(
      "{\n\"a\": 1", .unexpectedEnd, 2, 7,
      "the text ends within the object that begins in line 1; expected ',' or '}'"),
    Refusal("[1", .unexpectedEnd, 1, 3, "the text ends within the array that begins in line 1; expected ',' or ']'"),
    Refusal("[", .unexpectedEnd, 1, 2, "the text ends where a value was expected"),
    Refusal("{\"a\":", .unexpectedEnd, 1, 6, "the text ends where a value was expected"),
    Refusal("{\"a\"", .unexpectedEnd, 1, 5, "found the end of the text behind the name 'a'; expected ':'"),
    Refusal("\"abc", .unexpectedEnd, 1, 5, "the text ends within the string that begins in line 1; expected '\"'"),
    Refusal("\"abc\\", .unexpectedEnd, 1, 6, "the text ends within the string that begins in line 1; expected '\"'"),
    Refusal("{\"a\": 1,}", .trailingComma, 1, 8, "a comma before '}'; expected nothing behind the last one"),
    Refusal("[1,\n]", .trailingComma, 1, 3, "a comma before ']'; expected nothing behind the last one"),
    Refusal("[,1]", .unexpected, 1, 2, "found ','; expected a value"),
    Refusal("[1,,2]", .unexpected, 1, 4, "found ','; expected a value"),
    Refusal("{,}", .unexpected, 1, 2, "found ','; expected a member's name in double quotes (\")"),
    Refusal("{\"a\": 1 \"b\": 2}", .unexpected, 1, 9, "found a string; expected ',' or '}'"),
    Refusal("[1 2]", .unexpected, 1, 4, "found '2'; expected ',' or ']'"),
    Refusal("[1}", .unexpected, 1, 3, "found '}'; expected ',' or ']'"),
    Refusal("{\"a\" 1}", .unexpected, 1, 6, "found '1' behind the name 'a'; expected ':'"),
    Refusal("{\"a\" = 1}", .unexpected, 1, 6, "found '=' behind the name 'a'; expected ':'"),
    Refusal("{a: 1}", .unexpected, 1, 2, "found 'a'; expected a member's name in double quotes (\")"),
    Refusal("{'a': 1}", .unexpected, 1, 2, "found '''; expected a member's name in double quotes (\")"),
    Refusal("{\"a\": 'b'}", .unexpected, 1, 7, "found '''; strings are written in double quotes (\")"),
    Refusal("{\"a\": “b”}", .unexpected, 1, 7, "found '“'; strings are written in double quotes (\")"),
    Refusal("{\"a\": True}", .unexpected, 1, 7, "found 'True'; expected true"),
    Refusal("[None]", .unexpected, 1, 2, "found 'None'; expected null"),
    Refusal("[nul]", .unexpected, 1, 2, "found 'nul'; expected a value (a string is written in double quotes)"),
    Refusal("[nullx]", .unexpected, 1, 2, "found 'nullx'; expected a value (a string is written in double quotes)"),
    Refusal("// x\n1", .comment, 1, 1, "a comment; JSON has none"),
    Refusal("[1, /* x */ 2]", .comment, 1, 5, "a comment; JSON has none"),
    Refusal("{\"a\": 1 # x\n}", .comment, 1, 9, "a comment; JSON has none"),
    Refusal("1 // x", .comment, 1, 3, "a comment; JSON has none"),
    Refusal(
      "{\"a\": 1,\n \"a\": 2}", .duplicateName("a"), 2, 2, "the name 'a' stands in this object twice (first in line 1)"),
    Refusal(
      "{\"a\": 1, \"\\u0061\": 2}", .duplicateName("a"), 1, 10,
      "the name 'a' stands in this object twice (first in line 1)"),
    Refusal("NaN", .notFinite, 1, 1, "'NaN' is not a JSON number; expected a finite number or null"),
    Refusal("[-Infinity]", .notFinite, 1, 2, "'-Infinity' is not a JSON number; expected a finite number or null"),
    Refusal("+1", .invalidNumber, 1, 1, "a number does not begin with '+'"),
    Refusal(".5", .invalidNumber, 1, 1, "a number does not begin with '.'"),
    Refusal("[012]", .invalidNumber, 1, 2, "'012' has a leading zero; numbers have none"),
    Refusal("-00", .invalidNumber, 1, 1, "'-00' has a leading zero; numbers have none"),
    Refusal("1.", .invalidNumber, 1, 1, "'1.' is not a number; expected a digit behind '.'"),
    Refusal("-", .invalidNumber, 1, 1, "'-' is not a number; expected a digit behind '-'"),
    Refusal("1e+", .invalidNumber, 1, 1, "'1e+' is not a number; expected a digit in the exponent"),
    Refusal("1.2.3", .invalidNumber, 1, 1, "'1.2.3' is not a number; text is written in double quotes"),
    Refusal("2024-01-02", .trailingText, 1, 5, "found '-' behind the value; expected the end of the text"),
    Refusal("0x1F", .invalidNumber, 1, 1, "'0x1F' is not a number; text is written in double quotes"),
    Refusal("{} {}", .trailingText, 1, 4, "found '{' behind the value; expected the end of the text"),
    Refusal(
      "1 \u{A0}", .trailingText, 1, 3, "found the character U+00A0 behind the value; expected the end of the text"),
    Refusal("\"a\nb\"", .controlCharacter, 1, 3, "the line ends within a string; expected '\"', or \\n for a new line"),
    Refusal("\"a\tb\"", .controlCharacter, 1, 3, "a tab within a string; expected \\t"),
    Refusal(
      "\"a\u{1B}b\"", .controlCharacter, 1, 3, "the control character U+001B within a string; expected \\u001B"),
    Refusal(
      #""C:\dir""#, .invalidEscape, 1, 4,
      #"a backslash before 'dir'; expected one of \" \\ \/ \b \f \n \r \t \u, or \\ for a backslash"#),
    Refusal(#""\u12g4""#, .invalidEscape, 1, 2, "\\u without four hexadecimal digits behind it"),
    Refusal(#""\u12"#, .invalidEscape, 1, 2, "\\u without four hexadecimal digits behind it"),
    Refusal(
      #""é\ud800""#, .loneSurrogate, 1, 3,
      #"\ud800 is half of a surrogate pair; expected both halves or the character itself"#),
    Refusal(
      #""\ud800\u0041""#, .loneSurrogate, 1, 2,
      #"\ud800 is half of a surrogate pair; expected both halves or the character itself"#),
    Refusal(
      #""\udc00\ud800""#, .loneSurrogate, 1, 2,
      #"\udc00 is half of a surrogate pair; expected both halves or the character itself"#),
    Refusal(
      [0x22, 0xED, 0xA0, 0x80, 0x22], .loneSurrogate, 1, 2,
      "half of a surrogate pair, which is not UTF-8; expected a whole character"),
    Refusal([0x22, 0xFF, 0x22], .invalidUTF8, 1, 2, "found the byte 0xFF, which is not UTF-8; save the text as UTF-8"),
    Refusal([0x22, 0xC3, 0x22], .invalidUTF8, 1, 2, "found the byte 0xC3, which is not UTF-8; save the text as UTF-8"),
    Refusal(
      [0x22, 0xC0, 0x80, 0x22], .invalidUTF8, 1, 2, "found the byte 0xC0, which is not UTF-8; save the text as UTF-8"),
    Refusal(
      [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], .invalidUTF8, 1, 2,
      "found the byte 0xF4, which is not UTF-8; save the text as UTF-8"),
    Refusal([0x5B, 0xE9], .invalidUTF8, 1, 2, "found the byte 0xE9, which is not UTF-8; save the text as UTF-8"),
    Refusal([0xFF, 0xFE, 0x7B, 0x00], .invalidUTF8, 1, 1, "the text is UTF-16; save it as UTF-8"),
    Refusal([0x7B, 0x00, 0x7D, 0x00], .invalidUTF8, 1, 1, "the text is UTF-16; save it as UTF-8"),
    Refusal([0, 0, 0, 0], .unexpected, 1, 1, "found the control character U+0000; expected a value"),
    Refusal("<<<<<<< HEAD\n{}", .unexpected, 1, 1, "found '<'; expected a value"),
  ]

  @Test("each mistake is named with its place and what was expected", arguments: refused)
  func refuses(_ refusal: Refusal) {
    let error = #expect(throws: JSONError.self) { try JSONValue(parsing: refusal.bytes) }
    #expect(error?.kind == refusal.kind)
    #expect(error?.position.line == refusal.line)
    #expect(error?.position.column == refusal.column)
    #expect(error?.message == refusal.message)
    #expect(throws: JSONError.self) { try JSONDocument(parsing: refusal.bytes) }
  }

  @Test("512 levels are read, 513 are refused, and a million cost no stack")
  func levels() throws {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
      let deepest =
        String(repeating: open, count: 511) + (open == "[" ? "[]" : "{}") + String(repeating: close, count: 511)
      #expect(try JSONValue(parsing: deepest).serialized() == deepest)
      let error = #expect(throws: JSONError.self) {
        try JSONValue(parsing: String(repeating: open, count: 1_000_000))
      }
      #expect(error?.kind == .tooDeep)
      #expect(error?.position.offset == 512 * open.utf8.count)
    }
  }

  @Test("an error shows the line and a mark below the place")
  func excerpt() throws {
    let error = #expect(throws: JSONError.self) {
      try JSONValue(parsing: "{\r\n\t\"tïtle\": \u{1B}x,\r\n  \"b\": 1}")
    }
    #expect(error?.excerpt == "\t\"tïtle\": ␛x,\n\t         ^")
    #expect(error?.description == "line 2, column 11: found the control character U+001B; expected a value")
  }

  @Test("a line of a megabyte is cut around the place")
  func longLine() throws {
    let filler = String(repeating: "é", count: 500_000)
    let error = #expect(throws: JSONError.self) { try JSONValue(parsing: "[\"\(filler)\", oops, \"\(filler)\"]") }
    let scalars = try #require(error?.lineText.unicodeScalars)
    #expect(scalars.count <= 164)
    #expect(Array(scalars)[try #require(error?.caret)] == "o")
    #expect(error?.position.column == 500_006)
  }

  @Test("many members are read, and a duplicate among them is found")
  func manyMembers() throws {
    let members = (0..<1000).map { "\"name \($0)\": \($0)" }
    let object = try #require(try JSONValue(parsing: "{" + members.joined(separator: ",") + "}").objectValue)
    #expect(object.count == 1000)
    #expect(object["name 999"] == 999)
    let error = #expect(throws: JSONError.self) {
      try JSONValue(parsing: "{" + (members + ["\"name 3\": 0"]).joined(separator: ",\n") + "}")
    }
    #expect(error?.kind == .duplicateName("name 3"))
    #expect(error?.message == "the name 'name 3' stands in this object twice (first in line 4)")
  }

  @Test(
    "rows beside each other keep their own names, alike or not",
    arguments: [
      #"[{"a":1,"b":2},{"a":3,"b":4},{"a":5},{"a":6,"b":7,"c":8},{"b":9,"a":0},{},{"a":1,"b":2}]"#,
      #"[{"a":{"x":1},"b":{"x":2,"y":{"z":3}}},{"a":{"x":1},"b":{"y":{"z":3},"x":2}},{"ab":1},{"a":1}]"#,
    ])
  func rows(_ text: String) throws {
    #expect(try JSONValue(parsing: text).serialized() == text)
  }

  @Test("a duplicate is found in the second row as in the first")
  func duplicateInLaterRow() {
    for text in ["[{\"a\":1,\"b\":2},{\"a\":1,\"a\":2}]", "[{\"a\":1,\"b\":2},{\"a\":1,\"b\":2,\"a\":3}]"] {
      let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
      #expect(error?.kind == .duplicateName("a"))
    }
    let names = (0..<40).map { "\"n\($0)\":0" }.joined(separator: ",")
    let error = #expect(throws: JSONError.self) { try JSONValue(parsing: "[{\(names)},{\(names),\"n5\":1}]") }
    #expect(error?.kind == .duplicateName("n5"))
  }
}
