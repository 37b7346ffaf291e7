import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("A pass that meets a failure")
struct ReplayFailureTests {
  struct Failure: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let answer: ScriptedExchange.Step
    /// Whether the write is in doubt afterwards: it may have reached the server.
    let isInDoubt: Bool
    var retryAfter: Int?

    init(_ name: String, _ answer: ScriptedExchange.Step, isInDoubt: Bool, retryAfter: Int? = nil) {
      testDescription = name
      self.answer = answer
      self.isInDoubt = isInDoubt
      self.retryAfter = retryAfter
    }
  }

  private static let html: HTTPFields = ["Content-Type": "text/html"]

  static let mayPass: [Failure] = [
    Failure("no connection", .offline, isInDoubt: false),
    Failure("no address", .failure(.cannotResolve(host: "scripted")), isInDoubt: false),
    Failure("no TLS", .failure(.tls(origin: "http://scripted", reason: "self-signed")), isInDoubt: false),
    Failure("a cut answer", .cut, isInDoubt: true),
    Failure(
      "no answer in time", .failure(.timedOut(origin: "o", phase: .stalled, mayHaveReachedServer: true)),
      isInDoubt: true),
    Failure("an answer that is too long", .failure(.bodyTooLarge(origin: "o", bytesMax: 1)), isInDoubt: true),
    Failure("503 with Retry-After", .error(503, "PGRST002", ["Retry-After": "7"]), isInDoubt: false, retryAfter: 7),
    Failure("503 of a proxy", .answer(503, "<html>", html), isInDoubt: true),
    Failure("502 of a proxy", .answer(502, "", [:]), isInDoubt: true),
    Failure("520 of a proxy", .answer(520, "<html>", html), isInDoubt: true),
    Failure("the database lost", .error(503, "PGRST001"), isInDoubt: true),
    Failure("408", .answer(408, ""), isInDoubt: false),
    Failure("429", .answer(429, "{}", ["Retry-After": "60"]), isInDoubt: false, retryAfter: 60),
    Failure("a log-in page", .answer(200, "<html>hotel</html>", html), isInDoubt: true),
    Failure("a redirect", .answer(302, "", ["Location": "http://elsewhere/"]), isInDoubt: false),
    Failure("an empty object with 404", .answer(404, "{}"), isInDoubt: false),
    Failure("a gateway's refusal of the key", .answer(401, #"{"message":"Invalid API key"}"#), isInDoubt: false),
    Failure("a firewall's page", .answer(403, "<html>forbidden</html>", html), isInDoubt: false),
    Failure("an over-long URL", .answer(400, ""), isInDoubt: false),
    Failure("401 with a code: whoever asked was nobody", .error(401, "42501"), isInDoubt: false),
    Failure("an unknown column", .error(400, "PGRST204"), isInDoubt: false),
    Failure("an unknown table", .error(404, "PGRST205"), isInDoubt: false),
    Failure("a success that is no list", .answer(200, "{}"), isInDoubt: true),
  ]

  @Test("that may pass stops there, and nothing overtakes", arguments: mayPass)
  func stops(_ failure: Failure) async throws {
    let desk = try Desk([failure.answer])
    try desk.rename()
    try desk.rename(["done": false], base: WriteBase(values: ["done": true], version: t1))
    let report = await desk.sync()
    #expect(Counts(report) == Counts(remaining: 2))
    #expect(report.stoppedBy != nil)
    #expect(desk.client.syncStatus.lastSyncError.map { "\($0)" } == report.stoppedBy.map { "\($0)" })
    #expect(try desk.pending.map(\.sendCount) == [failure.isInDoubt ? 1 : 0, 0])
    if case .unavailable(_, let seconds)? = report.stoppedBy {
      #expect(seconds == failure.retryAfter)
    } else {
      #expect(failure.retryAfter == nil)
    }
    #expect(try desk.rejected.isEmpty && desk.conflicted.isEmpty)
    desk.checkScript()
  }

  @Test("of a pull is not forgotten by a pass with nothing to send, only by one that was answered")
  func pullFailure() async throws {
    let desk = try Desk([.offline, .rows(Desk.json("Buy oat milk", done: true, t2))])
    await #expect(throws: SyncFailure.self) { try await desk.client.pull("tasks") }
    _ = await desk.sync()
    #expect(desk.client.syncStatus.lastSyncError?.isConnectivity == true)
    try desk.rename()
    #expect(await desk.sync().synced == 1)
    #expect(desk.client.syncStatus.lastSyncError == nil)
    desk.checkScript()
  }

  static let refusals: [Failure] = [
    Failure("a check", .error(400, "23514"), isInDoubt: false),
    Failure("a row-level policy", .error(403, "42501"), isInDoubt: false),
    Failure("a foreign key", .error(409, "23503"), isInDoubt: false),
    Failure("an exception of the database", .error(400, "P0001"), isInDoubt: false),
    Failure("a body that is too large", .answer(413, "<html>", html), isInDoubt: false),
  ]

  @Test("that is a refusal moves the write to the rejected list and goes on", arguments: refusals)
  func rejects(_ failure: Failure) async throws {
    let desk = try Desk([failure.answer, .rows(Desk.json("B", t2))])
    try desk.cache()
    let id = try desk.rename()
    try desk.rename(["title": "B"], base: WriteBase(values: ["title": "Buy milk"], version: t1))
    let report = await desk.sync()
    #expect(Counts(report) == Counts(synced: 1, rejected: 1))
    #expect(report.stoppedBy == nil)
    #expect(try desk.rejected.map(\.id) == [id])
    #expect(try desk.rejected == report.rejected)
    #expect(report.rejected.first?.serverError?.status ?? 0 >= 400)
    desk.checkScript()
  }

  @Test("tells no token, key or value in any message", arguments: mayPass + refusals)
  func tellsNothing(_ failure: Failure) async throws {
    let desk = try Desk([failure.answer])
    try desk.rename(["title": "my secret title"])
    let report = await desk.sync()
    let text = [report.stoppedBy.map { "\($0)" } ?? "", report.rejected.first?.message ?? ""].joined()
    for secret in ["my secret title", "sb_publishable_key", token(of: Desk.user).revealed, "486123"] {
      #expect(!text.contains(secret))
    }
  }

  // MARK: Tokens

  private static let renewed = session(of: Desk.user, mark: "new")

  private static func refreshed(_ session: Session) -> ScriptedExchange.Step {
    .answer(200, session.json.serialized())
  }

  @Test("of an expired token refreshes it once and sends the same request again")
  func refreshesOnce() async throws {
    let desk = try Desk([
      .error(401, "PGRST303"), Self.refreshed(Self.renewed), .rows(Desk.json("Buy oat milk", done: true, t2)),
    ])
    try desk.rename()
    let report = await desk.sync()
    #expect(Counts(report) == Counts(synced: 1))
    #expect(desk.http.lines[1].hasPrefix("POST /auth/v1/token?grant_type=refresh_token"))
    #expect(desk.http.lines[2] == desk.http.lines[0])
    #expect(desk.http.requests[2].bearer == Self.renewed.accessToken.revealed)
    #expect(desk.storage.saved == [Self.renewed])
    desk.checkScript()
  }

  @Test("of a token that is refused again stops without a second refresh")
  func refusedTwice() async throws {
    let desk = try Desk([.error(401, "PGRST303"), Self.refreshed(Self.renewed), .error(401, "PGRST301")])
    try desk.rename()
    let report = await desk.sync()
    #expect(Counts(report) == Counts(remaining: 1))
    #expect(try desk.pending.map(\.sendCount) == [0])
    #expect(report.stoppedBy?.mayPass == false)
    desk.checkScript()
  }

  @Test("of a session that has ended says so and keeps the write")
  func ended() async throws {
    let desk = try Desk([.error(401, "PGRST303"), .error(400, "refresh_token_not_found")])
    try desk.rename()
    let report = await desk.sync()
    guard case .session(.ended)? = report.stoppedBy else {
      Issue.record("stopped by \(String(describing: report.stoppedBy))")
      return
    }
    #expect(report.remaining == 1)
    let again = await desk.sync()
    #expect(again.remaining == 1)
    desk.checkScript()
  }

  // MARK: Switches

  @Test("of a switched-off network sends and changes nothing")
  func disabled() async throws {
    let desk = try Desk([.rows(Desk.json("Buy oat milk", done: true, t2))])
    try desk.rename()
    desk.client.disableNetwork()
    #expect(desk.client.syncStatus.network == .disabled)
    let report = await desk.sync()
    #expect(Counts(report) == Counts(remaining: 1))
    guard case .networkDisabled? = report.stoppedBy else {
      Issue.record("stopped by \(String(describing: report.stoppedBy))")
      return
    }
    await #expect(throws: SyncFailure.self) { try await desk.client.pull("tasks") }
    #expect(desk.http.requests.isEmpty)
    desk.client.enableNetwork()
    #expect(desk.client.syncStatus.network == .unknown)
    #expect(Counts(await desk.sync()) == Counts(synced: 1))
    #expect(desk.client.syncStatus.network == .online)
    #expect(desk.client.syncStatus.lastSyncError == nil)
  }

  @Test("that comes after the network was switched off in mid-pass lets the request on the wire answer")
  func disabledInMidPass() async throws {
    let desk = try Desk()
    desk.http.add([
      ScriptedExchange.Step { _ in
        desk.client.disableNetwork()
        return HTTPResponse(status: 200, body: Array(Desk.json("Buy oat milk", done: true, t2).utf8))
      }
    ])
    try desk.rename()
    try desk.rename(["title": "B"], base: WriteBase(values: ["title": "Buy oat milk"], version: t1))
    let report = await desk.sync()
    #expect(Counts(report) == Counts(synced: 1, remaining: 1))
    #expect(desk.client.syncStatus.network == .disabled)
    #expect(desk.http.requests.count == 1)
  }

  @Test("of a client that was stopped sends nothing, not even a proof")
  func stopped() async throws {
    let desk = try Desk()
    desk.http.add([
      ScriptedExchange.Step { _ in
        desk.client.stop()
        return HTTPResponse(status: 200, body: Array("[]".utf8))
      }
    ])
    try desk.cacheWitness()
    try desk.rename()
    let report = await desk.sync()
    #expect(report.remaining == 1)
    #expect(desk.http.requests.count == 1)
    guard case .cancelled? = report.stoppedBy else {
      Issue.record("stopped by \(String(describing: report.stoppedBy))")
      return
    }
  }

  @Test("of another table's turn holds one table's writes back and counts them")
  func oneTable() async throws {
    let photos = TableDescription(name: "photos", versionColumn: "updated_at", columns: ["place"])
    let desk = try Desk([.rows(Desk.json("A", t2))], tables: [Desk.tasks, photos])
    try desk.rename(["title": "A"])
    try desk.client.transaction {
      _ = try $0.enqueue(.update("photos", key: Desk.key, values: ["place": 1], base: nil))
    }
    try desk.rename(["title": "B"], base: WriteBase(values: ["title": "A"], version: t1))
    try desk.rename(["title": "C"], base: WriteBase(values: ["title": "B"], version: t1))
    let report = await desk.client.syncPendingMutations("tasks")
    #expect(Counts(report) == Counts(synced: 1, remaining: 3))
    #expect(report.heldBehindOtherTables == 2)
    #expect(report.stoppedBy == nil)
    desk.http.add([.rows(#"[{"id":42,"updated_at":"\#(t3)","place":1}]"#)])
    let photo = await desk.client.syncPendingMutations("photos")
    #expect(Counts(photo) == Counts(synced: 1, remaining: 2))
    #expect(photo.heldBehindOtherTables == 0)
    desk.checkScript()
  }

  @Test("of a table that left the settings keeps its writes and those behind")
  func unknownTable() async throws {
    let desk = try Desk()
    try desk.client.transaction { transaction in
      _ = try transaction.enqueue(.delete(from: "photos", key: Desk.key, base: nil))
    }
    try desk.rename()
    let report = await desk.sync()
    #expect(Counts(report) == Counts(remaining: 2))
    #expect(report.stoppedBy.map { "\($0)".contains("'photos'") } == true)
    #expect(desk.http.requests.isEmpty)
  }

  @Test("of the network knows offline from online", arguments: [true, false])
  func networkStatus(isOffline: Bool) async throws {
    let desk = try Desk([isOffline ? .offline : .error(400, "23514")])
    try desk.rename()
    _ = await desk.sync()
    #expect(desk.client.syncStatus.network == (isOffline ? .offline : .online))
  }

  @Test("that is no answer at all leaves what is known of the network")
  func networkUnknown() async throws {
    let desk = try Desk([.failure(.cancelled(mayHaveReachedServer: true))])
    try desk.rename()
    _ = await desk.sync()
    #expect(desk.client.syncStatus.network == .unknown)
    #expect(try desk.pending.map(\.sendCount) == [1])
  }
}
