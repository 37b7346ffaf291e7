import Glibc
import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Misbehaviour on purpose") struct FaultTests {
  private func signedIn(_ change: (inout StandInConfiguration) -> Void = { _ in }) throws -> (Project, String) {
    let project = try Project(change)
    return (project, try project.signUpAnonymously().text("access_token"))
  }

  @Test("an answer is dropped after the row was written, or before anything was done")
  func dropped() throws {
    let (project, token) = try signedIn()
    project.server.faults = [StandInFault(.dropAfter, path: "/rest/v1/tasks")]
    #expect(throws: Wire.Failure.self) { try project.rest("POST", "tasks", token: token, body: #"{"title":"kept"}"#) }
    project.wire = try Wire(port: project.server.port)
    #expect(try project.rest("GET", "tasks?select=title", token: token).text == #"[{"title":"kept"}]"#)
    project.server.faults = [StandInFault(.dropBefore, method: "POST")]
    #expect(throws: Wire.Failure.self) { try project.rest("POST", "tasks", token: token, body: #"{"title":"lost"}"#) }
    project.wire = try Wire(port: project.server.port)
    #expect(try project.rest("GET", "tasks?select=title", token: token).text == #"[{"title":"kept"}]"#)
    #expect(project.server.faults.isEmpty)
  }

  @Test("a body is cut in the middle, and the connection closed")
  func truncated() throws {
    let (project, token) = try signedIn()
    _ = try project.rest("POST", "tasks", token: token, body: #"{"title":"x"}"#)
    project.server.faults = [StandInFault(.truncate)]
    #expect(throws: Wire.Failure.self) { try project.rest("GET", "tasks", token: token) }
  }

  /// A fault whose answer is not the server's own.
  static let answers: [(fault: StandInFault.Kind, status: Int, code: String?)] = [
    (.unavailable(retryAfter: 7), 503, "PGRST001"), (.unavailable(retryAfter: nil), 503, "PGRST001"),
    (.rateLimit(retryAfter: nil), 429, nil), (.schemaCache(code: "PGRST002"), 503, "PGRST002"),
    (.schemaCache(code: "PGRST204"), 400, "PGRST204"), (.schemaCache(code: "PGRST205"), 404, "PGRST205"),
    (.expiredToken, 401, "PGRST303"), (.proxy520, 520, nil), (.loginPage, 200, nil),
  ]

  @Test("another answer comes for as many requests as were told, and nothing is done", arguments: answers)
  func answer(_ kind: StandInFault.Kind, status: Int, code: String?) throws {
    let (project, token) = try signedIn()
    project.server.faults = [StandInFault(kind, times: 2)]
    for _ in 0..<2 {
      let answer = try project.rest("POST", "tasks", token: token, body: #"{"title":"x"}"#)
      #expect(answer.status == status)
      #expect(answer.json["code"]?.stringValue == code)
      let isPage = [.proxy520, .loginPage].contains(kind)
      #expect((answer.field("Content-Type")?.hasPrefix("text/html") == true) == isPage)
    }
    #expect(try project.rest("GET", "tasks", token: token).text == "[]")
  }

  @Test("a server without its database says when to come back")
  func retryAfter() throws {
    let (project, token) = try signedIn()
    project.server.faults = [StandInFault(.unavailable(retryAfter: 7))]
    #expect(try project.rest("GET", "tasks", token: token).field("Retry-After") == "7")
    project.server.faults = [StandInFault(.unavailable(retryAfter: nil))]
    #expect(try project.rest("GET", "tasks", token: token).field("Retry-After") == nil)
  }

  @Test("an expired token is refused by Auth in its own words")
  func expiredAtAuth() throws {
    let (project, token) = try signedIn()
    project.server.faults = [StandInFault(.expiredToken, path: "/auth/v1/user")]
    #expect(try project.rest("GET", "tasks", token: token).status == 200)
    let answer = try project.auth("GET", "user", token: token)
    #expect(answer.status == 403 && answer.json["code"] == "bad_jwt")
  }

  @Test("Storage is misbehaved for in its own words, with the true status in the body")
  func storage() throws {
    let (project, _) = try signedIn()
    for (kind, status, code) in [
      (StandInFault.Kind.expiredToken, 400, "403"), (.rateLimit(retryAfter: 2), 429, "429"),
    ] {
      project.server.faults = [StandInFault(kind, path: "/storage")]
      let answer = try project.wire.request("GET", "/storage/v1/bucket", [("apikey", project.server.publishableKey)])
      #expect(answer.status == status && answer.json["statusCode"] == .string(code))
      #expect(answer.json["error"]?.stringValue != nil && answer.json["message"]?.stringValue != nil)
    }
    project.server.faults = [StandInFault(.unavailable(retryAfter: nil), path: "/storage")]
    let answer = try project.wire.request("GET", "/storage/v1/bucket", [("apikey", project.server.publishableKey)])
    #expect(answer.status == 503 && answer.json["message"]?.stringValue != nil)
  }

  @Test("a fault waits until enough fitting requests have passed")
  func skipping() throws {
    let (project, token) = try signedIn()
    project.server.faults = [StandInFault(.unavailable(retryAfter: 1), skipping: 2, method: "GET")]
    let statuses = try (0..<4).map { _ in try project.rest("GET", "tasks", token: token).status }
    #expect(statuses == [200, 200, 503, 200])
  }

  @Test("an answer is held back, but stopping the server does not wait for it")
  func latency() throws {
    let (project, token) = try signedIn()
    project.server.faults = [StandInFault(.latency(milliseconds: 1))]
    #expect(try project.rest("GET", "tasks", token: token).status == 200)
    project.server.faults = [StandInFault(.latency(milliseconds: 600_000))]
    try project.wire.send(
      Array("GET /rest/v1/tasks HTTP/1.1\r\nHost: localhost\r\napikey: \(project.server.publishableKey)\r\n\r\n".utf8))
    while !project.server.faults.isEmpty { sched_yield() }
    project.server.stop()
  }

  @Test("a body is read as slowly as told, a request without one does not count, and others are served meanwhile")
  func slowUpload() throws {
    let (project, token) = try signedIn()
    let body = #"{"title":"\#(String(repeating: "x", count: 10_000))"}"#
    project.server.faults = [StandInFault(.slowUpload(bytesPerSecond: 50_000))]
    #expect(try project.rest("GET", "tasks", token: token).status == 200)
    // It may take longer on a busy machine, never shorter.
    let start = ContinuousClock.now
    #expect(try project.rest("POST", "tasks", token: token, body: body).status == 201)
    #expect(ContinuousClock.now - start >= .milliseconds(190) && project.server.faults.isEmpty)

    project.server.faults = [StandInFault(.slowUpload(bytesPerSecond: 1))]
    let head = "POST /rest/v1/tasks HTTP/1.1\r\nHost: localhost\r\napikey: \(project.server.publishableKey)\r\n"
    let slow = try Wire(port: project.server.port)
    try slow.send(Array((head + "Content-Length: \(body.utf8.count)\r\n\r\n" + body).utf8))
    while !project.server.faults.isEmpty { sched_yield() }
    #expect(try project.rest("GET", "tasks?select=done", token: token).text == #"[{"done":false}]"#)
    project.server.stop()
  }

  @Test("faults are laid out, shown and taken away over HTTP, with the service key only")
  func administration() throws {
    let (project, token) = try signedIn()
    let service = [("apikey", project.server.serviceKey)]
    let laid = try project.wire.request(
      "PUT", "/stand-in/faults", service,
      body: #"[{"kind":"unavailable","retryAfter":3,"times":null,"path":"/rest"},{"kind":"latency","milliseconds":0}]"#)
    #expect(laid.status == 200)
    #expect(
      project.server.faults
        == [
          StandInFault(.unavailable(retryAfter: 3), times: nil, path: "/rest"), StandInFault(.latency(milliseconds: 0)),
        ])
    #expect(try project.wire.request("GET", "/stand-in/faults", service).json == laid.json)
    #expect(try project.rest("GET", "tasks", token: token).status == 503)
    #expect(try project.wire.request("DELETE", "/stand-in/faults", service).status == 204)
    #expect(try project.rest("GET", "tasks", token: token).status == 200)
    let wrong = [("apikey", project.server.publishableKey)]
    #expect(try project.wire.request("PUT", "/stand-in/faults", wrong, body: "[]").status == 401)
    #expect(try project.wire.request("PUT", "/stand-in/faults", service, body: #"[{"kind":"x"}]"#).status == 400)
    #expect(try project.wire.request("GET", "/stand-in/nothing", service).status == 404)
  }

  static let kinds: [StandInFault.Kind] =
    answers.map(\.fault) + [
      .dropAfter, .dropBefore, .truncate, .latency(milliseconds: 5, jitter: 7), .unavailable(retryAfter: nil),
      .rateLimit(retryAfter: nil), .rateLimit(retryAfter: 3), .slowUpload(bytesPerSecond: 10), .realtimeSilence,
      .realtimeDisconnect, .answer(status: 418, contentType: "text/plain", headers: ["X-A": "b"], body: "c"),
    ]

  @Test("every kind of fault is read as it is written", arguments: kinds)
  func roundTrip(_ kind: StandInFault.Kind) throws {
    let fault = StandInFault(
      kind, times: nil, skipping: 3, method: "PATCH", path: "/rest/v1", probability: 0.25, lasts: 500)
    #expect(try StandInFault(json: fault.json) == fault)
    let skew = StandInFault(.clockSkew(seconds: -90), times: nil, lasts: 1)
    #expect(try StandInFault(json: skew.json) == skew)
  }

  @Test("every kind is described, and read by its name alone or with what it needs")
  func catalogue() throws {
    for fault in StandInFault.catalogue {
      let needs = fault.members.split(separator: " ").filter { $0.contains("=") || fault.name == "clockSkew" }
        .map { $0 == "seconds" ? "seconds=1" : String($0) }
      let bare = try StandInFault.faults(parsing: fault.name + (fault.name == "clockSkew" ? " seconds=1" : ""))
      // What the description gives as values is what holds without them.
      #expect(try StandInFault.faults(parsing: ([fault.name] + needs).joined(separator: " ")) == bare)
      #expect(bare.count == 1 && bare.first?.times == nil)
    }
  }

  static let texts: [(text: String, faults: [StandInFault])] = [
    ("", []),
    ("latency", [StandInFault(.latency(milliseconds: 100), times: nil)]),
    (
      " dropAfter method=POST probability=0.1 ; latency milliseconds=300 jitter=50 times=3 ;",
      [
        StandInFault(.dropAfter, times: nil, method: "POST", probability: 0.1),
        StandInFault(.latency(milliseconds: 300, jitter: 50), times: 3),
      ]
    ),
    (
      "unavailable retryAfter=5 path=/rest/v1/tasks skipping=2 lasts=60000",
      [StandInFault(.unavailable(retryAfter: 5), times: nil, skipping: 2, path: "/rest/v1/tasks", lasts: 60_000)]
    ),
    (
      #"[{"kind":"answer","status":502,"body":"a; b","times":1}]"#,
      [StandInFault(.answer(status: 502, contentType: "text/html", body: "a; b"))]
    ),
    ("clockSkew seconds=-90", [StandInFault(.clockSkew(seconds: -90), times: nil)]),
  ]

  @Test("a command line says faults in words", arguments: texts)
  func text(_ text: String, faults: [StandInFault]) throws {
    #expect(try StandInFault.faults(parsing: text) == faults)
  }

  @Test(
    "a fault that means nothing is refused, with what is wrong with it",
    arguments: [
      ("latenzy", "latenzy"), ("latency milliseconds=-1", "milliseconds"), ("latency 5", "'5'"),
      ("latency seconds=5", "'seconds'"), ("dropAfter times=0", "times"), ("dropAfter probability=2", "probability"),
      ("schemaCache code=PGRST116", "PGRST204"), ("answer status=99", "status"), ("clockSkew", "seconds"),
      ("clockSkew seconds=5 times=2", "'times'"), ("slowUpload bytesPerSecond=0", "bytesPerSecond"),
      ("dropAfter method=5", "method"), ("[1]", "object"), ("[{", "JSON"),
      (#"[{"kind":"answer","headers":{"a":1}}]"#, "headers"),
    ])
  func mistake(_ text: String, names word: String) {
    #expect {
      try StandInFault.faults(parsing: text)
    } throws: { error in
      "\(error)".contains(word)
    }
  }

  // MARK: Chance and time

  /// Which of a hundred requests a fault happens to.
  private func pattern(seed: UInt64, _ fault: StandInFault) throws -> [StandInAnswer] {
    var configuration = StandInConfiguration(faults: [fault])
    configuration.faultSeed = seed
    let standIn = try StandIn(configuration)
    return (0..<100).map { _ in standIn.answer(StandInRequest(method: "GET", target: "/auth/v1/health")) }
  }

  @Test("a fault by chance happens to its share of the requests, and to the same ones for the same seed")
  func chance() throws {
    let fault = StandInFault(.unavailable(retryAfter: nil), times: nil, probability: 0.3)
    let met = try pattern(seed: 7, fault).map { $0.status == 503 }
    #expect((15...45).contains(met.filter { $0 }.count))
    #expect(try pattern(seed: 7, fault).map { $0.status == 503 } == met)
    #expect(try pattern(seed: 8, fault).map { $0.status == 503 } != met)
    var never = fault
    never.probability = 0
    #expect(try pattern(seed: 7, never).allSatisfy { $0.status != 503 })
  }

  @Test("with jitter no answer is held back less than told, and they differ")
  func jitter() throws {
    let delays = try pattern(seed: 1, StandInFault(.latency(milliseconds: 200, jitter: 50), times: nil))
      .map(\.delayMilliseconds)
    #expect(delays.allSatisfy { (200...250).contains($0) } && Set(delays).count > 10)
  }

  @Test("a fault that lasts a while is over after it, also when it was not met")
  func lasting() throws {
    let (project, token) = try signedIn()
    project.server.faults = [StandInFault(.schemaCache(code: "PGRST204"), times: nil, lasts: 5_000)]
    project.clock.advance(seconds: 4)
    #expect(try project.rest("POST", "tasks", token: token, body: #"{"title":"x"}"#).json["code"] == "PGRST204")
    #expect(project.server.faults.first?.lasts == 1_000)
    // Laid out anew with another, as `append` does, it lasts no longer.
    project.server.faults.append(StandInFault(.dropBefore, path: "/nowhere"))
    project.clock.advance(seconds: 2)
    #expect(project.server.faults.count == 1)
    #expect(try project.rest("POST", "tasks", token: token, body: #"{"title":"x"}"#).status == 201)
  }

  @Test("a clock that is ahead or behind is so in the dates, the tokens and the rows")
  func clockSkew() throws {
    let (project, token) = try signedIn()
    project.server.faults = [StandInFault(.clockSkew(seconds: 3_600), times: nil)]
    #expect(try project.rest("GET", "tasks", token: token).field("Date") == "Sun, 18 Oct 2026 14:00:27 GMT")
    // Auth gives clocks no leeway, PostgREST 30 seconds.
    #expect(try project.auth("GET", "user", token: token).json["code"] == "bad_jwt")
    let made = try project.rest(
      "POST", "tasks?select=created_at", token: token, prefer: "return=representation", body: #"{"title":"x"}"#)
    #expect(made.text == #"[{"created_at":"2026-10-18T14:00:27.486123+00:00"}]"#)
    project.server.faults = [StandInFault(.clockSkew(seconds: 3_640), times: nil)]
    #expect(try project.rest("GET", "tasks", token: token).json["code"] == "PGRST303")
    project.server.faults = [StandInFault(.clockSkew(seconds: -60), times: nil)]
    #expect(try project.rest("GET", "tasks", token: token).json["message"] == "JWT issued at future")
    project.server.faults = []
    #expect(try project.auth("GET", "user", token: token).status == 200)
  }

  @Test("a flood is answered with 429 in each service's words, with and without a time to come back")
  func rateLimit() throws {
    let (project, token) = try signedIn()
    project.server.faults = [StandInFault(.rateLimit(retryAfter: 9), times: 2)]
    let auth = try project.auth("POST", "token?grant_type=password", body: "{}")
    #expect(auth.status == 429 && auth.json["code"] == "over_request_rate_limit" && auth.field("Retry-After") == "9")
    let rest = try project.rest("GET", "tasks", token: token)
    #expect(rest.status == 429 && rest.json["message"] == "API rate limit exceeded" && rest.json["code"] == nil)
    project.server.faults = [StandInFault(.rateLimit(retryAfter: nil)), StandInFault(.unavailable(retryAfter: nil))]
    let bare = try project.rest("GET", "tasks", token: token)
    #expect(bare.status == 429 && bare.field("Retry-After") == nil)
  }

  @Test("the last requests are listed without keys and tokens")
  func requests() throws {
    let (project, token) = try signedIn()
    _ = try project.rest("GET", "tasks?title=eq.a", token: token)
    _ = try project.wire.request("GET", "/rest/v1/tasks?apikey=\(project.server.publishableKey)&select=id")
    let listed = try project.wire.request("GET", "/stand-in/requests", [("apikey", project.server.serviceKey)])
    let shown = listed.json.arrayValue?.map { "\($0.text("method")) \($0.text("path"))?\($0.text("query"))" }
    #expect(
      shown == [
        "POST /auth/v1/signup?", "GET /rest/v1/tasks?title=eq.a", "GET /rest/v1/tasks?apikey=-&select=id",
      ])
    #expect(!listed.text.contains(token) && !listed.text.contains(project.server.publishableKey))
    #expect(project.server.requests.map(\.status) == [200, 200, 200, 200])
  }

  @Test("the list of requests does not grow without end")
  func bounded() throws {
    let server = try StandInServer()
    for number in 0..<2_500 {
      _ = server.standIn.answer(StandInRequest(method: "GET", target: "/x\(number)"))
    }
    #expect(server.requests.count == 1_000)
    #expect(server.requests.last?.path == "/x2499" && server.requests.last?.number == 2_500)
  }
}
