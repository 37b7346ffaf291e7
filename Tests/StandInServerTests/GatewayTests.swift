import Foundation
import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("The gateway and the socket") struct GatewayTests {
  static let hosts: [(host: String, isLetIn: Bool)] = [
    ("localhost", true), ("LocalHost:54321", true), ("127.0.0.1", true), ("127.0.0.1:1", true), ("[::1]", true),
    ("[::1]:54321", true), ("example.org", false), ("localhost.example.org", false), ("127.0.0.1.example.org", false),
    ("127.0.0.2", false), ("localhost:x", false), ("[::1]x", false), ("[::2]", false), ("localhost:123456", false),
    ("evil@127.0.0.1", false),
  ]

  @Test(
    "only names of this machine are answered, so that no web page can reach it by a name of its own", arguments: hosts)
  func host(_ host: String, isLetIn: Bool) throws {
    let project = try Project()
    let answer = try project.wire.request(
      "GET", "/auth/v1/health", [("apikey", project.server.publishableKey)], host: host)
    #expect(answer.status == (isLetIn ? 200 : 403))
  }

  @Test("a second Host field is refused")
  func twoHosts() throws {
    let project = try Project()
    let answer = try project.wire.request(
      "GET", "/auth/v1/health", [("Host", "example.org"), ("apikey", project.server.publishableKey)])
    #expect(answer.status == 403 || answer.status == 400)
  }

  @Test("a request without a key, or with a wrong one, is refused in the gateway's words")
  func keys() throws {
    let project = try Project()
    let none = try project.wire.request("GET", "/rest/v1/tasks")
    #expect(none.status == 401)
    #expect(
      none.json
        == [
          "message": "No API key found in request", "hint": "No `apikey` request header or url param was found.",
        ])
    let wrong = try project.wire.request("GET", "/auth/v1/settings", [("apikey", "sb_publishable_nonsense")])
    #expect(wrong.status == 401)
    #expect(wrong.json.text("message") == "Invalid API key")
    let inQuery = try project.wire.request("GET", "/rest/v1/tasks?apikey=\(project.server.publishableKey)")
    #expect(inQuery.status == 200 && inQuery.text == "[]")
    for key in [
      project.server.standIn.legacyAnonKey, project.server.serviceKey, project.server.standIn.legacyServiceKey,
    ] {
      #expect(try project.wire.request("GET", "/rest/v1/tasks", [("apikey", key)]).status == 200)
    }
    let open = try project.wire.request("GET", "/auth/v1/.well-known/jwks.json")
    #expect(open.status == 200 && open.text == #"{"keys":[]}"#)
  }

  @Test("the key itself in place of a token means the key's role; another key there is no token")
  func keyAsToken() throws {
    let project = try Project()
    let token = try project.signUpAnonymously().text("access_token")
    _ = try project.rest("POST", "tasks", token: token, body: #"{"title":"mine"}"#)
    func read(key: String, bearer: String) throws -> Wire.Answer {
      try project.wire.request(
        "GET", "/rest/v1/tasks?select=title", [("apikey", key), ("Authorization", "Bearer \(bearer)")])
    }
    let server = project.server
    #expect(try read(key: server.publishableKey, bearer: server.publishableKey).text == "[]")
    #expect(try read(key: server.serviceKey, bearer: server.serviceKey).text == #"[{"title":"mine"}]"#)
    #expect(try read(key: server.publishableKey, bearer: server.standIn.legacyAnonKey).text == "[]")
    #expect(
      try read(key: server.publishableKey, bearer: server.standIn.legacyServiceKey).text == #"[{"title":"mine"}]"#)
    let crossed = try read(key: server.publishableKey, bearer: server.serviceKey)
    #expect(crossed.status == 401 && crossed.json["code"] == "PGRST301")
  }

  @Test("many requests go over one connection, also when they are sent in one piece")
  func keepAlive() throws {
    let project = try Project()
    for _ in 0..<50 {
      let answer = try project.wire.request("GET", "/auth/v1/health", [("apikey", project.server.publishableKey)])
      #expect(answer.status == 200)
    }
    let one = "GET /auth/v1/health HTTP/1.1\r\nHost: localhost\r\napikey: \(project.server.publishableKey)\r\n\r\n"
    try project.wire.send(Array((one + one + one).utf8))
    for _ in 0..<3 { #expect(try project.wire.read(to: "GET").status == 200) }
  }

  @Test("a body comes in pieces, or in chunks")
  func slowBody() throws {
    let project = try Project()
    let head =
      "POST /auth/v1/signup HTTP/1.1\r\nHost: localhost\r\napikey: \(project.server.publishableKey)\r\n"
    try project.wire.send(Array((head + "Content-Length: 20\r\n\r\n{\"data\":").utf8))
    try project.wire.send(Array("{\"a\":\"b c\"}}".utf8))
    let whole = try project.wire.read(to: "POST")
    #expect(whole.json["user"]?["user_metadata"] == ["a": "b c"])
    try project.wire.send(
      Array((head + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n").utf8))
    #expect(try project.wire.read(to: "POST").status == 200)
  }

  @Test("a body over the limit is refused, before it is sent where its length is told")
  func bodyLimit() throws {
    let project = try Project { $0.bodyBytesMax = 1_000 }
    let key = project.server.publishableKey
    try project.wire.send(
      Array("POST /rest/v1/tasks HTTP/1.1\r\nHost: localhost\r\napikey: \(key)\r\nContent-Length: 5000\r\n\r\n".utf8))
    #expect(try project.wire.read(to: "POST").status == 413)
    project.wire = try Wire(port: project.server.port)
    let chunk = "1F4\r\n" + String(repeating: "x", count: 500) + "\r\n"
    try project.wire.send(
      Array(
        ("POST /auth/v1/signup HTTP/1.1\r\nHost: localhost\r\napikey: \(key)\r\nTransfer-Encoding: chunked\r\n\r\n"
          + chunk + chunk + chunk + "0\r\n\r\n").utf8))
    let late = try project.wire.read(to: "POST")
    #expect(late.status == 413)
    #expect(late.json["error_code"] == "request_entity_too_large")
  }

  @Test("every answer says what time it is on the server")
  func date() throws {
    let project = try Project()
    let answer = try project.rest("GET", "tasks")
    #expect(answer.field("Date") == "Sun, 18 Oct 2026 13:00:27 GMT")
    #expect(try project.wire.request("GET", "/nowhere").field("Date") != nil)
  }

  @Test("the log line names method, path and status, and nothing of the query or a key")
  func log() throws {
    let lines = Mutexed<[String]>([])
    let project = try Project { $0.log = { line in lines.change { $0.append(line) } } }
    _ = try project.rest("GET", "tasks?title=eq.secret")
    let line = try #require(lines.value.first)
    #expect(line.hasPrefix("GET /rest/v1/tasks 200 "))
    #expect(!line.contains("secret") && !line.contains("sb_"))
  }

  @Test("several clients at once are all served")
  func manyClients() async throws {
    let project = try Project()
    let (port, key) = (project.server.port, project.server.publishableKey)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let wire = try Wire(port: port)
          var good = 0
          for _ in 0..<20 {
            if try wire.request("GET", "/rest/v1/tasks", [("apikey", key)]).status == 200 { good += 1 }
          }
          return good
        }
      }
      var total = 0
      for try await good in group { total += good }
      #expect(total == 160)
    }
  }

  @Test("a stopped server lets go of its port and can be started again; two cannot share one")
  func restart() throws {
    let first = try StandInServer()
    try first.start()
    let port = first.port
    let second = try StandInServer(StandInConfiguration(port: port))
    #expect(throws: StandInError.self) { try second.start() }
    first.stop()
    try second.start()
    #expect(second.port == port)
    second.stop()
    second.stop()
  }
}
