import FileWorkspace
import LosslessJSON
import Randomness
import Testing

/// A collection with a column of every type.
enum Sample {
  static let id = "8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10"

  static let tasks = CollectionSettings(
    folder: "tasks", table: "tasks", version: "updated_at", name: "title",
    columns: [
      CollectionColumn("id", .uuid), CollectionColumn("title", .text, isRequired: true),
      CollectionColumn("notes", .text), CollectionColumn("done", .boolean), CollectionColumn("position", .integer),
      CollectionColumn("price", .number), CollectionColumn("due", .date), CollectionColumn("at", .timestamp),
      CollectionColumn("parent", .uuid), CollectionColumn("extra", .json),
      CollectionColumn("created_at", .timestamp, isReadOnly: true),
    ])

  static let pairs = CollectionSettings(
    folder: "pairs", table: "pairs", key: ["b", "a"], keyMadeBy: .server,
    columns: [CollectionColumn("a", .integer), CollectionColumn("x", .text), CollectionColumn("b", .uuid)])
}

@Suite("Reading a row's file") struct RowFileReadingTests {
  @Test("the columns, the key and a person's notes are told apart")
  func whole() throws {
    let text = """
      {"$schema": "../task.json", "title": "Buy milk", "id": "\(Sample.id.uppercased())", "position": 1e2,
       "price": 1.10, "due": null, "at": "2026-10-18T13:00:27.486123+00:00", "parent": "\(Sample.id.uppercased())",
       "extra": {"a": [1]}, "done": false}
      """
    let file = try RowFile.read(Array(text.utf8), Sample.tasks)
    #expect(!file.isEmpty)
    #expect(file.key == [.string(Sample.id)])
    #expect(file.notes == ["$schema": "../task.json"])
    #expect(file.values.names == ["title", "position", "price", "due", "at", "parent", "extra", "done"])
    #expect(file.values["position"]?.numberValue?.text == "100")
    #expect(file.values["price"]?.numberValue?.text == "1.10")
    #expect(file.values["parent"] == .string(Sample.id))
    #expect(file.values["due"] == .some(.null))
    #expect(file.document?.text == text)
  }

  @Test("a key is known only when all of it is there, in the key's order")
  func keys() throws {
    let both = try RowFile.read(Array("{\"a\": 1.0, \"b\": \"\(Sample.id)\"}".utf8), Sample.pairs)
    #expect(both.key == [.string(Sample.id), 1])
    #expect(try RowFile.read(Array("{\"a\": 1}".utf8), Sample.pairs).key == nil)
    let null = try RowFile.read(Array("{\"id\": null, \"title\": \"x\"}".utf8), Sample.tasks)
    #expect(null.key == nil)
    #expect(null.values == ["title": "x"])
  }

  @Test("a file of nothing is a new row", arguments: ["", " ", "\n", "\u{FEFF}", "\u{FEFF}\r\n\t "])
  func empty(_ text: String) throws {
    let file = try RowFile.read(Array(text.utf8), Sample.tasks)
    #expect(file.isEmpty)
    #expect(file.values.isEmpty)
    #expect(RowFile.valuesOfEmptyFile(named: "Call the plumber.json", Sample.tasks) == ["title": "Call the plumber"])
    #expect(RowFile.valuesOfEmptyFile(named: "x.json", Sample.pairs).isEmpty)
  }

  static let problems: [(String, String)] = [
    ("[]", "1:1: found an array; expected an object { … }"),
    (
      "{\"titel\": \"x\"}",
      "1:2: unknown member 'titel'; expected one of id, title, notes, done, position, price, due, at, parent, extra, created_at, or a name that begins with '$'"
    ),
    ("{\"title\": null}", "1:11: null in 'title'; expected a text in double quotes"),
    ("{\n  \"title\": 5\n}", "2:12: found a number in 'title'; expected a text in double quotes"),
    ("{\"notes\": [1]}", "1:11: found an array in 'notes'; expected a text in double quotes or null"),
    ("{\"done\": \"yes\"}", "1:10: found a text in 'done'; expected true or false or null"),
    ("{\"done\": 1}", "1:10: found a number in 'done'; expected true or false or null"),
    ("{\"position\": 1.5}", "1:14: found a number with a fraction in 'position'; expected a whole number or null"),
    ("{\"position\": \"1\"}", "1:14: found a text in 'position'; expected a whole number or null"),
    ("{\"position\": 9223372036854775808}", "1:14: the number in 'position' does not fit in 64 bits"),
    ("{\"price\": true}", "1:11: found true in 'price'; expected a number or null"),
    (
      "{\"due\": \"tomorrow\"}",
      "1:9: found a text that is no date in 'due'; expected a date such as \"2026-10-18\" or null"
    ),
    (
      "{\"at\": \"noon\"}",
      "1:8: found a text that is no time in 'at'; expected a time such as \"2026-10-18T13:00:00+00:00\" or null"
    ),
    (
      "{\"id\": \"7\"}",
      "1:8: found a text that is no UUID in 'id'; expected a UUID such as \"8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10\" or null"
    ),
    ("{\"notes\": \"a\\u0000b\"}", "1:11: the text in 'notes' holds \\u0000, which no database text can hold"),
    ("{\"title\": \"a\", \"title\": \"b\"}", "1:16: the name 'title' stands in this object twice (first in line 1)"),
    ("{\"title\": \"a\",\n}", "1:14: a comma before '}'; expected nothing behind the last one"),
    ("\u{FEFF}{\r\n\"title\": NaN}", "2:10: 'NaN' is not a JSON number; expected a finite number or null"),
    (
      "<<<<<<< HEAD\n{}",
      "1:1: a conflict marker stands here; take one version of what is between the markers, and remove them"
    ),
    ("\0\0\0\0", "1:1: found the control character U+0000; expected a value"),
  ]

  @Test("each problem has its place and says what was expected", arguments: problems)
  func problem(_ text: String, _ expected: String) {
    let problem = #expect(throws: RowFileProblem.self) { try RowFile.read(Array(text.utf8), Sample.tasks) }
    #expect(problem?.description(in: "tasks/a.json") == "tasks/a.json:" + expected)
    #expect(problem?.excerpt.hasSuffix("^") == true)
  }

  @Test("more than 8 MiB are refused before they are read")
  func tooLarge() {
    let problem = #expect(throws: RowFileProblem.self) {
      try RowFile.read([UInt8](repeating: 0x20, count: RowFile.bytesMax + 1), Sample.tasks)
    }
    #expect(problem?.message == "the file has 8388609 bytes; expected at most 8388608 (8 MiB)")
    #expect(problem?.excerpt == "")
  }

  @Test("a new row needs its required columns, an old one's file does not")
  func required() throws {
    let file = try RowFile.read(Array("\n{\"notes\": \"x\"}".utf8), Sample.tasks)
    let problem = #expect(throws: RowFileProblem.self) { try file.checkNew(file.values, Sample.tasks) }
    #expect(
      problem?.description
        == "line 2, column 1: the member 'title' is missing; expected a text in double quotes for a new row")
    try file.checkNew(["title": ""], Sample.tasks)
    let empty = try RowFile.read([], Sample.tasks)
    #expect(throws: RowFileProblem.self) { try empty.checkNew([:], Sample.tasks) }
  }

  @Test(
    "days and times that PostgreSQL writes are taken",
    arguments: [
      "2026-10-18T13:00:27.486123+00:00", "2026-10-18 13:00:27.4+00", "2026-10-18T13:00", "2026-10-18t23:59:60z",
      "2026-06-09T10:11:12.345001+02:00", "2026-06-09T24:00:00+0530", "0044-03-15 12:00:00+00 BC", "infinity",
      "10000-01-01T00:00:00-12:00:30", "2024-02-29T00:00:00Z",
    ])
  func times(_ text: String) throws {
    let file = try RowFile.read(Array("{\"at\": \"\(text)\"}".utf8), Sample.tasks)
    #expect(file.values["at"] == .string(text))
  }

  @Test(
    "other texts are no times",
    arguments: [
      "", "2026-10-18", "13:00", "2026-13-01T00:00", "2026-02-30T00:00", "2026-10-18T25:00", "2026-10-18T13:61",
      "2026-10-18T13:00+", "2026-10-18T13:00+2", "2026-10-18T13:00:00.", "2026-10-18T13:00Z ", "2023-02-29T00:00",
      "26-10-18T13:00", "2026-10-18T13:00+02:0", "now",
    ])
  func noTimes(_ text: String) {
    #expect(throws: RowFileProblem.self) { try RowFile.read(Array("{\"at\": \"\(text)\"}".utf8), Sample.tasks) }
  }

  @Test(
    "days", arguments: [("2026-10-18", true), ("2026-10-32", false), ("0044-03-15 BC", true), ("18.10.2026", false)])
  func days(_ text: String, _ isDate: Bool) {
    let file = try? RowFile.read(Array("{\"due\": \"\(text)\"}".utf8), Sample.tasks)
    #expect((file != nil) == isDate)
  }
}

@Suite("Writing a row's file") struct RowFileWritingTests {
  private func updated(
    _ text: String, _ values: JSONObject, adding: RowFile.Adding = .nothing
  ) throws -> String {
    let document = try JSONDocument(parsing: text)
    return String(decoding: RowFile.updated(document, to: values, Sample.tasks, adding: adding), as: UTF8.self)
  }

  @Test("a new file has the collection's columns in order, and nothing else")
  func golden() {
    let values: JSONObject = [
      "updated_at": "2026-10-18T13:00:27.486123+00:00", "done": false, "title": "Kauf “Öl” \u{1F600}\n", "notes": .null,
      "id": .string(Sample.id), "extra": ["a": [1, 2], "b": [:]], "price": .number(JSONNumber("1.10") ?? 0),
    ]
    #expect(
      String(decoding: RowFile.render(values, Sample.tasks), as: UTF8.self) == """
        {
          "id": "8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10",
          "title": "Kauf “Öl” 😀\\n",
          "notes": null,
          "done": false,
          "price": 1.10,
          "extra": {
            "a": [
              1,
              2
            ],
            "b": {}
          }
        }

        """)
  }

  @Test("only what differs in meaning is replaced, and the rest stays byte for byte")
  func inPlace() throws {
    let text =
      "\u{FEFF}{\r\n\t\"done\" : false,\r\n\r\n\t\"$why\": 1, \"title\":\"\\u0041\", \"price\": 1.10,\r\n"
      + "\t\"id\": \"\(Sample.id.uppercased())\", \"at\": \"2026-01-01T00:00Z\"}\r\n"
    let same: JSONObject = [
      "id": .string(Sample.id), "title": "A", "done": false, "price": 1.1, "at": "2026-01-01T00:00Z", "notes": "new",
      "position": 3,
    ]
    #expect(try updated(text, same) == text)
    var other = same
    other["done"] = true
    other["at"] = "2026-01-01T00:00:00+00:00"
    let expected = text.replacing("false", with: "true").replacing("00:00Z", with: "00:00:00+00:00")
    #expect(try updated(text, other) == expected)
  }

  @Test("absent members are added only when asked, each at its place")
  func adding() throws {
    let values: JSONObject = ["id": .string(Sample.id), "title": "A", "notes": .null, "done": true, "position": 4]
    #expect(try updated("{\"title\": \"A\"}", values) == "{\"title\": \"A\"}")
    #expect(
      try updated("{\"title\": \"A\"}", values, adding: .key) == "{\"id\": \"\(Sample.id)\", \"title\": \"A\"}")
    #expect(
      try updated("{\n  \"$schema\": 1,\n  \"done\": true,\n  \"title\": \"A\"\n}\n", values, adding: .all) == """
        {
          "$schema": 1,
          "id": "\(Sample.id)",
          "done": true,
          "position": 4,
          "title": "A",
          "notes": null
        }

        """)
    #expect(try updated("{}", values, adding: .key) == "{\"id\": \"\(Sample.id)\"}")
    #expect(try updated("{\"id\": null}", values, adding: .key) == "{\"id\": \"\(Sample.id)\"}")
  }

  @Test("a person's edit is what differs from the base; what is absent or only shown is none")
  func changes() throws {
    let base: JSONObject = [
      "title": "A", "notes": "n", "done": false, "parent": .string(Sample.id.uppercased()),
      "created_at": "2026-01-01T00:00Z",
    ]
    let text = "{\"title\": \"A\", \"done\": true, \"parent\": \"\(Sample.id)\", \"position\": 1, \"created_at\": null}"
    let file = try RowFile.read(Array(text.utf8), Sample.tasks)
    #expect(file.changes(from: base, Sample.tasks) == ["done": true, "position": 1])
    #expect(file.readOnlyChanges(from: base, Sample.tasks) == ["created_at"])
  }

  @Test("meaning: numbers by value, UUIDs whatever their case, times and texts by their text")
  func meaning() throws {
    #expect(RowFile.isSame(1.10, 1.1, .number))
    #expect(RowFile.isSame("AB", "ab", .uuid))
    #expect(!RowFile.isSame("AB", "ab", .text))
    #expect(!RowFile.isSame("é", "e\u{301}", .text))
    #expect(!RowFile.isSame("2026-01-01T00:00Z", "2026-01-01T00:00+00:00", .timestamp))
    #expect(RowFile.isSame(["a": 1, "b": 2], ["b": 2, "a": 1], .json))
  }

  @Test("what is rendered reads back, and an update is done once", arguments: UInt64(1)...8)
  func properties(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<150 {
      let row = random.row()
      let bytes = RowFile.render(row, Sample.tasks)
      let file = try RowFile.read(bytes, Sample.tasks)
      var expected = row
      expected["id"] = nil
      #expect(file.values == expected)
      #expect(file.key == row["id"].map { [$0] })
      #expect(RowFile.updated(try JSONDocument(parsing: bytes), to: row, Sample.tasks, adding: .all) == bytes)

      let other = random.row()
      for adding in [RowFile.Adding.nothing, .key, .all] {
        let once = RowFile.updated(try JSONDocument(parsing: bytes), to: other, Sample.tasks, adding: adding)
        #expect(RowFile.updated(try JSONDocument(parsing: once), to: other, Sample.tasks, adding: adding) == once)
        let read = try RowFile.read(once, Sample.tasks)
        #expect(read.changes(from: other, Sample.tasks).allSatisfy { other[$0.name] == nil })
        if adding == .all { #expect(other.allSatisfy { $0.name == "id" || read.values[$0.name] == $0.value }) }
        if adding == .nothing { #expect(read.values.names == file.values.names) }
      }
    }
  }
}

extension SeededRandom {
  /// A row of the sample collection, some columns absent.
  mutating func row() -> JSONObject {
    var row: JSONObject = ["title": .string(text(piecesMax: 5).replacing("\0", with: ""))]
    if Bool.random(using: &self) { row["id"] = .string(uuid()) }
    if Bool.random(using: &self) {
      row["notes"] = pick([.null, .string(text(piecesMax: 9).replacing("\0", with: ""))])
    }
    if Bool.random(using: &self) { row["done"] = pick([.null, true, false]) }
    if Bool.random(using: &self) { row["position"] = pick([.null, 0, -5, .integer(.max)]) }
    if Bool.random(using: &self) { row["price"] = pick([.null, 1.5, .number(JSONNumber("1e400") ?? 0)]) }
    if Bool.random(using: &self) { row["due"] = pick([.null, "2026-10-18"]) }
    if Bool.random(using: &self) {
      row["at"] = pick(["2026-10-18T13:00:27.486123+00:00", "2026-10-18T13:00:27+00:00"])
    }
    if Bool.random(using: &self) { row["extra"] = pick([.null, [:], ["a": [1, ["b": .null]]], "x", [[]]]) }
    return row
  }
}
