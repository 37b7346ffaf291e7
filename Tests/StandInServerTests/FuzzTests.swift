import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Requests that nobody meant") struct FuzzTests {
  /// Pieces of which queries and bodies are put together.
  static let pieces = [
    "id", "title", "done", "updated_at", "notes", "select", "order", "limit", "offset", "or", "and", "not", "columns",
    "on_conflict", "=", "&", ".", ",", "(", ")", "\"", "\\", "{", "}", "[", "]", ":", "::", "->", "->>", "*", "%",
    "%25",
    "+", " ", "eq", "neq", "in", "is", "like", "ilike", "match", "cs", "gt", "lte", "any", "all", "null", "true", "asc",
    "desc", "nullsfirst", "0", "1", "-1", "99999999999999999999", "2026-01-01", "é", "👩‍👩‍👧", "%ff", "%00", "text", "int4",
    "a0000000-0000-4000-8000-000000000001", "count()", "!inner", "...", "id=eq.1", "or=(id.eq.1,", "select=*,",
  ]
  static let methods = ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "BREW"]
  static let prefers = [
    "return=representation", "return=minimal", "count=exact", "resolution=merge-duplicates",
    "resolution=ignore-duplicates", "missing=default", "handling=strict", "max-affected=1", "nonsense",
  ]
  static let bodies = [
    "", "{}", "[]", "null", "{", "[{}]", #"{"title":"x"}"#, #"[{"title":"x"},{"title":"y"}]"#, #"{"title":null}"#,
    #"{"title":{"a":[1]}}"#, #"{"done":"maybe"}"#, #"{"id":"a0000000-0000-4000-8000-000000000001","title":"t"}"#,
    #"{"updated_at":"infinity","title":"z"}"#, #"{"title":"\u0000"}"#, #"{"title":1e400}"#, "\u{FEFF}{}",
  ]

  @Test(
    "thousands of mangled requests are all answered, and none of them as a failure of the server", arguments: [1, 2, 3])
  func mangled(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let standIn = try StandIn(StandInConfiguration(jwtSecret: TokenTests.secret, passwordRounds: 1))
    let token = JSONWebToken.sign(TokenTests.claims, secret: TokenTests.secret)
    for number in 0..<2_000 {
      var query = ""
      for _ in 0..<Int.random(in: 0...12, using: &generator) {
        query += Self.pieces.randomElement(using: &generator) ?? ""
      }
      var request = StandInRequest(
        method: Self.methods.randomElement(using: &generator) ?? "GET", target: "/rest/v1/tasks?\(query)",
        fields: [("Host", "localhost"), ("apikey", standIn.publishableKey), ("Authorization", "Bearer \(token)")],
        body: Array((Self.bodies.randomElement(using: &generator) ?? "").utf8))
      for _ in 0..<Int.random(in: 0...3, using: &generator) {
        request.fields.append(("Prefer", Self.prefers.randomElement(using: &generator) ?? ""))
      }
      let answer = standIn.answer(request)
      // 21000 is PostgREST's own 500, for a key twice in one upsert.
      let isOwn = answer.status < 500 || String(decoding: answer.body, as: UTF8.self).contains("\"21000\"")
      #expect(isOwn, "seed \(seed), request \(number): \(request.method) \(query) \(answer.status)")
      if answer.status >= 400, request.method != "HEAD" {
        #expect((try? JSONValue(parsing: answer.body))?["code"]?.stringValue != nil, "\(request.method) \(query)")
      }
    }
  }

  @Test("depth cannot overflow the stack")
  func depth() throws {
    let standIn = try StandIn(StandInConfiguration())
    let fields = [(name: "Host", value: "localhost"), (name: "apikey", value: standIn.serviceKey)]
    let deepQuery = String(repeating: "and(", count: 10_000) + "id.eq.1" + String(repeating: ")", count: 10_000)
    let query = StandInRequest(method: "GET", target: "/rest/v1/tasks?or=(\(deepQuery))", fields: fields)
    #expect(standIn.answer(query).status == 400)
    let deepBody = "{\"title\":" + String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000) + "}"
    let body = StandInRequest(method: "POST", target: "/rest/v1/tasks", fields: fields, body: Array(deepBody.utf8))
    #expect(standIn.answer(body).status == 400)
  }

  @Test("what is no HTTP gets no answer that looks like one of ours, and the next client is served")
  func noise() throws {
    let project = try Project()
    for noise in [
      "\r\n\r\n\r\n", "GET\r\n\r\n", "\u{1}\u{2}\u{3}\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
      "GET /" + String(repeating: "x", count: 200_000),
    ] {
      let wire = try Wire(port: project.server.port)
      try? wire.send(Array(noise.utf8))
    }
    #expect(
      try project.wire.request("GET", "/auth/v1/health", [("apikey", project.server.publishableKey)]).status == 200)
  }
}
