import LosslessJSON
import Testing

@Suite("Text that keeps every byte") struct DocumentTests {
  struct Edit: Sendable, CustomTestStringConvertible {
    var before: String
    var name: String
    var value: JSONValue?
    var after: String?
    var result: String

    init(_ before: String, _ name: String, _ value: JSONValue?, after: String? = nil, _ result: String) {
      self.before = before
      self.name = name
      self.value = value
      self.after = after
      self.result = result
    }

    var testDescription: String { before + " | " + name }
  }

  static let edits: [Edit] = [
    Edit("{\"a\": 1, \"b\" :2 }\n", "b", 3, "{\"a\": 1, \"b\" :3 }\n"),
    Edit("{\"a\": 1.10}", "a", 1.1, "{\"a\": 1.10}"),
    Edit("{\"a\": \"\\u0041\"}", "a", "A", "{\"a\": \"\\u0041\"}"),
    Edit("{\"\\u0061\": 1}", "a", 2, "{\"\\u0061\": 2}"),
    Edit("\u{FEFF}{\r\n\t\"a\": 1\r\n}\r\n", "a", "x", "\u{FEFF}{\r\n\t\"a\": \"x\"\r\n}\r\n"),
    Edit("{\n  \"a\": {\"x\": 1}\n}", "a", ["y": 2], "{\n  \"a\": {\"y\": 2}\n}"),
    Edit("{\n  \"a\": null\n}", "a", ["y": [2]], "{\n  \"a\": {\n    \"y\": [\n      2\n    ]\n  }\n}"),
    Edit("{\n    \"a\" : null\n}", "a", ["y": 2], "{\n    \"a\" : {\n        \"y\" : 2\n    }\n}"),
    Edit("{\"a\":null}", "a", ["y": 2, "z": 3], "{\"a\":{\"y\":2,\"z\":3}}"),
    Edit("{}", "a", 1, "{\"a\": 1}"),
    Edit("{ }", "a", 1, "{ \"a\": 1 }"),
    Edit("{\n}\n", "a", 1, "{\n  \"a\": 1\n}\n"),
    Edit("{\"b\":2}", "a", 1, "{\"a\":1,\"b\":2}"),
    Edit("{\"b\": 2}", "a", 1, "{\"a\": 1, \"b\": 2}"),
    Edit("{ \"b\": 2 }", "a", 1, "{ \"a\": 1, \"b\": 2 }"),
    Edit("{\"b\": 2}", "a", 1, after: "b", "{\"b\": 2, \"a\": 1}"),
    Edit("{\"b\": 2}", "a", 1, after: "nowhere", "{\"b\": 2, \"a\": 1}"),
    Edit("{\n  \"b\": 2\n}\n", "a", 1, "{\n  \"a\": 1,\n  \"b\": 2\n}\n"),
    Edit("{\n  \"b\": 2\n}\n", "a", 1, after: "b", "{\n  \"b\": 2,\n  \"a\": 1\n}\n"),
    Edit("{\r\n\t\"b\":2\r\n}", "a", 1, after: "b", "{\r\n\t\"b\":2,\r\n\t\"a\":1\r\n}"),
    Edit(
      "{\n  \"b\": 2,\n\n\n  \"c\": 3\n}", "a", 1, after: "b", "{\n  \"b\": 2,\n  \"a\": 1,\n\n\n  \"c\": 3\n}"),
    Edit("{\n  \"b\": 2,\n  \"c\": 3\n}", "a", 1, after: "c", "{\n  \"b\": 2,\n  \"c\": 3,\n  \"a\": 1\n}"),
    Edit("{ \"b\": 2\n, \"c\": 3\n}", "a", 1, after: "b", "{ \"b\": 2\n, \"a\": 1\n, \"c\": 3\n}"),
    Edit("{ \"b\": 2\n, \"c\": 3\n}", "a", 1, "{ \"a\": 1\n, \"b\": 2\n, \"c\": 3\n}"),
    Edit("{\"b\":\n2}", "a", 1, "{\"a\": 1, \"b\":\n2}"),
    Edit("[1]", "a", 1, "[1]"),
    Edit("{\"a\": 1, \"b\": 2, \"c\": 3}", "b", nil, "{\"a\": 1, \"c\": 3}"),
    Edit("{\"a\": 1, \"b\": 2, \"c\": 3}", "a", nil, "{\"b\": 2, \"c\": 3}"),
    Edit("{\"a\": 1, \"b\": 2, \"c\": 3}", "c", nil, "{\"a\": 1, \"b\": 2}"),
    Edit("{\n  \"a\": 1,\n  \"b\": 2\n}", "a", nil, "{\n  \"b\": 2\n}"),
    Edit("{\n  \"a\": 1\n}\n", "a", nil, "{}\n"),
    Edit("{\"a\": 1}", "z", nil, "{\"a\": 1}"),
  ]

  @Test("one member is set, inserted or removed, and no other byte changes", arguments: edits)
  func edit(_ edit: Edit) throws {
    let document = try JSONDocument(parsing: edit.before)
    let result =
      edit.value.map { document.setting(edit.name, to: $0, after: edit.after) } ?? document.removing(edit.name)
    #expect(Array(result.text.utf8) == Array(edit.result.utf8), "\(result.text)")
    let read = try JSONDocument(parsing: result.bytes)
    #expect(read.value == result.value)
    #expect(read.value.objectValue?.names == result.value.objectValue?.names)
  }

  @Test("members know where they stand")
  func places() throws {
    let document = try JSONDocument(parsing: "\u{FEFF}{\r\n \"é\": \"日\", \"b\": {\"c\": 1},\r \"d\":\n[1]}")
    let members = document.members
    #expect(members.map(\.name) == ["é", "b", "d"])
    #expect(members.map(\.value) == ["日", ["c": 1], [1]])
    #expect(members[0].namePosition == JSONPosition(line: 2, column: 2, offset: 7))
    #expect(members[0].valuePosition == JSONPosition(line: 2, column: 7, offset: 13))
    #expect(members[1].namePosition == JSONPosition(line: 2, column: 12, offset: 20))
    #expect(members[2].namePosition == JSONPosition(line: 3, column: 2, offset: 36))
    #expect(members[2].valuePosition == JSONPosition(line: 4, column: 1, offset: 41))
    #expect(document.source(of: "b") == "{\"c\": 1}")
    #expect(try JSONDocument(parsing: "[1]").members.isEmpty)
  }

  @Test("a path leads to a value's place")
  func paths() throws {
    let document = try JSONDocument(parsing: "{\n  \"a\": [1, {\"b\": \"]\"}, 3],\n  \"c\": {}\n}")
    #expect(document.position(at: []) == JSONPosition(line: 1, column: 1, offset: 0))
    #expect(document.position(at: ["a", 1, "b"]) == JSONPosition(line: 2, column: 18, offset: 19))
    #expect(document.position(at: ["a", 1, "b"], .name) == JSONPosition(line: 2, column: 13, offset: 14))
    #expect(document.position(at: ["a", 2])?.column == 24)
    #expect(document.position(at: ["c"])?.line == 3)
    #expect(document.position(at: ["a", 3]) == nil)
    #expect(document.position(at: ["a", "b"]) == nil)
    #expect(document.position(at: ["nowhere"]) == nil)
    #expect(document.error("too small", at: ["a", 2]).description == "line 2, column 24: too small")
  }
}
