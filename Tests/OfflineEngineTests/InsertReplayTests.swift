import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("An insert")
struct InsertReplayTests {
  @Test("asks for its row back, which is then the cached row")
  func exactInsert() async throws {
    let desk = try Desk([.answer(201, Desk.json("Buy milk", t1))])
    try desk.insert()
    let report = await desk.sync()
    #expect(desk.http.lines == ["POST /rest/v1/tasks?select=id%2Cupdated_at%2Ctitle%2Cdone"])
    #expect(desk.http.requests[0].fields["Prefer"] == "return=representation")
    #expect(desk.http.requests[0].text == #"{"id":42,"title":"Buy milk"}"#)
    #expect(Counts(report) == Counts(synced: 1))
    #expect(try desk.cached == CachedRow(values: Desk.row("Buy milk", t1), version: t1, isStale: false))
  }

  @Test("in doubt is sent again so that it cannot make a second row")
  func exactResend() async throws {
    let desk = try Desk([.cut, .answer(201, Desk.json("Buy milk", t1))])
    try desk.insert()
    #expect(Counts(await desk.sync()) == Counts(remaining: 1))
    let report = await desk.sync()
    #expect(
      desk.http.lines[1]
        == "POST /rest/v1/tasks?select=id%2Cupdated_at%2Ctitle%2Cdone&on_conflict=id&columns=%22id%22%2C%22title%22")
    #expect(
      desk.http.requests[1].fields["Prefer"] == "return=representation,resolution=ignore-duplicates,missing=default")
    #expect(desk.http.requests[1].text == #"[{"id":42,"title":"Buy milk"}]"#)
    #expect(Counts(report) == Counts(synced: 1))
  }

  @Test("that certainly never arrived is sent again as it was made")
  func unsentResend() async throws {
    let desk = try Desk([.offline, .answer(201, Desk.json("Buy milk", t1))])
    try desk.insert()
    _ = await desk.sync()
    _ = await desk.sync()
    #expect(desk.http.lines[0] == desk.http.lines[1])
  }

  @Test("whose key is taken stays in doubt until the row is read: a proxy may have sent it twice")
  func takenThenCut() async throws {
    let desk = try Desk([Self.taken, .cut, .answer(201, Desk.json("Buy milk", t1))])
    try desk.insert()
    #expect(Counts(await desk.sync()) == Counts(remaining: 1))
    #expect(Counts(await desk.sync()) == Counts(synced: 1))
    #expect(desk.http.lines.last?.contains("on_conflict=id") == true)
    // Somebody may have deleted what the first made, with what belongs to it.
    #expect(try desk.client.transaction { try $0.takeRepeatedInsert("tasks", Desk.key) })
    desk.checkScript()
  }

  struct Existing: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let first: [ScriptedExchange.Step]
    let row: String
    let counts: Counts
  }

  private static let taken = ScriptedExchange.Step.error(409, "23505")

  static let existing: [Existing] = [
    Existing(
      testDescription: "an earlier send that arrived", first: [.cut, .nothing], row: Desk.json("Buy milk", t1),
      counts: Counts(synced: 1, alreadyOnServer: 1)),
    Existing(
      testDescription: "an earlier send whose row changed since", first: [.cut, .nothing],
      row: Desk.json("Buy almond milk", t2), counts: Counts(conflicted: 1)),
    Existing(
      testDescription: "a unique violation on its own equal row", first: [taken], row: Desk.json("Buy milk", t1),
      counts: Counts(synced: 1, alreadyOnServer: 1)),
    Existing(
      testDescription: "a unique violation on a row with other values", first: [taken],
      row: Desk.json("Buy almond milk", t2), counts: Counts(conflicted: 1)),
  ]

  @Test("that finds its key taken is on the server already when equal, else a conflict", arguments: existing)
  func finds(_ existing: Existing) async throws {
    let desk = try Desk(existing.first + [.rows(existing.row)], resolver: ConflictResolvers.holdDisagreements)
    try desk.insert()
    var report = await desk.sync()
    if existing.first.count > 1 { report = await desk.sync() }
    #expect(Counts(report) == existing.counts)
    #expect(desk.http.lines.last == "GET /rest/v1/tasks?select=id%2Cupdated_at%2Ctitle%2Cdone&id=eq.42&limit=1")
    if let entry = report.conflicted.first {
      #expect(entry.write.operation == .insert)
      #expect(entry.conflictingColumns == ["title"])
      #expect(entry.message == "the server has a row with this key and other values")
    }
    desk.checkScript()
  }

  @Test("settled with this device's side sets the columns of the row that is there, at its version")
  func keepLocal() async throws {
    let desk = try Desk([Self.taken, .rows(Desk.json("Buy almond milk", t2)), .rows(Desk.json("Buy milk", t3))])
    try desk.insert()
    let report = await desk.sync()
    #expect(Counts(report) == Counts(synced: 1, resolved: 1))
    #expect(desk.http.lines[2].hasPrefix("PATCH /rest/v1/tasks?"))
    #expect(desk.http.lines[2].contains("updated_at=eq.2026-10-18T13%3A04"))
    #expect(desk.http.requests[2].text == #"{"title":"Buy milk"}"#)
    desk.checkScript()
  }

  @Test("with a unique violation on another column is refused in the server's words")
  func otherUnique() async throws {
    let desk = try Desk([Self.taken, .nothing, .user(Desk.user)])
    try desk.insert()
    let report = await desk.sync()
    #expect(Counts(report) == Counts(rejected: 1))
    #expect(report.rejected.first?.serverError?.code == "23505")
    desk.checkScript()
  }

  @Test("whose key is a row that this user may not see is refused in the server's words, in doubt or not")
  func hidden() async throws {
    let desk = try Desk([.cut, .nothing, .nothing, .user(Desk.user), Self.taken, .nothing])
    try desk.insert()
    _ = await desk.sync()
    let report = await desk.sync()
    #expect(Counts(report) == Counts(rejected: 1))
    #expect(report.rejected.first?.serverError?.code == "23505")
    desk.checkScript()
  }

  @Test("that the server neither makes nor refuses is refused with a reason")
  func dropped() async throws {
    let desk = try Desk([.nothing, .nothing, .user(Desk.user)])
    try desk.insert()
    let report = await desk.sync()
    #expect(Counts(report) == Counts(rejected: 1))
    #expect(report.rejected.first?.serverError == nil)
    desk.checkScript()
  }

  @Test("is shown to its maker as the server made it, once, but not when an earlier send had made the row")
  func madeRow() async throws {
    let take = { (desk: Desk) in try desk.client.transaction { try $0.takeTakenWrite("tasks", Desk.key, at: nil) } }
    let desk = try Desk([.answer(201, Desk.json("Buy milk", t1))])
    try desk.insert()
    _ = await desk.sync()
    let (first, second) = (try take(desk), try take(desk))
    #expect(first == Desk.row("Buy milk", t1))
    #expect(second == nil)
    // Somebody may have ticked it between the two sends.
    let doubt = try Desk([.cut, .nothing, .rows(Desk.json("Buy milk", done: true, t2))])
    try doubt.insert()
    _ = await doubt.sync()
    #expect(Counts(await doubt.sync()) == Counts(synced: 1, alreadyOnServer: 1))
    let none = try take(doubt)
    #expect(none == nil)
  }

  @Test("leaves nothing behind for its maker once the row is gone")
  func goneRow() async throws {
    let desk = try Desk([.answer(201, Desk.json("Buy milk", t1))])
    try desk.insert()
    _ = await desk.sync()
    let key = Desk.key
    let taken = try desk.client.transaction { transaction in
      try transaction.setGone("tasks", key)
      return try transaction.takeTakenWrite("tasks", key, at: nil)
    }
    #expect(taken == nil)
  }

  // MARK: Updates behind it

  @Test("gives its version and the server's defaults to the updates that waited behind it")
  func updatesBehind() async throws {
    let desk = try Desk([
      .answer(201, Desk.json("Buy milk", t1)), .rows(Desk.json("Buy milk", done: true, t2)),
      .rows(Desk.json("Oat", done: true, t3)),
    ])
    try desk.insert()
    try desk.rename(["done": true], base: WriteBase(values: [:], version: nil))
    try desk.rename(["title": "Oat"], base: WriteBase(values: ["title": "Buy milk"], version: nil))
    let report = await desk.sync()
    #expect(Counts(report) == Counts(synced: 3))
    #expect(desk.http.lines[1].contains("updated_at=eq.2026-10-18T13%3A00%3A27.486123"))
    #expect(desk.http.lines[2].contains("updated_at=eq.2026-10-18T13%3A04%3A00.000001"))
    desk.checkScript()
  }

  @Test("found on the server gives its version only to writes that nobody's change lies under")
  func foundThenUpdates() async throws {
    let table = TableDescription(name: "tasks", versionColumn: "updated_at", columns: ["title", "done", "notes"])
    let row =
      #"[{"id":42,"updated_at":"\#(t2)","title":"Buy milk","done":true,"notes":null}]"#
    let desk = try Desk(
      [.cut, .nothing, .rows(row), .rows(row), .rows(#"[{"id":42,"updated_at":"\#(t3)","notes":"n"}]"#)],
      tables: [table], resolver: ConflictResolvers.holdDisagreements)
    try desk.insert()
    // Somebody may have ticked it since: the writer of this never saw what `done` was.
    try desk.rename(["done": false], base: WriteBase(values: [:], version: nil))
    try desk.rename(["notes": "n"], base: WriteBase(values: [:], version: nil))
    _ = await desk.sync()
    let report = await desk.sync()
    #expect(Counts(report) == Counts(synced: 2, alreadyOnServer: 1, conflicted: 1))
    #expect(report.conflicted.first?.conflictingColumns == ["done"])
    #expect(desk.http.lines[4].contains("updated_at=eq.2026-10-18T13%3A04"))
    desk.checkScript()
  }

  @Test(
    "found on the server lets a later update fill in what its maker left out, but not over what somebody typed",
    arguments: [("null", true), (#""""#, true), (#""theirs""#, false)])
  func foundThenFilledIn(_ notes: String, isFree: Bool) async throws {
    let table = TableDescription(name: "tasks", versionColumn: "updated_at", columns: ["title", "done", "notes"])
    let row = #"[{"id":42,"updated_at":"\#(t2)","title":"Buy milk","done":false,"notes":\#(notes)}]"#
    let filled = ScriptedExchange.Step.rows(#"[{"id":42,"updated_at":"\#(t3)","notes":"n"}]"#)
    let desk = try Desk(
      [.cut, .nothing, .rows(row), .rows(row)] + (isFree ? [filled] : []), tables: [table],
      resolver: ConflictResolvers.holdDisagreements)
    try desk.insert()
    _ = await desk.sync()
    _ = await desk.sync()
    try desk.rename(["notes": "n"], base: WriteBase(values: ["title": "Buy milk"], version: nil))
    let report = await desk.sync()
    #expect(Counts(report) == (isFree ? Counts(synced: 1) : Counts(conflicted: 1)))
    if isFree { #expect(desk.http.lines[4].contains("updated_at=eq.2026-10-18T13%3A04")) }
    desk.checkScript()
  }

  @Test("and the writes behind it go through the real dialect once each")
  func realServer() async throws {
    let world = try World(schema: World.counted())
    let replica = try world.replica(try await world.signUp("a@example.com"), tables: [World.countedTasks])
    let key = key(1)
    try replica.insert(key, ["title": "A"])
    try replica.update(key, ["title": "B"])
    try replica.update(key, ["notes": "n", "done": true])
    #expect(try replica.row(key).values?["title"] == "B")
    let report = await replica.sync()
    #expect(Counts(report) == Counts(synced: 3))
    let row = try #require(try world.rows().first)
    #expect(row["title"] == "B" && row["notes"] == "n" && row["done"] == true && row["version"] == 3)
    #expect(try replica.cached(key)?.values == row.picking(World.countedTasks.readColumns))
    #expect(try replica.cached(key)?.version == "3")
  }
}
