import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("A guarded replay")
struct GuardedReplayTests {
  private static let patch =
    "PATCH /rest/v1/tasks?select=id%2Cupdated_at%2Ctitle%2Cdone&id=eq.42"
    + "&updated_at=eq.2026-10-18T13%3A00%3A27.486123%2B00%3A00"
  private static let read = "GET /rest/v1/tasks?select=id%2Cupdated_at%2Ctitle%2Cdone&id=eq.42&limit=1"

  @Test("an update carries its base as one more filter and asks for key, version and the columns it sets")
  func exactUpdate() async throws {
    let desk = try Desk([.rows(Desk.json("Buy oat milk", done: true, t3))])
    try desk.cache()
    try desk.rename()
    let report = await desk.sync()
    #expect(desk.http.lines == [Self.patch])
    #expect(desk.http.requests[0].fields["Prefer"] == "return=representation")
    #expect(desk.http.requests[0].text == #"{"title":"Buy oat milk","done":true}"#)
    #expect(desk.http.requests[0].bearer == desk.storage.load()?.accessToken.revealed)
    #expect(Counts(report) == Counts(synced: 1))
    #expect(try desk.cached == CachedRow(values: Desk.row("Buy oat milk", done: true, t3), version: t3, isStale: false))
    desk.checkScript()
  }

  @Test("a delete carries its base and asks for key and version only")
  func exactDelete() async throws {
    let desk = try Desk([.rows(#"[{"id":42,"updated_at":"\#(t1)"}]"#)])
    try desk.cache()
    try desk.delete()
    let report = await desk.sync()
    #expect(
      desk.http.lines == [
        "DELETE /rest/v1/tasks?select=id%2Cupdated_at&id=eq.42&updated_at=eq.2026-10-18T13%3A00%3A27.486123%2B00%3A00"
      ])
    #expect(desk.http.requests[0].body == nil)
    #expect(Counts(report) == Counts(synced: 1))
    #expect(try desk.client.read { try $0.row("tasks", Desk.key) }.isGone)
  }

  @Test("an update never sends the key's own columns")
  func keyIsNotSent() async throws {
    let desk = try Desk([.rows(Desk.json("B", t2))])
    try desk.rename(["id": 42, "title": "B"])
    _ = await desk.sync()
    #expect(desk.http.requests[0].text == #"{"title":"B"}"#)
  }

  @Test("the read by key asks for the columns of all the row's queued writes")
  func readsColumnsOfAllWrites() async throws {
    let desk = try Desk([.nothing, .offline])
    try desk.rename(["title": "B"])
    try desk.rename(["color": "red"])
    _ = await desk.sync()
    #expect(desk.http.lines[1] == "GET /rest/v1/tasks?select=id%2Cupdated_at%2Ctitle%2Cdone%2Ccolor&id=eq.42&limit=1")
  }

  // MARK: The five outcomes

  struct Outcome: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// What the server answers after the empty list.
    let answers: [ScriptedExchange.Step]
    let counts: Counts
    /// How many requests are sent in all.
    let requests: Int

    init(_ name: String, _ answers: [ScriptedExchange.Step], _ counts: Counts, requests: Int) {
      testDescription = name
      self.answers = answers
      self.counts = counts
      self.requests = requests
    }
  }

  static let updates: [Outcome] = [
    Outcome("no connection: the pass stops", [.offline], Counts(remaining: 1), requests: 2),
    Outcome("no row: gone, dropped", [.nothing, .rows("[{\"id\":7}]")], Counts(keptServer: 1), requests: 3),
    Outcome(
      "the row at its base: a policy denies it", [.rows(Desk.json("Buy milk", t1))], Counts(rejected: 1), requests: 2),
    Outcome(
      "every value already there", [.rows(Desk.json("Buy oat milk", done: true, t2))],
      Counts(synced: 1, alreadyOnServer: 1), requests: 2),
    Outcome(
      "none of its columns moved: resent at the new version",
      [.rows(Desk.json("Buy milk", t2)), .rows(Desk.json("Buy oat milk", done: true, t3))], Counts(synced: 1),
      requests: 3),
    Outcome(
      "moved: the resolver's word, here to keep this device's",
      [.rows(Desk.json("Buy almond milk", t2)), .rows(Desk.json("Buy oat milk", done: true, t3))],
      Counts(synced: 1, resolved: 1), requests: 3),
  ]

  @Test("an update that matched no row is settled by what the read finds", arguments: updates)
  func updateOutcome(_ outcome: Outcome) async throws {
    let desk = try Desk([.nothing] + outcome.answers)
    try desk.cache()
    try desk.cacheWitness()
    try desk.rename()
    let report = await desk.sync()
    #expect(Counts(report) == outcome.counts)
    #expect(desk.http.requests.count == outcome.requests)
    #expect(desk.http.lines.prefix(2) == [Self.patch, Self.read])
    desk.checkScript()
  }

  static let deletes: [Outcome] = [
    Outcome("no connection: the pass stops", [.offline], Counts(remaining: 1), requests: 2),
    Outcome(
      "no row: already gone", [.nothing, .rows("[{\"id\":7}]")], Counts(synced: 1, alreadyOnServer: 1), requests: 3),
    Outcome(
      "the row at its base: a policy denies it", [.rows(Desk.json("Buy milk", t1))], Counts(rejected: 1), requests: 2),
    Outcome(
      "another version with the same values: still a conflict, here kept",
      [.rows(Desk.json("Buy milk", t2)), .rows(#"[{"id":42,"updated_at":"\#(t2)"}]"#)],
      Counts(synced: 1, resolved: 1), requests: 3),
    Outcome(
      "moved", [.rows(Desk.json("Buy almond milk", t2)), .rows(#"[{"id":42,"updated_at":"\#(t2)"}]"#)],
      Counts(synced: 1, resolved: 1), requests: 3),
  ]

  @Test("a delete that matched no row is settled by what the read finds", arguments: deletes)
  func deleteOutcome(_ outcome: Outcome) async throws {
    let desk = try Desk([.nothing] + outcome.answers)
    try desk.cache()
    try desk.cacheWitness()
    try desk.delete()
    let report = await desk.sync()
    #expect(Counts(report) == outcome.counts)
    #expect(desk.http.requests.count == outcome.requests)
    desk.checkScript()
  }

  @Test(
    "a delete whose writer never had the row goes through only while the row shows nothing else than the writer put there",
    arguments: [(false, Counts(synced: 1)), (true, Counts(conflicted: 1))])
  func deleteOfUnseenRow(isDoneElsewhere: Bool, counts: Counts) async throws {
    let row = Desk.json("Buy milk", done: isDoneElsewhere, t2)
    let desk = try Desk(
      [.rows(row)] + (isDoneElsewhere ? [] : [.rows(row)]), resolver: ConflictResolvers.holdDisagreements)
    try desk.delete(base: WriteBase(values: ["title": "Buy milk"], version: nil))
    #expect(Counts(await desk.sync()) == counts)
    desk.checkScript()
  }

  @Test("a denied write has no server error and its row shows the server's values again")
  func denied() async throws {
    let desk = try Desk([.nothing, .rows(Desk.json("Buy milk", t1))])
    try desk.cache()
    try desk.rename()
    let report = await desk.sync()
    let entry = try #require(report.rejected.first)
    #expect(entry.serverError == nil)
    #expect(entry.message.contains("policies"))
    #expect(try desk.rejected == [entry])
    #expect(try desk.client.read { try $0.row("tasks", Desk.key).values?["title"] } == "Buy milk")
  }

  @Test("a resend carries the version that the read found")
  func resendVersion() async throws {
    let desk = try Desk([
      .nothing, .rows(Desk.json("Buy milk", t2)), .rows(Desk.json("Buy oat milk", done: true, t3)),
    ])
    try desk.rename()
    _ = await desk.sync()
    #expect(desk.http.lines[2].contains("updated_at=eq.2026-10-18T13%3A04%3A00.000001%2B00%3A00"))
  }

  @Test("a time that the server writes in another form counts as already there")
  func sameInstant() async throws {
    let table = TableDescription(name: "tasks", versionColumn: "updated_at", columns: ["due", "title"])
    let row = { (due: String) in
      #"[{"id":42,"updated_at":"\#(t2)","due":"\#(due)","title":"x"}]"#
    }
    for (due, isThere) in [
      ("2026-10-18T13:00:00+00:00", true), ("2026-10-18T15:00:00+02:00", true), ("2026-10-18T13:00:01+00:00", false),
      ("2026-10-18T13:00:00+00:00 or so", false),
    ] {
      let desk = try Desk([.nothing, .rows(row(due))], tables: [table], resolver: ConflictResolvers.holdDisagreements)
      try desk.rename(["due": "2026-10-18T13:00:00Z"], base: WriteBase(values: ["due": nil], version: t1))
      let report = await desk.sync()
      #expect(Counts(report) == (isThere ? Counts(synced: 1, alreadyOnServer: 1) : Counts(conflicted: 1)), "\(due)")
    }
  }

  @Test("a row that comes back without a version parks the write")
  func noVersion() async throws {
    let desk = try Desk([.nothing, .rows(#"[{"id":42,"updated_at":null,"title":"Buy milk","done":false}]"#)])
    try desk.rename()
    let report = await desk.sync()
    #expect(report.conflicted.first?.message.contains("without a version") == true)
    desk.checkScript()
  }

  // MARK: Without a base version, without a version column

  @Test("an update that waited for its insert is judged by the values its writer saw", arguments: [true, false])
  func withoutVersion(isSame: Bool) async throws {
    let desk = try Desk(
      [.rows(Desk.json(isSame ? "Buy milk" : "Buy almond milk", t2))] + (isSame ? [.rows(Desk.json("B", t3))] : []),
      resolver: ConflictResolvers.holdDisagreements)
    try desk.rename(["title": "B"], base: WriteBase(values: ["title": "Buy milk"], version: nil))
    let report = await desk.sync()
    #expect(Counts(report) == (isSame ? Counts(synced: 1) : Counts(conflicted: 1)))
    #expect(desk.http.lines.first == Self.read)
    desk.checkScript()
  }

  @Test("a column the writer never saw is a conflict unless the server holds the same value")
  func unseenColumn() async throws {
    let desk = try Desk(
      [.nothing, .rows(Desk.json("Buy milk", done: false, t2))], resolver: ConflictResolvers.holdDisagreements)
    try desk.rename(["done": true], base: WriteBase(values: [:], version: t1))
    let report = await desk.sync()
    #expect(report.conflicted.first?.conflictingColumns == ["done"])
  }

  @Test("a table without a version column is read, compared and then written without a guard")
  func tableWithoutVersion() async throws {
    let table = TableDescription(name: "tasks", columns: ["title"])
    let desk = try Desk(
      [.rows(#"[{"id":42,"title":"A"}]"#), .rows(#"[{"id":42,"title":"B"}]"#)], tables: [table])
    try desk.rename(["title": "B"], base: WriteBase(values: ["title": "A"], version: nil))
    let report = await desk.sync()
    #expect(
      desk.http.lines == [
        "GET /rest/v1/tasks?select=id%2Ctitle&id=eq.42&limit=1", "PATCH /rest/v1/tasks?select=id%2Ctitle&id=eq.42",
      ])
    #expect(Counts(report) == Counts(synced: 1))
    desk.checkScript()
  }

  @Test("a save during the read that comes before the first send is not lost")
  func saveDuringRead() async throws {
    let desk = try Desk()
    let save = ScriptedExchange.Step { _ in
      _ = try? desk.rename(
        ["title": "C"], base: WriteBase(values: ["title": "B"], version: nil), coalesces: true)
      return HTTPResponse(status: 200, body: Array(Desk.json("A", t1).utf8))
    }
    desk.http.add([save, .rows(Desk.json("B", t2)), .rows(Desk.json("C", t3))])
    try desk.rename(["title": "B"], base: WriteBase(values: ["title": "A"], version: nil), coalesces: true)
    let report = await desk.sync()
    #expect(Counts(report) == Counts(synced: 2))
    #expect(desk.http.requests.map(\.text).filter { !$0.isEmpty } == [#"{"title":"B"}"#, #"{"title":"C"}"#])
    desk.checkScript()
  }

  // MARK: Unguarded

  @Test("an unguarded write that matched no row is told apart, never counted as done", arguments: [true, false])
  func unguardedNothing(isThere: Bool) async throws {
    let desk = try Desk(
      [.nothing] + (isThere ? [.rows(Desk.json("A", t1))] : [.nothing, .user(Desk.user)]))
    try desk.cache()
    try desk.rename(["title": "B"], base: nil)
    let report = await desk.sync()
    #expect(desk.http.lines[0] == "PATCH /rest/v1/tasks?select=id%2Cupdated_at%2Ctitle&id=eq.42")
    #expect(Counts(report) == (isThere ? Counts(rejected: 1) : Counts(keptServer: 1)))
    desk.checkScript()
  }

  @Test("an unguarded delete that matched no row needs the proof of its view")
  func unguardedDelete() async throws {
    let desk = try Desk([.nothing, .nothing, .error(401, "no_authorization")])
    try desk.delete(base: nil)
    let report = await desk.sync()
    #expect(Counts(report) == Counts(remaining: 1))
    guard case .unproven? = report.stoppedBy else {
      Issue.record("stopped by \(String(describing: report.stoppedBy))")
      return
    }
  }
}
