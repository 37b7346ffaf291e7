import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("Forwarding a version")
struct ForwardingTests {
  /// Two devices of one user that have both read one task.
  private struct Pair {
    let world: World
    let mine: Replica
    let other: Replica
    let key = OfflineEngineTests.key(1)

    init() async throws {
      world = try World()
      let session = try await world.signUp("a@example.com")
      mine = try world.replica(session)
      other = try world.replica(session)
      try mine.insert(key, ["title": "Buy milk", "notes": "two bottles"])
      _ = await mine.sync()
      try await mine.pull()
      try await other.pull()
    }

    func serverRow() throws -> JSONObject { try world.rows()[0] }
  }

  @Test("two writes at one base both go through when nobody else writes")
  func chain() async throws {
    let pair = try await Pair()
    try pair.mine.update(pair.key, ["title": "Buy oat milk"])
    try pair.mine.update(pair.key, ["notes": "one bottle"])
    try pair.mine.update(pair.key, ["title": "Buy soy milk"])
    pair.mine.http.forget()
    let report = await pair.mine.sync()
    #expect(Counts(report) == Counts(synced: 3))
    #expect(pair.mine.http.requests.count == 3)
    #expect(try pair.serverRow()["title"] == "Buy soy milk")
  }

  @Test("never lets my notes pass over theirs: title and notes at T1, notes changed at T2, the title resent as T3")
  func example() async throws {
    let pair = try await Pair()
    try pair.mine.update(pair.key, ["title": "Buy oat milk"])
    try pair.mine.update(pair.key, ["notes": "my notes"])
    try pair.other.update(pair.key, ["notes": "their notes"])
    #expect(Counts(await pair.other.sync()) == Counts(synced: 1))
    let report = await pair.mine.sync()
    #expect(Counts(report) == Counts(synced: 1, conflicted: 1))
    #expect(try pair.serverRow()["title"] == "Buy oat milk")
    #expect(try pair.serverRow()["notes"] == "their notes")
    let entry = try #require(report.conflicted.first)
    #expect(entry.conflictingColumns == ["notes"])
    #expect(entry.server?["notes"] == "their notes")
    #expect(try pair.mine.row(pair.key).values?["notes"] == "their notes")
  }

  @Test("after a resend reaches a write whose columns nobody else moved")
  func afterResend() async throws {
    let pair = try await Pair()
    try pair.mine.update(pair.key, ["title": "Buy oat milk"])
    try pair.mine.update(pair.key, ["notes": "my notes"])
    try pair.other.update(pair.key, ["done": true])
    _ = await pair.other.sync()
    pair.mine.http.forget()
    let report = await pair.mine.sync()
    #expect(Counts(report) == Counts(synced: 2))
    #expect(pair.mine.http.requests.count == 4)  // PATCH, read, PATCH again, then the second write at once.
    #expect(try pair.serverRow()["done"] == true)
  }

  @Test("after a resend does not reach a write whose writer never saw one of its columns")
  func unseenColumn() async throws {
    let desk = try Desk(
      [
        .nothing, .rows(Desk.json("Buy milk", done: true, t2)),
        .rows(#"[{"id":42,"updated_at":"\#(t3)","title":"B"}]"#),
        .nothing, .rows(Desk.json("B", done: true, t3)),
      ], resolver: ConflictResolvers.holdDisagreements)
    try desk.rename(["title": "B"], base: WriteBase(values: ["title": "Buy milk"], version: t1))
    try desk.rename(["done": false], base: WriteBase(values: [:], version: t1))
    let report = await desk.sync()
    #expect(Counts(report) == Counts(synced: 1, conflicted: 1))
    desk.checkScript()
  }

  @Test("after a resend does not reach a delete")
  func deleteAfterResend() async throws {
    let pair = try await Pair()
    try pair.mine.update(pair.key, ["title": "Buy oat milk"])
    try pair.mine.delete(pair.key)
    try pair.other.update(pair.key, ["done": true])
    _ = await pair.other.sync()
    let report = await pair.mine.sync()
    #expect(Counts(report) == Counts(synced: 1, conflicted: 1))
    #expect(try pair.world.rows().count == 1)
  }

  @Test("at the exact base reaches a delete")
  func deleteBehindUpdate() async throws {
    let pair = try await Pair()
    try pair.mine.update(pair.key, ["title": "Buy oat milk"])
    try pair.mine.delete(pair.key)
    let report = await pair.mine.sync()
    #expect(Counts(report) == Counts(synced: 2))
    #expect(try pair.world.rows().isEmpty)
  }

  @Test("does not reach a write that was made against another version")
  func otherBase() async throws {
    let desk = try Desk([.rows(Desk.json("B", t3))])
    try desk.rename(["title": "B"], base: WriteBase(values: ["title": "A"], version: t1))
    try desk.rename(["done": true], base: WriteBase(values: ["done": false], version: t2))
    _ = await desk.sync()
    #expect(try desk.pending.map(\.baseVersion) == [t2])
  }

  @Test(
    "of an unguarded write reaches only a write whose writer saw the row as it came back",
    arguments: [(false, t3), (true, nil)] as [(Bool, String?)])
  func unguarded(seenDone: Bool, version: String?) async throws {
    let desk = try Desk([.rows(Desk.json("B", t3))])
    try desk.rename(["title": "B"], base: nil)
    try desk.rename(["done": true], base: WriteBase(values: ["done": .bool(seenDone)], version: nil))
    try desk.delete(base: WriteBase(values: ["title": "A"], version: nil))
    _ = await desk.sync()
    #expect(try desk.pending.map(\.baseVersion) == [version, nil])
  }

  @Test("of a write whose first answer was lost reaches the writes behind it")
  func lostAnswer() async throws {
    let pair = try await Pair()
    try pair.mine.update(pair.key, ["title": "Buy oat milk"])
    try pair.mine.update(pair.key, ["title": "Buy soy milk"])
    pair.mine.http.after { $0.method == "PATCH" ? StandInExchange.cut : nil }
    #expect(Counts(await pair.mine.sync()) == Counts(remaining: 2))
    pair.mine.http.after(nil)
    let report = await pair.mine.sync()
    #expect(Counts(report) == Counts(synced: 2, alreadyOnServer: 1))
    #expect(try pair.serverRow()["title"] == "Buy soy milk")
  }

  @Test("of a write whose answer was lost reaches a delete whose writer saw the row so", arguments: [false, true])
  func lostAnswerBeforeDelete(isChangedElsewhere: Bool) async throws {
    let pair = try await Pair()
    try pair.mine.update(pair.key, ["title": "Buy oat milk"])
    pair.mine.http.after { $0.method == "PATCH" ? StandInExchange.cut : nil }
    #expect(Counts(await pair.mine.sync()) == Counts(remaining: 1))
    pair.mine.http.after(nil)
    try pair.mine.delete(pair.key)
    if isChangedElsewhere {
      try await pair.other.pull()
      try pair.other.update(pair.key, ["done": true])
      _ = await pair.other.sync()
    }
    let report = await pair.mine.sync()
    #expect(report.conflicted.count == (isChangedElsewhere ? 1 : 0))
    #expect(try pair.world.rows().isEmpty != isChangedElsewhere)
  }

  @Test(
    "of a write whose answer was lost reaches the delete of a row made here without all columns, if its writer saw the rest",
    arguments: [("loose", 0), ("as they were before", 1)])
  func lostAnswerBeforeDeleteOfNew(seenNotes: String, conflicts: Int) async throws {
    let (pair, key) = try await lostAnswer(
      beforeNotesAndDeleteWithBase: ["title": "Buy green tea", "notes": .string(seenNotes)])
    let report = await pair.mine.sync()
    #expect(report.conflicted.count == conflicts)
    #expect(try pair.world.rows().contains { $0["id"] == key.values[0] } == (conflicts > 0))
  }

  @Test("of a write whose answer was lost does not reach a delete past another's change of what is set in between")
  func lostAnswerAndAnothersNotes() async throws {
    let (pair, key) = try await lostAnswer(beforeNotesAndDeleteWithBase: ["title": "Buy green tea", "notes": "loose"])
    try await pair.other.pull()
    try pair.other.update(key, ["notes": "their notes"])
    #expect(Counts(await pair.other.sync()) == Counts(synced: 1))
    let report = await pair.mine.sync()
    #expect(report.conflicted.count == 2)
    #expect(try pair.world.rows().contains { $0["notes"] == "their notes" })
  }

  /// A row made here without notes; an update of its title whose answer was lost, one of its notes, and its delete.
  private func lostAnswer(beforeNotesAndDeleteWithBase base: JSONObject) async throws -> (Pair, RowKey) {
    let pair = try await Pair()
    let key = OfflineEngineTests.key(2)
    try pair.mine.insert(key, ["title": "Buy tea"])
    #expect(Counts(await pair.mine.sync()) == Counts(synced: 1))
    let version = try pair.mine.row(key).server?.version
    try pair.mine.update(key, ["title": "Buy green tea"])
    try pair.mine.update(key, ["notes": "loose"])
    _ = try pair.mine.client.transaction { transaction in
      try transaction.enqueue(.delete(from: "tasks", key: key, base: WriteBase(values: base, version: version)))
    }
    pair.mine.http.after { $0.method == "PATCH" ? StandInExchange.cut : nil }
    #expect(Counts(await pair.mine.sync()) == Counts(remaining: 3))
    pair.mine.http.after(nil)
    return (pair, key)
  }

  @Test("leaves a write the value that its writer saw, where another write in between has set it")
  func valueOfWriteBetween() async throws {
    let pair = try await Pair()
    for title in ["Buy oat milk", "Buy soy milk", "Buy rice milk"] {
      try pair.mine.update(pair.key, ["title": .string(title)])
    }
    pair.mine.http.after(losing: 2)
    #expect(Counts(await pair.mine.sync()) == Counts(synced: 1, remaining: 2))
    #expect(try pair.mine.pending.map { $0.write.base?.values["title"] } == ["Buy oat milk", "Buy soy milk"])
  }

  @Test("is no conflict of mine with myself where the second of three answers was lost", arguments: [false, true])
  func secondAnswerLost(isNew: Bool) async throws {
    let pair = try await Pair()
    let key = isNew ? OfflineEngineTests.key(2) : pair.key
    if isNew { try pair.mine.insert(key, ["title": "Buy tea"]) }
    for title in ["Buy oat milk", "Buy soy milk", "Buy rice milk"] {
      try pair.mine.update(key, ["title": .string(title)])
    }
    pair.mine.http.after(losing: isNew ? 3 : 2)
    #expect(await pair.mine.sync().stoppedBy != nil)
    pair.mine.http.after(nil)
    let report = await pair.mine.sync()
    #expect(report.conflicted.isEmpty)
    #expect(try pair.world.rows().contains { $0["title"] == "Buy rice milk" })
  }

  @Test("stays with its user: another's queued write keeps the base its user saw")
  func otherUser() async throws {
    let world = try World()
    let (anna, ben) = (try await world.signUp("a@example.com"), try await world.signUp("b@example.com"))
    let folder = try TemporaryFolder()
    let first = try world.replica(anna, path: folder.file("state.sqlite"))
    let second = try world.replica(ben, path: folder.file("state.sqlite"))
    let key = key(1)
    try first.insert(key, ["title": "A"])
    try second.client.transaction { transaction in
      _ = try transaction.enqueue(
        .update("tasks", key: key, values: ["title": "Ben's"], base: WriteBase(values: ["title": "A"], version: nil)))
    }
    #expect(Counts(await first.sync()) == Counts(synced: 1))
    #expect(try second.pending.map(\.baseVersion) == [nil])
    #expect(try first.pending.isEmpty)
    #expect(try second.cached(key) == nil)
    // Ben may not see the row: his write meets a row that is not there for him.
    #expect(Counts(await second.sync()) == Counts(conflicted: 1))
    #expect(try world.rows()[0]["title"] == "A")
    #expect(try first.conflicted.isEmpty)
  }
}
