import LosslessJSON
import Testing

@testable import SupabaseAPI

@Suite("Requests on tables, as sent") struct TableRequestTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let request: TableRequest
    var accessToken: Secret? = Secret("user-token")
    var testDescription: String { name }

    init(_ name: String, _ request: TableRequest) {
      self.name = name
      self.request = request
    }
  }

  static let version: JSONValue = "2026-10-18T13:00:27.486123+00:00"
  static let first: JSONObject = ["id": "a1", "title": "Buy oat milk"]
  static let second: JSONObject = ["id": "a2", "title": "Call", "notes": nil]

  static let cases: [Case] = [
    Case("select-all", .select("tasks")),
    Case(
      "select-page",
      .select(
        "tasks", columns: ["id", "title"], filters: [.eq("done", false), .gte("rank", 1.5), .neq("title", "a,b (c)")],
        order: [Order("id", .descending, nulls: .last), Order("title")], limit: 10, offset: 20, count: .exact)),
    Case(
      "select-behind",
      .select(
        "tasks", columns: ["id", "updated_at"], filters: [.behind("updated_at", version, key: "id", "a1")],
        order: [Order("updated_at"), Order("id")], limit: 1_000)),
    Case(
      "select-in",
      .select(
        "tasks", filters: [.in("title", ["a,b", "c\"d", "e\\f", "plain", "x(y)", "a.b", "a:b", "a b", "", 7, nil])])),
    Case("select-in-nothing", .select("tasks", filters: [.in("id", [])])),
    Case(
      "select-null",
      .select(
        "tasks",
        filters: [
          .eq("notes", nil), .neq("title", nil), .is("done", .yes), .not("id", .oneOf(["a1"])),
          .not("rank", .value(.less, 3)),
        ])),
    Case(
      "select-groups",
      .select(
        "tasks",
        filters: [
          .or([.eq("notes", nil), .and([.lt("rank", -3), .lte("title", "z, \"y\"")]), .in("id", ["a1", "b,2"])]),
          .group(.or, [.eq("done", true), .not("done", .identity(.null))], isNegated: true),
        ])),
    Case(
      "select-odd-names",
      .select(
        "odd table/name", columns: ["id", "odd name", "a\"b", "größe"],
        filters: [.eq("odd.name", "x"), .eq("order", 1), .or([.eq("not", 1)])],
        order: [Order("odd name")])),
    Case("count", .count("tasks", filters: [.eq("done", true)])),
    Case("insert-one", .insert("tasks", row: first, returning: ["id", "updated_at"])),
    Case("insert-one-minimal", .insert("tasks", row: first)),
    Case("insert-many", .insert("tasks", rows: [first, second], returning: [])),
    Case("insert-many-nulls", .insert("tasks", rows: [first, second], missingDefault: false)),
    Case("insert-none", .insert("tasks", rows: [], returning: [])),
    Case(
      "upsert-ignore",
      .upsert("tasks", rows: [first, second], ignoreDuplicates: true, returning: ["id", "updated_at"])),
    Case("upsert-merge", .upsert("tasks", rows: [second], onConflict: ["user_id", "id"], missingDefault: false)),
    Case(
      "update-guarded",
      .update(
        "tasks", set: ["title": "Zoë \"+\" 1", "notes": nil], filters: [.eq("id", "a1"), .eq("updated_at", version)],
        returning: ["id", "title", "updated_at"])),
    Case("update-minimal", .update("tasks", set: ["done": true], filters: [.eq("id", "a1")])),
    Case(
      "delete-guarded",
      .delete("tasks", filters: [.eq("id", "a1"), .eq("updated_at", version)], returning: ["id"])),
    Case("delete-minimal", .delete("tasks", filters: [.in("id", ["a1", "a2"])])),
  ]

  @Test("each kind of request is written as the official clients write it", arguments: cases)
  func asSent(_ one: Case) throws {
    let request = one.request.httpRequest(project: try testProject(), accessToken: one.accessToken)
    _ = try request.validated()
    try expectGolden(request.asSent, one.name)
  }

  @Test("the same calls of the official Python client, as recorded, ask for the same thing")
  func recordedClient() throws {
    var upsert = TableRequest.upsert(
      "todos", rows: [["id": 1, "title": "b"], ["id": 2]], onConflict: ["owner", "id"], returning: [])
    upsert.count = .exact
    let ours: [TableRequest] = [
      .select("todos"), .select("todos", limit: 10, offset: 0, count: .exact),
      .insert("todos", row: ["id": 1, "title": "a"], returning: []),
      .insert(
        "todos", rows: [["id": 1, "title": "a"], ["id": 2, "title": "b"]], missingDefault: false, returning: []),
      upsert, .update("todos", set: ["done": true], filters: [.eq("id", 1)], returning: []),
      .update("todos", set: ["done": true], filters: [.eq("id", 1), .eq("updated_at", "2026-01-02T03:04:05+00:00")]),
    ]
    let lines = String(decoding: try fixture("python-client-requests.jsonl"), as: UTF8.self).split(separator: "\n")
    #expect(lines.count == ours.count)
    for (line, request) in zip(lines, ours) {
      let theirs = try JSONValue(parsing: String(line))
      let sent = request.httpRequest(project: try testProject(), accessToken: nil)
      let parts = sent.url.dropFirst(testURL.count).split(separator: "?")
      let query = parts.count > 1 ? parts[1] : ""
      #expect(sent.method == theirs["method"]?.stringValue)
      #expect(parts.first.map(String.init) == theirs["path"]?.stringValue)
      #expect(Set(query.split(separator: "&")) == Set(theirs["query"]?.stringValue?.split(separator: "&") ?? []))
      let preferences = theirs["prefer"]?.stringValue?.split(separator: ",") ?? []
      #expect(Set(sent.fields["Prefer"]?.split(separator: ",") ?? []) == Set(preferences))
      #expect(try sent.body.map { try JSONValue(parsing: $0) } ?? .null == theirs["body"])
    }
  }

  @Test("signed out, the key stands in the place of the token, and another schema is named")
  func signedOut() throws {
    var request = TableRequest.select("tasks", columns: ["id"])
    request.schema = "private"
    let sent = request.httpRequest(project: try testProject(), accessToken: nil)
    #expect(sent.fields["Authorization"] == "Bearer publishable-key")
    #expect(sent.fields["Accept-Profile"] == "private")
  }

  @Test(
    "text in a query is encoded down to letters, digits and - . _ ~ ? /",
    arguments: [
      (" ", "%20"), ("+", "%2B"), (":", "%3A"), (",", "%2C"), ("*", "%2A"), ("(a)", "%28a%29"), ("\"", "%22"),
      ("&=#", "%26%3D%23"), ("%", "%25"), ("a-b.c_d~e", "a-b.c_d~e"), ("a/b?c", "a/b?c"), ("é", "%C3%A9"),
      ("\r\n\u{0}", "%0D%0A%00"), ("🙂", "%F0%9F%99%82"),
    ])
  func queryEncoding(_ text: String, _ expected: String) {
    #expect(PercentEncoding.query(text) == expected)
  }

  @Test(
    "a value in a list is quoted where PostgREST would read more than text in it",
    arguments: [
      ("plain", "plain"), ("a-b_c", "a-b_c"), ("a,b", "\"a,b\""), ("a.b", "\"a.b\""), ("a:b", "\"a:b\""),
      ("a*", "\"a*\""), ("(", "\"(\""), (")", "\")\""), ("a\"b", "\"a\\\"b\""), ("a\\b", "\"a\\\\b\""),
      (" a", "\" a\""), ("a\tb", "\"a\tb\""), ("", "\"\""), ("{a}", "\"{a}\""), ("null", "null"),
      ("a\u{A0}b", "\"a\u{A0}b\""), ("\r\n", "\"\r\n\""), ("\"\u{301}", "\"\\\"\u{301}\""),
    ])
  func quoting(_ text: String, _ expected: String) {
    #expect(FilterValue.quoted(.string(text)) == expected)
  }

  @Test("a value alone after an operator is sent as it is, without quotes")
  func plainValues() {
    #expect(Filter.eq("title", "a,\"b\" (c).*").queryItem.value == "eq.a,\"b\" (c).*")
    #expect(Filter.eq("rank", .number(JSONNumber("1.10") ?? 0)).queryItem.value == "eq.1.10")
    #expect(Filter.eq("detail", ["k": [1, true, nil]]).queryItem.value == "eq.{\"k\":[1,true,null]}")
  }

  @Test("neither a description nor a dump of a request shows a value, a row, a key or a token")
  func nothingLeaks() throws {
    let request = TableRequest.update(
      "tasks", set: ["title": "hidden-1"],
      filters: [.eq("id", "hidden-2"), .in("title", ["hidden-3"]), .or([.gt("rank", "hidden-4")])], returning: [])
    let sent = request.httpRequest(
      project: try Project(url: testURL, key: Secret("hidden-5")), accessToken: Secret("hidden-6"))
    var dumped = ""
    dump(request, to: &dumped)
    dump(sent, to: &dumped)
    dump(sent.fields, to: &dumped)
    dump(try testProject(), to: &dumped)
    dump(Secret("hidden-7"), to: &dumped)
    dump(request.filters, to: &dumped)
    dump(HTTPResponse(200, "hidden-8", ["X-Token": "hidden-9"]), to: &dumped)
    for value in ["\(request)", "\(sent)", "\(sent.fields)", String(reflecting: sent), String(reflecting: request)] {
      dumped += value
    }
    #expect(!dumped.contains("hidden"))
    #expect(!dumped.contains("publishable-key"))
    #expect("\(request)" == "set title in 'tasks' where id eq … and title in (1 values) and (rank gt …)")
    #expect("\(Secret("a"))" == "[secret]")
  }
}

@Suite("Projects") struct ProjectTests {
  @Test(
    "an address is taken with or without its slash, in any case",
    arguments: [
      ("https://abc.supabase.co", "https://abc.supabase.co"), ("https://abc.supabase.co/", "https://abc.supabase.co"),
      ("HTTPS://Abc.Supabase.Co//", "https://abc.supabase.co"), ("http://127.0.0.1:54321", "http://127.0.0.1:54321"),
      ("http://[::1]:54321/", "http://[::1]:54321"), ("http://box.lan", "http://box.lan"),
    ])
  func goodAddresses(_ url: String, _ expected: String) throws {
    #expect(try Project(url: url, key: Secret("k")).url == expected)
  }

  @Test(
    "an address that cannot be a project is refused with a reason",
    arguments: [
      "", "abc.supabase.co", "ftp://abc.supabase.co", "https://", "https://a b.co", "https://abc.supabase.co/rest/v1",
      "https://abc.supabase.co?x=1", "https://abc.supabase.co/#top", "https://me:word@abc.supabase.co",
      "https://abc.supabase.co:0", "https://abc.supabase.co\n", "https://ä.example",
    ])
  func badAddresses(_ url: String) {
    #expect { try Project(url: url, key: Secret("k")) } throws: { error in
      guard case SupabaseError.invalidProject = error else { return false }
      return !"\(error)".contains("word@")
    }
  }

  @Test("a key that would break a header is refused", arguments: ["", "a b", "a\r\nX: y", "ä"])
  func badKeys(_ key: String) {
    #expect(throws: SupabaseError.self) { try Project(url: "https://abc.supabase.co", key: Secret(key)) }
  }
}
