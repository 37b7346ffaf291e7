import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("The lists")
struct ListTests {
  /// A desk on which the update of the running example is parked at T2.
  private func parked(_ steps: [ScriptedExchange.Step] = [], operation: MutationOperation = .update) async throws
    -> (desk: Desk, id: Int64)
  {
    let desk = try Desk(
      [.nothing, .rows(Desk.json("Buy almond milk", done: true, t2))] + steps,
      resolver: ConflictResolvers.holdDisagreements)
    try desk.cache()
    if operation == .delete { try desk.delete() } else { try desk.rename() }
    let report = await desk.sync()
    return (desk, try #require(report.conflicted.first?.id))
  }

  @Test("keep local queues a parked write under a new number, against the version that the conflict saw")
  func keepLocal() async throws {
    let (desk, id) = try await parked([.rows(Desk.json("Buy oat milk", done: true, t3))])
    let new = try #require(try desk.client.transaction { try $0.resolveConflictedMutation(id, .keepLocal) })
    #expect(new > id)
    #expect(try desk.conflicted.isEmpty)
    #expect(try desk.pending.map(\.id) == [new])
    #expect(try desk.pending.map(\.baseVersion) == [t2])
    #expect(try desk.client.read { try $0.row("tasks", Desk.key).values?["title"] } == "Buy oat milk")
    let report = await desk.sync()
    #expect(Counts(report) == Counts(synced: 1))
    desk.checkScript()
  }

  @Test("a write kept after the row moved again is a conflict again")
  func keepLocalMovedAgain() async throws {
    let (desk, id) = try await parked([.nothing, .rows(Desk.json("Buy hazelnut milk", done: true, t3))])
    try desk.client.transaction { _ = try $0.resolveConflictedMutation(id, .keepLocal) }
    let report = await desk.sync()
    #expect(Counts(report) == Counts(conflicted: 1))
    #expect(report.conflicted.first?.write.base?.values["title"] == "Buy almond milk")
    #expect(report.conflicted.first?.changedOnServer == ["title"])
    desk.checkScript()
  }

  @Test("apply queues the chosen columns only")
  func apply() async throws {
    let (desk, id) = try await parked()
    try desk.client.transaction { _ = try $0.resolveConflictedMutation(id, .apply(["title": "Both"])) }
    let write = try #require(try desk.pending.first?.write)
    #expect(write.values == ["title": "Both"])
    #expect(write.base == WriteBase(values: ["title": "Buy almond milk"], version: t2))
  }

  @Test("keep server and dismiss drop a parked write and leave the server's row", arguments: [true, false])
  func keepServer(byDismissing: Bool) async throws {
    let (desk, id) = try await parked()
    let new = try desk.client.transaction { transaction -> Int64? in
      if byDismissing { try transaction.dismissConflictedMutation(id) }
      return byDismissing ? nil : try transaction.resolveConflictedMutation(id, .keepServer)
    }
    #expect(new == nil)
    #expect(try desk.conflicted.isEmpty && desk.pending.isEmpty)
    #expect(try desk.cached?.values?["title"] == "Buy almond milk")
  }

  @Test("what cannot settle an entry is refused, and the entry stays")
  func cannotResolve() async throws {
    let (desk, id) = try await parked()
    let (gone, goneID) = try await goneEntry()
    let (deleting, deleteID) = try await parked(operation: .delete)
    let cases: [(Desk, Int64, ConflictResolution)] = [
      (desk, id, .hold), (desk, id, .apply([:])), (gone, goneID, .keepLocal), (gone, goneID, .apply(["title": "x"])),
      (deleting, deleteID, .apply(["title": "x"])),
    ]
    for (desk, id, resolution) in cases {
      #expect(throws: ListError.self) {
        try desk.client.transaction { _ = try $0.resolveConflictedMutation(id, resolution) }
      }
      #expect(try desk.conflicted.map(\.id) == [id])
      #expect(try desk.pending.isEmpty)
    }
  }

  private func goneEntry() async throws -> (Desk, Int64) {
    let desk = try Desk([.nothing, .nothing, .user(Desk.user)], resolver: ConflictResolvers.holdDisagreements)
    try desk.rename()
    let report = await desk.sync()
    return (desk, try #require(report.conflicted.first?.id))
  }

  @Test("a parked delete that is kept deletes against the version that the conflict saw")
  func keepDelete() async throws {
    let (desk, id) = try await parked([.rows(#"[{"id":42,"updated_at":"\#(t2)"}]"#)], operation: .delete)
    try desk.client.transaction { _ = try $0.resolveConflictedMutation(id, .keepLocal) }
    let report = await desk.sync()
    #expect(Counts(report) == Counts(synced: 1))
    #expect(desk.http.lines.last?.contains("updated_at=eq.2026-10-18T13%3A04") == true)
  }

  @Test("entries and queued writes are their user's alone")
  func perUser() async throws {
    let (desk, id) = try await parked()
    try desk.rename(["title": "C"], base: WriteBase(values: ["title": "Buy almond milk"], version: t2))
    let pending = try #require(try desk.pending.first?.id)
    try desk.store.transaction(user: "somebody-else") { (transaction: EngineTransaction) throws -> Void in
      #expect(try transaction.conflictedMutations().isEmpty)
      #expect(try transaction.pendingMutations().isEmpty)
      #expect(try transaction.counts() == MutationCounts())
      #expect(throws: ListError.self) { try transaction.dismissConflictedMutation(id) }
      #expect(throws: ListError.self) { try transaction.resolveConflictedMutation(id, .keepServer) }
      #expect(throws: ListError.self) { try transaction.discardPendingMutation(pending) }
    }
    #expect(try desk.client.read { try $0.counts() }.conflicted == 1)
    #expect(try desk.pending.count == 1)
  }

  @Test("a refused write tried again goes to the end of the queue, with new values where given")
  func retry() async throws {
    let desk = try Desk([.error(400, "23514"), .rows(Desk.json("Good", t2))])
    try desk.cache()
    let id = try #require(try desk.rename())
    _ = await desk.sync()
    #expect(try desk.client.read { try $0.rejectedMutations("tasks", Desk.key) }.map(\.id) == [id])
    try desk.client.transaction { _ = try $0.retryRejectedMutation(id, values: ["title": "Good"]) }
    #expect(try desk.rejected.isEmpty)
    #expect(Counts(await desk.sync()) == Counts(synced: 1))
    #expect(desk.http.requests[1].text == #"{"title":"Good"}"#)
    #expect(throws: ListError.self) { try desk.client.transaction { _ = try $0.retryRejectedMutation(id) } }
  }

  @Test("a refused or queued write that is dropped shows the server's row again", arguments: [true, false])
  func dropped(wasRefused: Bool) async throws {
    let desk = try Desk(wasRefused ? [.error(400, "23514")] : [])
    try desk.cache()
    let id = try #require(try desk.rename())
    #expect(try desk.client.read { try $0.row("tasks", Desk.key).values?["title"] } == "Buy oat milk")
    if wasRefused { _ = await desk.sync() }
    try desk.client.transaction { transaction in
      if wasRefused {
        try transaction.dismissRejectedMutation(id)
      } else {
        try transaction.discardPendingMutation(id)
      }
    }
    #expect(try desk.client.read { try $0.row("tasks", Desk.key).values?["title"] } == "Buy milk")
    #expect(try desk.client.read { try $0.counts() } == MutationCounts())
  }

  @Test("a write taken back while it is on the wire stays taken back")
  func discardedOnTheWire() async throws {
    let desk = try Desk()
    let id = try #require(try desk.rename())
    desk.http.add([
      ScriptedExchange.Step { _ in
        try? desk.client.transaction { try $0.discardPendingMutation(id) }
        return HTTPResponse(status: 400, body: Array(#"{"code":"23514","message":"m"}"#.utf8))
      }
    ])
    _ = await desk.sync()
    #expect(try desk.client.read { try $0.counts() } == MutationCounts())
  }

  @Test("the counts are one look, and a write moving between lists is in exactly one")
  func counts() async throws {
    let (desk, _) = try await parked([.error(400, "23514"), .offline])
    try desk.rename(["title": "x"], base: WriteBase(values: ["title": "Buy almond milk"], version: t2))
    try desk.rename(["title": "y"], base: WriteBase(values: ["title": "Buy almond milk"], version: t2))
    _ = await desk.sync()
    let counts = try desk.client.read { try $0.counts() }
    #expect([counts.queued, counts.rejected, counts.conflicted] == [1, 1, 1])
  }

  @Test("an entry keeps everything across a restart")
  func durable() throws {
    let folder = try TemporaryFolder()
    let clock = VirtualClock()
    let write = Write.update(
      "tasks", key: Desk.key, values: ["title": "é\u{301}\u{0}\u{10FFFF}", "n": 1.10],
      base: WriteBase(values: ["title": nil], version: t1), coalesces: true)
    let path = folder.file("state.sqlite")
    let id = try EngineStore(path: path, clock: clock).transaction(user: "u") {
      try $0.park(write, server: ["title": "theirs"], serverVersion: t2, message: "both changed")
    }
    let entry = try EngineStore(path: path, clock: clock).read(user: "u") { try $0.conflictedMutation(id) }
    #expect(
      entry
        == ConflictedMutation(
          id: id, write: write, createdAt: clock.now(), conflictedAt: clock.now(), server: ["title": "theirs"],
          serverVersion: t2, changedOnServer: ["title", "n"], conflictingColumns: ["title", "n"],
          message: "both changed"))
  }
}
