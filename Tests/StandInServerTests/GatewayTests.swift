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

  static let origins: [(origin: String, isLetIn: Bool)] = [
    ("http://localhost:3000", true), ("https://127.0.0.1", true), ("http://[::1]:5173", true),
    ("https://evil.example", false), ("null", false), ("", false), ("file://", false), ("localhost", false),
    ("http://localhost.evil.example", false), ("http://localhost:3000/path", false), ("ftp://localhost", false),
  ]

  @Test("a page of another site is refused before anything is done, and told nothing", arguments: origins)
  func origin(_ origin: String, isLetIn: Bool) throws {
    let project = try Project()
    let key = project.server.serviceKey
    // What a form of a web page sends: no field of its own, the key in the address.
    let form = try project.wire.request(
      "POST", "/rest/v1/tasks?apikey=\(key)", [("Origin", origin), ("Content-Type", "text/plain")],
      body: #"{"title":"forged","user_id":"11111111-1111-4111-8111-111111111111"}"#)
    #expect((form.status == 403) == !isLetIn)
    let preflight = try project.wire.request(
      "OPTIONS", "/rest/v1/tasks", [("Origin", origin), ("Access-Control-Request-Method", "POST"), ("apikey", key)])
    for answer in [form, preflight] {
      #expect(!answer.fields.contains { $0.name.lowercased().hasPrefix("access-control-") })
    }
    let faults = try project.wire.request(
      "PUT", "/stand-in/faults", [("Origin", origin), ("apikey", key)], body: #"[{"kind":"latency","milliseconds":0}]"#)
    #expect(faults.status == (isLetIn ? 200 : 403) && project.server.faults.isEmpty == !isLetIn)
    project.server.faults = []
    if !isLetIn { #expect(try project.wire.request("GET", "/rest/v1/tasks", [("apikey", key)]).text == "[]") }
  }

  @Test("only the loopback of this machine is listened on, and not over IPv6")
  func loopback() throws {
    let project = try Project()
    let port = String(format: ":%04X", project.server.port)
    func addresses(_ table: String) throws -> Set<Substring> {
      // The columns are a number, the address here, the one there, and the state, which is 0A while it listens.
      let file = try #require(FileHandle(forReadingAtPath: "/proc/self/net/\(table)"))
      let lines = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n")
      let rows = lines.dropFirst().map { line in line.split(separator: " ") }
      return Set(rows.filter { row in row[3] == "0A" && row[1].hasSuffix(port) }.map { row in row[1] })
    }
    // The kernel lists sockets piece by piece: while others open and close, one may be left out or come twice.
    var found: Set<Substring> = []
    for _ in 0..<1_000 where found.isEmpty { found = try addresses("tcp") }
    #expect(found == ["0100007F\(port)"])
    #expect(try addresses("tcp6").isEmpty)
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

  @Test("a secret key in a browser is refused, the publishable one is not")
  func secretInBrowser() throws {
    let project = try Project()
    func status(_ key: String, _ agent: String) throws -> Int {
      try project.wire.request("GET", "/rest/v1/tasks", [("apikey", key), ("User-Agent", agent)]).status
    }
    let browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    #expect(try status(project.server.serviceKey, browser) == 401)
    #expect(try status(project.server.serviceKey, "curl/8.0") == 200)
    #expect(try status(project.server.publishableKey, browser) == 200)
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

  @Test("no secret is in the log, the list of requests or an error, and no password in the files")
  func secrets() throws {
    try withFolder { folder in
      let lines = Mutexed<[String]>([])
      let project = try Project {
        $0.dataFolder = folder
        $0.log = { line in lines.change { $0.append(line) } }
      }
      let key = project.server.publishableKey
      let session = try project.auth("POST", "signup", body: #"{"email":"a@b.c","password":"correct horse"}"#).json
      let (access, refresh) = (session.text("access_token"), session.text("refresh_token"))
      var answers: [Wire.Answer] = []
      func ask(_ method: String, _ target: String, _ fields: [(String, String)] = [], body: String? = nil) throws {
        answers.append(try project.wire.request(method, target, [("apikey", key)] + fields, body: body))
      }
      let bearer = [("Authorization", "Bearer \(access)")]
      try ask("GET", "/rest/v1/tasks?title=eq.correct%20horse", bearer)
      try ask("POST", "/auth/v1/token?grant_type=password", body: #"{"email":"a@b.c","password":"wrong horse"}"#)
      try ask("PUT", "/auth/v1/user", bearer, body: #"{"password":"correct horse"}"#)
      try ask("POST", "/auth/v1/token?grant_type=refresh_token", body: #"{"refresh_token":"\#(refresh)x"}"#)
      try ask("GET", "/auth/v1/user", [("Authorization", "Bearer \(access)x")])
      try ask("GET", "/storage/v1/object/sign/photos/a.jpg?token=\(access)&apikey=\(key)")
      try ask("GET", "/rest/v2/tasks?apikey=\(key)&access_token=\(access)")
      try ask("POST", "/auth/v1/verify?token_hash=\(access)", body: #"{"type":"x","token_hash":"\#(access)"}"#)
      project.server.faults = [StandInFault(.dropAfter)]
      #expect(throws: Wire.Failure.self) { try ask("GET", "/auth/v1/user", bearer) }
      let listed = project.server.requests.map { "\($0.path)?\($0.query)" }
      #expect(lines.value.count == 10 && listed.count == 10)
      #expect(lines.value.first?.hasPrefix("POST /auth/v1/signup 200 ") == true)
      let secrets = ["correct horse", "wrong horse", access, refresh, key, project.server.serviceKey]
      for secret in secrets {
        for line in lines.value { #expect(!line.contains(secret) && !line.contains("eq.")) }
        for line in listed { #expect(!line.contains(secret)) }
        for answer in answers where answer.status >= 400 { #expect(!answer.text.contains(secret)) }
      }
      let kept = try bytes(under: folder)
      #expect(kept.contains(Array("a@b.c".utf8)) && !kept.contains(Array("correct horse".utf8)))
    }
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
