import Foundation
import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

/// A server in memory with a clock that the test turns, and a connection to it.
final class Project {
  let server: StandInServer
  let clock: TestClock
  var wire: Wire

  init(_ change: (inout StandInConfiguration) -> Void = { _ in }) throws {
    let clock = TestClock()
    self.clock = clock
    var configuration = StandInConfiguration(auth: AuthSettings(passwordCost: 4))
    configuration.effects = StandInEffects(now: { clock.microseconds }, randomBytes: StandInEffects.live.randomBytes)
    change(&configuration)
    server = try StandInServer(configuration)
    try server.start()
    wire = try Wire(port: server.port)
  }

  deinit { server.stop() }

  func auth(
    _ method: String, _ path: String, token: String? = nil, body: String? = nil, version: String? = "2024-01-01"
  ) throws -> Wire.Answer {
    var fields = [("apikey", server.publishableKey)]
    if let token { fields.append(("Authorization", "Bearer \(token)")) }
    if let version { fields.append(("X-Supabase-Api-Version", version)) }
    return try wire.request(method, "/auth/v1/\(path)", fields, body: body)
  }

  func rest(
    _ method: String, _ path: String, token: String? = nil, prefer: String? = nil, body: String? = nil
  ) throws -> Wire.Answer {
    var fields = [("apikey", server.publishableKey)]
    if let token { fields.append(("Authorization", "Bearer \(token)")) }
    if let prefer { fields.append(("Prefer", prefer)) }
    if body != nil { fields.append(("Content-Type", "application/json")) }
    return try wire.request(method, "/rest/v1/\(path)", fields, body: body)
  }

  func signUpAnonymously() throws -> JSONValue { try auth("POST", "signup", body: "{}").json }
}

/// A clock that stands still until it is turned.
final class TestClock: Sendable {
  private let time = Mutexed(Int64(1_792_328_427_486_123))
  var microseconds: Int64 { time.value }
  func advance(seconds: Int64) { time.change { $0 += seconds * 1_000_000 } }
}

extension JSONValue {
  /// The text of a member, or an empty one.
  func text(_ name: String) -> String { self[name]?.stringValue ?? "" }
}

@Suite("The stand-in, end to end") struct ServerTests {
  @Test("an anonymous user makes, reads, changes and removes a task")
  func tasks() throws {
    let project = try Project()
    let session = try project.signUpAnonymously()
    let token = session.text("access_token")
    let id = "8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10"
    let made = try project.rest(
      "POST", "tasks", token: token, prefer: "return=representation", body: #"{"id":"\#(id)","title":"Buy oat milk"}"#)
    #expect(made.status == 201)
    #expect(
      made.text
        == #"[{"id":"\#(id)","user_id":"\#(session["user"]?.text("id") ?? "")","title":"Buy oat milk","notes":null,"#
        + #""done":false,"created_at":"2026-10-18T13:00:27.486123+00:00","updated_at":"2026-10-18T13:00:27.486123+00:00"}]"#
    )
    let version = "2026-10-18T13:00:27.486123%2B00:00"
    let changed = try project.rest(
      "PATCH", "tasks?id=eq.\(id)&updated_at=eq.\(version)&select=done,updated_at", token: token,
      prefer: "return=representation", body: #"{"done":true}"#)
    // The clock stands still, the version does not.
    #expect(changed.text == #"[{"done":true,"updated_at":"2026-10-18T13:00:27.486124+00:00"}]"#)
    let stale = try project.rest(
      "PATCH", "tasks?id=eq.\(id)&updated_at=eq.\(version)", token: token, prefer: "return=representation",
      body: #"{"done":false}"#)
    #expect(stale.status == 200 && stale.text == "[]")
    let gone = try project.rest("DELETE", "tasks?id=eq.\(id)", token: token)
    #expect(gone.status == 204)
    #expect(try project.rest("GET", "tasks", token: token).text == "[]")
  }

  @Test("it may be stopped at the moment in which what is no request comes in")
  func stoppedAmidNonsense() throws {
    let server = try StandInServer(StandInConfiguration())
    for _ in 0..<200 {
      try server.start()
      let wires = try (0..<8).map { _ in try Wire(port: server.port) }
      for wire in wires { try? wire.send(Array("no request\r\n\r\n".utf8)) }
      server.stop()
    }
  }

  @Test("a blank title is refused with the constraint's name")
  func blankTitle() throws {
    let project = try Project()
    let token = try project.signUpAnonymously().text("access_token")
    let answer = try project.rest("POST", "tasks", token: token, body: #"{"title":"  "}"#)
    #expect(answer.status == 400)
    #expect(answer.json["code"] == "23514")
    #expect(answer.json.text("message").hasSuffix("violates check constraint \"tasks_title_not_blank\""))
  }
}
