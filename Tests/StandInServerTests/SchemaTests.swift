import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Schema files") struct SchemaTests {
  static let mistakes: [(text: String, line: Int, column: Int, word: String)] = [
    ("{", 1, 2, "a member's name"),
    ("[]", 1, 1, "an object"),
    ("{}", 1, 1, "'tables' is missing"),
    ("{\"tables\": 3}", 1, 12, "an object"),
    ("{\"tables\": {},\n \"more\": 1}", 2, 10, "unknown member 'more'"),
    ("{\"tables\": {\n  \"t\": {\"columns\": []}}}", 2, 20, "at least one column"),
    ("{\"tables\": {\"t\": {\"columns\": [\n  {\"name\": \"a\"}]}}}", 2, 3, "'type' is missing"),
    (
      "{\"tables\": {\"t\": {\"columns\": [\n  {\"name\": \"a\", \"type\": \"money\"}]}}}", 2, 25,
      "unknown type 'money'"
    ),
    (
      "{\"tables\": {\"t\": {\"columns\": [{\"name\": \"a\", \"type\": \"text\"},\n {\"name\": \"a\", \"type\": \"text\"}]}}}",
      2, 11, "twice"
    ),
    (
      "{\"tables\": {\"t\": {\"columns\": [{\"name\": \"a\", \"type\": \"uuid\",\n\"default\": \"x\"}]}}}", 2, 12,
      "invalid input syntax for type uuid"
    ),
    (
      "{\"tables\": {\"t\": {\"columns\": [{\"name\": \"a\", \"type\": \"uuid\",\n\"default\": {\"function\": \"now\"}}]}}}",
      2,
      12, "gives no uuid"
    ),
    (
      "{\"tables\": {\"t\": {\"columns\": [{\"name\": \"a\", \"type\": \"uuid\",\n\"default\": {\"function\": \"f\"}}]}}}",
      2,
      12, "unknown function 'f'"
    ),
    (
      "{\"tables\": {\"t\": {\"columns\": [{\"name\": \"a\", \"type\": \"text\"}],\n\"primaryKey\": [\"a\", \"b\"]}}}",
      2, 21,
      "name of a column"
    ),
    (
      "{\"tables\": {\"t\": {\"columns\": [{\"name\": \"a\", \"type\": \"text\"}],\n\"owner\": \"a\"}}}", 2, 10,
      "must be a uuid"
    ),
    (
      "{\"tables\": {\"t\": {\"columns\": [{\"name\": \"a\", \"type\": \"text\"}],\n\"version\": {\"column\": \"a\", \"kind\": \"now\"}}}}",
      2, 12, "needs a timestamptz"
    ),
    (
      "{\"tables\": {\"t\": {\"columns\": [{\"name\": \"a\", \"type\": \"text\"}],\n\"foreignKeys\": [{\"columns\": [\"a\"], "
        + "\"references\": {\"table\": \"u\", \"columns\": [\"a\"]}}]}}}", 2, 60, "no table 'u'"
    ),
    (
      "{\"tables\": {\"t\": {\"columns\": [{\"name\": \"a\", \"type\": \"text\"}],\n\"grants\": [\"anon\", \"root\"]}}}",
      2, 20,
      "service_role"
    ),
    (
      "{\"tables\": {\"t\": {\"columns\": [{\"name\": \"é\", \"type\": \"text\", \"notNull\": 1}]}}}", 1, 72,
      "true or false"
    ),
  ]

  @Test("a mistake is named with its line and column", arguments: mistakes)
  func mistake(_ text: String, line: Int, column: Int, word: String) throws {
    do {
      _ = try Schema(parsing: text)
      Issue.record("nothing was found")
    } catch .schema(let foundLine, let foundColumn, let reason) {
      #expect(foundLine == line && foundColumn == column, "\(foundLine):\(foundColumn) \(reason)")
      #expect(reason.contains(word))
    } catch {
      Issue.record("\(error)")
    }
  }

  @Test("the template's schema holds what its tables need")
  func template() throws {
    let tasks = try #require(Schema.tasksAndPhotos.table(named: "tasks"))
    #expect(tasks.columns.map(\.name) == ["id", "user_id", "title", "notes", "done", "created_at", "updated_at"])
    #expect(tasks.owner == "user_id")
    #expect(tasks.version == Version(column: "updated_at", kind: .now))
    #expect(tasks.keys.map(\.name) == ["tasks_pkey"])
  }

  @Test("a counted version goes up by one with each update, whatever the client sends")
  func countedVersion() throws {
    let schema = try Schema(
      parsing: """
        {"tables": {"notes": {
          "columns": [
            {"name": "id", "type": "int4", "notNull": true}, {"name": "text", "type": "text"},
            {"name": "revision", "type": "int8", "notNull": true, "default": 1}],
          "primaryKey": ["id"], "version": {"column": "revision", "kind": "integer"}}}}
        """)
    let project = try Project { $0.schema = schema }
    _ = try project.rest("POST", "notes", body: #"{"id":1,"text":"a"}"#)
    let changed = try project.rest(
      "PATCH", "notes?id=eq.1&revision=eq.1", prefer: "return=representation", body: #"{"text":"b","revision":77}"#)
    #expect(changed.text == #"[{"id":1,"text":"b","revision":2}]"#)
    #expect(
      try project.rest("PATCH", "notes?id=eq.1&revision=eq.1", prefer: "return=representation", body: #"{"text":"c"}"#)
        .text == "[]")
  }

  @Test("checks hold what they say")
  func checks() {
    func check(
      notBlank: Bool = false, maxLength: Int? = nil, trimmed: Bool = false, minimum: Int64? = nil,
      maximum: Int64? = nil, oneOf: [String]? = nil
    ) -> Check {
      Check(
        name: "c", notBlank: notBlank, maxLength: maxLength, trimmed: trimmed, minimum: minimum, maximum: maximum,
        oneOf: oneOf)
    }
    #expect(!check(notBlank: true).allows("   ") && !check(notBlank: true).allows(""))
    #expect(check(notBlank: true).allows("\t") && check(notBlank: true).allows(.null))
    #expect(check(maxLength: 2).allows("👩\u{200D}") && !check(maxLength: 2).allows("abc"))
    #expect(check(maxLength: 2, trimmed: true).allows("  ab  ") && !check(maxLength: 2).allows(" ab "))
    #expect(check(minimum: 1, maximum: 3).allows(3) && !check(minimum: 1, maximum: 3).allows(0))
    #expect(check(minimum: 1).allows("1.5") && !check(maximum: 1).allows("1.5"))
    #expect(check(oneOf: ["a", "b"]).allows("b") && !check(oneOf: ["a", "b"]).allows("c"))
  }
}
