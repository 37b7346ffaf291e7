import Foundation
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Clients that mean no good") struct StrengthTests {
  private func head(_ project: Project, _ more: String) -> [UInt8] {
    Array("POST /rest/v1/tasks HTTP/1.1\r\nHost: localhost\r\napikey: \(project.server.publishableKey)\r\n\(more)".utf8)
  }

  private func isServed(_ project: Project) throws -> Bool {
    try Wire(port: project.server.port).request("GET", "/auth/v1/health", [("apikey", project.server.publishableKey)])
      .status == 200
  }

  @Test("more clients than there is room for, each in the middle of its request, keep nobody else out")
  func slowSenders() throws {
    let project = try Project()
    var slow: [Wire] = []
    for number in 0..<400 {
      let wire = try Wire(port: project.server.port)
      // A part of the line, of a field, or of the body; a connection that had to go for a newer one cannot send.
      let parts = [Array("GE".utf8), head(project, "X-Slow: "), head(project, "Content-Length: 10\r\n\r\n{"), []]
      try? wire.send(parts[number % 4])
      slow.append(wire)
      if number % 50 == 49 { #expect(try isServed(project), "after \(number + 1)") }
    }
    #expect(try isServed(project))
    withExtendedLifetime(slow) {}
  }

  @Test("a body that does not end is cut off soon after the limit, whether it says its length or not")
  func endlessBody() throws {
    let project = try Project { $0.bodyBytesMax = 10_000 }
    let wire = try Wire(port: project.server.port)
    try wire.send(head(project, "Transfer-Encoding: chunked\r\n\r\n"))
    let piece = Array("10000\r\n".utf8) + [UInt8](repeating: 65, count: 65_536) + Array("\r\n".utf8)
    var sent = 0
    while sent < 1_000, (try? wire.send(piece)) != nil { sent += 1 }
    #expect(sent < 1_000, "the server reads for ever")

    let short = try Wire(port: project.server.port)
    try short.send(head(project, "Transfer-Encoding: chunked\r\n\r\n") + piece + Array("0\r\n\r\n".utf8))
    #expect(try short.read(to: "POST").status == 413)

    // The answer comes although not a byte of the body has been sent.
    let announced = try Wire(port: project.server.port)
    try announced.send(head(project, "Content-Length: 999999999999\r\n\r\n"))
    #expect(try announced.read(to: "POST").status == 413)
    #expect(try isServed(project))
  }

  static let paths = [
    "/rest/v1/../../etc/passwd", "/rest/v1/%2e%2e/tasks", "/rest/v1//tasks", "/rest/v1/tasks/", "/rest/v1/tasks%00",
    "/rest/v1/%ff", "/rest/v1/tasks%2Fx", "/rest/v1/rpc/../tasks", "//rest/v1/tasks", "/rest/v1/tasks;a=b", "/rest/v1",
    "/auth/v1/../../rest/v1/tasks", "/stand-in/../rest/v1/tasks", "/rest/v1/sqlite_master", "/rest/v1/auth_users",
    "/rest/v1/stand_in_columns", "/rest/v1/public.tasks", "/rest/v1/%22tasks%22", "*", "/",
  ]

  @Test("a path leads to a table of the schema or nowhere", arguments: paths)
  func path(_ path: String) throws {
    let project = try Project()
    let answer = try project.wire.request("GET", path, [("apikey", project.server.serviceKey)])
    #expect((400...499).contains(answer.status), "\(path) \(answer.status) \(answer.text)")
  }

  @Test("floods of fields are refused, and the next client is served")
  func fields() throws {
    let project = try Project()
    let floods = [
      String(repeating: "X-Field: 1\r\n", count: 100_000), "X-Field: " + String(repeating: "x", count: 1_000_000),
      String(repeating: "x", count: 200_000) + ": 1\r\n", "X: " + String(repeating: "\r\n y", count: 50_000),
    ]
    for flood in floods {
      let wire = try Wire(port: project.server.port)
      try? wire.send(head(project, flood))
      try? wire.send(Array("\r\n".utf8))
      let status = (try? wire.read(to: "POST"))?.status
      #expect(status == nil || (400...499).contains(status ?? 0), "\(status ?? 0)")
    }
    let long = try project.wire.request(
      "GET", "/rest/v1/tasks?id=in.(" + String(repeating: "1,", count: 30_000) + "1)",
      [("apikey", project.server.publishableKey)])
    #expect(long.status == 400 && long.text == "Bad Request")
    #expect(try isServed(project))
  }

  @Test("a client that reads nothing does not keep others waiting")
  func slowReader() throws {
    let project = try Project()
    let token = try project.signUpAnonymously().text("access_token")
    let rows =
      "[" + (0..<900).map { #"{"title":"\#($0) \#(String(repeating: "x", count: 2_000))"}"# }.joined(separator: ",")
      + "]"
    #expect(try project.rest("POST", "tasks", token: token, body: rows).status == 201)
    var silent: [Wire] = []
    for _ in 0..<8 {
      let wire = try Wire(port: project.server.port)
      let request =
        "GET /rest/v1/tasks HTTP/1.1\r\nHost: localhost\r\napikey: \(project.server.publishableKey)\r\n"
        + "Authorization: Bearer \(token)\r\n\r\n"
      try wire.send(Array((request + request + request).utf8))
      silent.append(wire)
    }
    #expect(try isServed(project))
    #expect(try project.rest("GET", "tasks?limit=1", token: token).status == 200)
    withExtendedLifetime(silent) {}
  }
}
