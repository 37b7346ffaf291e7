import Testing

@testable import StandInServer

@Suite("Ranges and text search vectors") struct RangeTests {
  @Test(
    "ranges are written in one form",
    arguments: [
      ("[1,5]", "[1,6)"), ("(1,5)", "[2,5)"), ("[1,1)", "empty"), ("(,3]", "(,4)"), ("[,]", "(,)"),
      (" empty ", "empty"),
      ("[-3,\"4\")", "[-3,4)"),
    ])
  func form(_ text: String, canonical: String) throws {
    #expect(try IntegerRange(text).text == canonical)
  }

  @Test(
    "what is no range is refused",
    arguments: ["", "1,2", "[1;2]", "[2,1]", "[a,b]", "[1,2,3]", "[1,99999999999]", "[1,2147483647]"])
  func refused(_ text: String) {
    #expect(throws: IntegerRange.Fault.self) { try IntegerRange(text) }
  }

  @Test("operators hold as PostgreSQL's do")
  func operators() throws {
    func holds(_ left: String, _ name: String, _ right: String) throws -> Bool {
      try IntegerRange(left).holds(name, IntegerRange(right))
    }
    #expect(try holds("[1,10)", "cs", "[2,3)") && holds("[1,10)", "cs", "empty") && !holds("[1,2)", "cs", "[1,3)"))
    #expect(try holds("[2,3)", "cd", "(,)") && holds("[1,3)", "ov", "[2,4)") && !holds("[1,2)", "ov", "[2,4)"))
    #expect(try holds("[1,2)", "sl", "[2,4)") && holds("[5,)", "sr", "[2,5)") && holds("[1,2)", "adj", "[2,4)"))
    #expect(try holds("[0,3)", "nxr", "[1,3)") && holds("[1,9)", "nxl", "[1,3)") && !holds("empty", "nxl", "[1,3)"))
  }

  @Test("a vector's words are in order, each once")
  func vectors() {
    #expect(TextSearchVector.normalised("'dog':1 cat:2,1B 'it''s'") == "'cat':1B,2 'dog':1 'it''s'")
    #expect(TextSearchVector.normalised("'open") == nil && TextSearchVector.normalised("a:x") == nil)
    #expect(TextSearchVector.normalised("") == "")
  }
}
