import LosslessJSON
import Testing

@testable import SupabaseAPI

@Suite("Judging answers to requests on tables") struct TableAnswerTests {
  /// What was asked: rows, rows with a count, a count alone, or a write without an answer.
  static func request(_ asked: String) -> TableRequest {
    switch asked {
    case "rows": .select("tasks")
    case "counted": .select("tasks", count: .exact)
    case "count": .count("tasks")
    default: .update("tasks", set: ["done": true], filters: [.eq("id", "a1")])
    }
  }

  /// One line about what an answer was judged to be: the kind with its code, or rows, total and range of an answer.
  static func judgement(_ response: HTTPResponse, _ asked: String) -> String {
    do {
      let answer = try TableAnswer(judging: response, to: request(asked))
      let numbers = [answer.rows.count, answer.total, answer.rangeCount].map { $0.map(String.init) ?? "-" }
      return "answer " + numbers.joined(separator: " ")
    } catch {
      return switch error {
      case .http: "http"
      case .refused(let error): "refused \(error.code)"
      case .tokenRefused(let error): "tokenRefused \(error.code)"
      case .gatewayRefused: "gatewayRefused"
      case .schemaCache(let error): "schemaCache \(error.code)"
      case .unavailable(_, _, let error): "unavailable \(error?.code ?? "-")"
      case .notAnAnswer: "notAnAnswer"
      case .invalidProject, .invalidSession: "invalid"
      }
    }
  }

  @Test("recorded answers of real servers are judged as what they are")
  func recorded() throws {
    let lines = String(decoding: try fixture("recorded-answers.jsonl"), as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 36)
    for line in lines {
      let json = try JSONValue(parsing: String(line))
      var fields = HTTPFields()
      for (name, value) in try #require(json["headers"]?.objectValue) { fields.add(name, value.stringValue ?? "") }
      let response = HTTPResponse(
        Int(try #require(json["status"]?.int64Value)), try #require(json["body"]?.stringValue), fields)
      let judged = Self.judgement(response, try #require(json["asked"]?.stringValue))
      #expect(judged == json["expected"]?.stringValue, "\(json["name"]?.stringValue ?? "")")
    }
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let response: HTTPResponse
    let asked: String
    let expected: String
    var testDescription: String { name }

    init(_ name: String, _ response: HTTPResponse, _ asked: String, _ expected: String) {
      self.name = name
      self.response = response
      self.asked = asked
      self.expected = expected
    }
  }

  static let html: HTTPFields = ["Content-Type": "text/html"]
  static let cases: [Case] = [
    Case("a page with 200", HTTPResponse(200, "<html>", html), "rows", "notAnAnswer"),
    Case("an object with 200", HTTPResponse(200, "{}"), "rows", "notAnAnswer"),
    Case("numbers with 200", HTTPResponse(200, "[1]"), "rows", "notAnAnswer"),
    Case("half an array with 200", HTTPResponse(200, #"[{"id":1}"#), "rows", "notAnAnswer"),
    Case("nothing with 200", HTTPResponse(200), "rows", "notAnAnswer"),
    Case("nothing with 204 where rows were asked for", HTTPResponse(204), "rows", "notAnAnswer"),
    Case("accepted for later", HTTPResponse(202, "[]"), "rows", "notAnAnswer"),
    Case("a page with 200 after a write", HTTPResponse(200, "<html>", html), "minimal", "notAnAnswer"),
    Case("nothing with 200 after a write", HTTPResponse(200, "", html), "minimal", "notAnAnswer"),
    Case("a range with 200 after a write", HTTPResponse(200, "", ["Content-Range": "*/*"]), "minimal", "answer 0 - -"),
    Case("nothing with 204 after a write", HTTPResponse(204), "minimal", "answer 0 - -"),
    Case("a count without its total", HTTPResponse(200, "", ["Content-Range": "0-3/*"]), "count", "notAnAnswer"),
    Case("a count from a page", HTTPResponse(200, "", html), "count", "notAnAnswer"),
    Case("a count of none", HTTPResponse(200, "", ["Content-Range": "*/0"]), "count", "answer 0 0 -"),
    Case("a moved project", HTTPResponse(301, "", ["Location": "https://x"]), "rows", "notAnAnswer"),
    Case("not modified", HTTPResponse(304), "rows", "notAnAnswer"),
    Case("an ambiguous relation", HTTPResponse(300, #"{"code":"PGRST201","message":"m"}"#), "rows", "notAnAnswer"),
    Case(
      "wrong key, hosted", HTTPResponse(401, #"{"message":"Invalid API key","hint":"h"}"#), "rows", "gatewayRefused"),
    Case("wrong key, self-hosted", HTTPResponse(401, #"{"message":"No API key found"}"#), "rows", "gatewayRefused"),
    Case("key not allowed", HTTPResponse(403, #"{"message":"You cannot consume this"}"#), "rows", "gatewayRefused"),
    Case("a number as code", HTTPResponse(401, #"{"code":401,"message":"m"}"#), "rows", "gatewayRefused"),
    Case("a page with 401", HTTPResponse(401, "<html>", html), "rows", "notAnAnswer"),
    Case("a page with 403", HTTPResponse(403, "<html>", html), "rows", "notAnAnswer"),
    Case("a page with 404", HTTPResponse(404, "<html>", html), "rows", "notAnAnswer"),
    Case("an empty object with 404", HTTPResponse(404, "{}"), "rows", "notAnAnswer"),
    Case("a gateway's words with 404", HTTPResponse(404, #"{"message":"no Route matched"}"#), "rows", "notAnAnswer"),
    Case("an over-long URL", HTTPResponse(400), "rows", "notAnAnswer"),
    Case("a body too large, from a gateway", HTTPResponse(413, "<html>", html), "minimal", "refused 413"),
    Case(
      "a token of another kind", HTTPResponse(401, #"{"code":"PGRST302","message":"m"}"#), "rows",
      "tokenRefused PGRST302"),
    Case("raised in SQL with 401", HTTPResponse(401, #"{"code":"PT401","message":"m"}"#), "rows", "refused PT401"),
    Case("a bad parameter", HTTPResponse(400, #"{"code":"22023","message":"m"}"#), "rows", "refused 22023"),
    Case("raised in SQL", HTTPResponse(400, #"{"code":"P0001","message":"m"}"#), "minimal", "refused P0001"),
    Case(
      "schema cache not built", HTTPResponse(503, #"{"code":"PGRST002","message":"m"}"#), "rows", "unavailable PGRST002"
    ),
    Case(
      "no connection in time", HTTPResponse(504, #"{"code":"PGRST003","message":"m"}"#), "rows", "unavailable PGRST003"),
    Case("a function not found", HTTPResponse(404, #"{"code":"PGRST202","message":"m"}"#), "rows", "refused PGRST202"),
    Case("a proxy's time-out", HTTPResponse(408, "<html>"), "rows", "unavailable -"),
    Case("too early", HTTPResponse(425), "rows", "unavailable -"),
    Case("too many", HTTPResponse(429, #"{"message":"slow down"}"#), "rows", "unavailable -"),
    Case("a bad gateway", HTTPResponse(502, "<html>"), "minimal", "unavailable -"),
    Case("an edge without its origin", HTTPResponse(522, "error code: 522"), "minimal", "unavailable -"),
    Case("a paused project", HTTPResponse(540, "<html>"), "rows", "unavailable -"),
    Case(
      "another proxy's status", HTTPResponse(404, "", ["Proxy-Status": "Edge; error=dns_error"]), "rows", "notAnAnswer"),
    Case(
      "PostgREST's status behind another proxy's",
      HTTPResponse(404, "", ["Proxy-Status": "Edge; x=1, PostgREST; error=PGRST205"]), "count", "schemaCache PGRST205"),
  ]

  @Test("only the service's own word is a refusal", arguments: cases)
  func judged(_ one: Case) {
    #expect(Self.judgement(one.response, one.asked) == one.expected)
  }

  @Test("the answer keeps its rows in full, the server's clock and the number of sends")
  func answer() throws {
    var response = HTTPResponse(
      206, #"[{"id":"a","rank":1.10,"big":12345678901234567890}]"#,
      ["Content-Range": "0-0/7", "Date": "Sun, 18 Oct 2026 13:00:27 GMT"])
    response.sends = 2
    let answer = try TableAnswer(judging: response, to: .select("tasks", count: .exact))
    #expect(answer.total == 7)
    #expect(answer.serverDate == 1_792_328_427)
    #expect(answer.sends == 2)
    let row = try #require(answer.rows.first)
    #expect(JSONValue.object(row).serialized() == #"{"id":"a","rank":1.10,"big":12345678901234567890}"#)
  }

  @Test(
    "Retry-After is seconds, or a date measured against the answer's own clock",
    arguments: [
      ("7", nil, 7), ("0", nil, 0), ("Sun, 18 Oct 2026 13:00:30 GMT", "Sun, 18 Oct 2026 13:00:00 GMT", 30),
      ("Sun, 18 Oct 2026 12:00:00 GMT", "Sun, 18 Oct 2026 13:00:00 GMT", 0),
      ("Sun, 18 Oct 2026 13:00:30 GMT", nil, nil), ("soon", nil, nil), ("-5", nil, nil), ("", nil, nil),
      ("99999999999999999999", nil, nil), ("9999999999", nil, 2_147_483_647),
    ] as [(String, String?, Int?)])
  func retryAfter(_ text: String, _ date: String?, _ expected: Int?) throws {
    var fields: HTTPFields = ["retry-after": text]
    if let date { fields.add("date", date) }
    #expect {
      try TableAnswer(judging: HTTPResponse(503, "", fields), to: .select("tasks"))
    } throws: {
      ($0 as? SupabaseError)?.retryAfter == expected
    }
  }

  @Test(
    "the dates of headers are read",
    arguments: [
      ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
      ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199), ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
      ("Fri, 31 Dec 2100 12:00:00 GMT", 4_133_937_600), ("Sun Nov  6 08:49:37 1994", nil),
      ("Sun, 06 Nov 1994 08:49:37 CET", nil), ("Sun, 06 Foo 1994 08:49:37 GMT", nil),
      ("Sun, 06 Nov 1994 24:00:00 GMT", nil), ("Sun, 06 Nov 1994 08:49 GMT", nil),
    ] as [(String, Int64?)])
  func dates(_ text: String, _ expected: Int64?) {
    #expect(HTTPDate.seconds(text) == expected)
  }

  @Test(
    "an error says whether the server may have acted on the request",
    arguments: [
      (SupabaseError.http(.cut(origin: "o", reason: "r", mayHaveReachedServer: true)), true),
      (.http(.cannotConnect(origin: "o", reason: "r")), false),
      (.unavailable(status: 502, retryAfter: nil, nil), true),
      (.unavailable(status: 429, retryAfter: nil, nil), false),
      (.unavailable(status: 500, retryAfter: nil, ServerError(status: 500, code: "57014", message: "")), false),
      (.unavailable(status: 503, retryAfter: nil, ServerError(status: 503, code: "08006", message: "")), true),
      (.notAnAnswer(status: 200, reason: "r", retryAfter: nil), true),
      (.notAnAnswer(status: 404, reason: "r", retryAfter: nil), false),
      (.refused(ServerError(status: 400, code: "23514", message: "")), false),
    ])
  func reached(_ error: SupabaseError, _ expected: Bool) {
    #expect(error.mayHaveReachedServer == expected)
  }

  @Test("a message of a value that did not fit, the details and the hint stay out of descriptions")
  func quietDescriptions() throws {
    let values = [
      #"{"code":"22P02","message":"invalid input syntax for type uuid: \"hidden\"","details":"hidden","hint":"hidden"}"#,
      #"{"code":"PGRST100","message":"failed to parse filter (hidden)"}"#,
      #"{"code":"23505","message":"duplicate key","details":"Key (id)=(hidden) already exists."}"#,
    ]
    for body in values {
      #expect { try TableAnswer(judging: HTTPResponse(400, body), to: .select("tasks")) } throws: { error in
        var text = "\(error)"
        dump(error, to: &text)
        return !text.contains("hidden")
      }
    }
  }

  @Test("a server's sentence cannot write to the terminal or forge a line of a log")
  func printable() {
    let error = ServerError(status: 400, code: "P0001", message: "a\u{1B}[2Jb\nc" + String(repeating: "x", count: 999))
    #expect(error.description.hasPrefix("HTTP 400, P0001: a [2Jb cxxx"))
    #expect(error.description.unicodeScalars.count < 330)
  }

  @Test("the client passes on what it cannot send, and sends each request once")
  func client() async throws {
    let exchange = ScriptedExchange(
      .failure(.cannotConnect(origin: "o", reason: "r")), .success(HTTPResponse(503)), .success(HTTPResponse(200, "[]"))
    )
    let client = TableClient(project: try testProject(), http: exchange)
    await #expect(throws: SupabaseError.http(.cannotConnect(origin: "o", reason: "r"))) {
      try await client.send(.select("tasks"), accessToken: nil)
    }
    await #expect(throws: SupabaseError.unavailable(status: 503, retryAfter: nil, nil)) {
      try await client.send(.select("tasks"), accessToken: nil)
    }
    #expect(try await client.send(.select("tasks"), accessToken: nil).rows.isEmpty)
    #expect(await exchange.requests.count == 3)
  }
}
