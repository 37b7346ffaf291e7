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
    (.unavailable(retryAfter: 7), 503, "PGRST001"), (.schemaCache(code: "PGRST002"), 503, "PGRST002"),
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
      if code == nil { #expect(answer.field("Content-Type")?.hasPrefix("text/html") == true) }
    }
    #expect(try project.rest("GET", "tasks", token: token).text == "[]")
  }

  @Test("a server without its database says when to come back")
  func retryAfter() throws {
    let (project, token) = try signedIn()
    project.server.faults = [StandInFault(.unavailable(retryAfter: 7))]
    #expect(try project.rest("GET", "tasks", token: token).field("Retry-After") == "7")
  }

  @Test("an expired token is refused by Auth in its own words")
  func expiredAtAuth() throws {
    let (project, token) = try signedIn()
    project.server.faults = [StandInFault(.expiredToken, path: "/auth/v1/user")]
    #expect(try project.rest("GET", "tasks", token: token).status == 200)
    let answer = try project.auth("GET", "user", token: token)
    #expect(answer.status == 403 && answer.json["code"] == "bad_jwt")
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

  @Test(
    "every kind of fault is read as it is written",
    arguments: answers.map(\.fault) + [.dropAfter, .dropBefore, .truncate])
  func roundTrip(_ kind: StandInFault.Kind) {
    let fault = StandInFault(kind, times: nil, skipping: 3, method: "PATCH", path: "/rest/v1")
    #expect(StandInFault(json: fault.json) == fault)
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
