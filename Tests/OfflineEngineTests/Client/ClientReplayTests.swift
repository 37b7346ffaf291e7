import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("Replaying a developer's writes (spec 1 and 4)")
struct ClientReplayTests {
  /// Queues a write without a network, then syncs.
  private func replay(
    _ steps: [ScriptedExchange.Step], first: ScriptedExchange.Step = .offline,
    _ build: (TableReference) -> WriteBuilder
  ) async throws -> (ClientDesk, SyncReport) {
    let desk = try await ClientDesk([first] + steps)
    #expect(try await build(desk.tasks).execute().isQueued)
    let report = try await desk.client.syncPendingMutations()
    desk.http.check()
    return (desk, report)
  }

  @Test("a keyed insert whose first send may have arrived goes out as an upsert that ignores duplicates")
  func keyedInsert() async throws {
    let (desk, report) = try await replay(
      [.answer(201, "[]"), .rows(#"[{"id":42,"title":"Buy milk","done":false,"updated_at":"T1"}]"#)], first: .cut
    ) { $0.insert(WriteOutcomeTests.row) }
    #expect(Counts(report) == Counts(synced: 1, alreadyOnServer: 1))
    #expect(desk.http.requests[1].fields["Prefer"]?.contains("resolution=ignore-duplicates") == true)
    #expect(desk.http.lines[1].contains("on_conflict=id"))
  }

  @Test("a keyed insert of a list counts once, and rows that an earlier send brought are not made again")
  func keyedList() async throws {
    let (desk, report) = try await replay(
      [.answer(201, #"[{"id":2,"title":"B","done":false}]"#), .rows(#"[{"id":1,"title":"A","done":false}]"#)],
      first: .cut
    ) { $0.insert([TaskRow(id: 1, title: "A"), TaskRow(id: 2, title: "B")]) }
    #expect(Counts(report) == Counts(synced: 1, alreadyOnServer: 1))
    #expect(desk.http.lines[1].contains("on_conflict=id"))
  }

  @Test("a row of a list that the server holds with other values is put on the conflicted list, nothing is hidden")
  func differingList() async throws {
    let (desk, report) = try await replay(
      [
        .answer(201, #"[{"id":2,"title":"B","done":false}]"#),
        .rows(#"[{"id":1,"title":"Theirs","done":false,"updated_at":"T9"}]"#),
      ], first: .cut
    ) { $0.insert([TaskRow(id: 1, title: "A"), TaskRow(id: 2, title: "B")]) }
    #expect(Counts(report) == Counts(synced: 1, alreadyOnServer: 1, conflicted: 1))
    let entry = try #require(try desk.client.conflictedMutationList().first)
    #expect(entry.rowKeys.map(\.text) == ["1"] && entry.conflictingColumns == ["title"] && entry.serverVersion == "T9")
    desk.http.add([.rows(#"[{"id":1,"title":"A","updated_at":"T10"}]"#)])
    try desk.client.resolveConflictedMutation(id: entry.id, resolution: .keepLocal)
    await desk.allSent()
    #expect(desk.http.lines.last?.hasSuffix("&id=eq.1&updated_at=eq.T9") == true)
    desk.http.check()
  }

  @Test("an insert whose key the server makes is sent again as it was made: twice when its first answer was lost")
  func unkeyedInsert() async throws {
    let (desk, report) = try await replay([.answer(201, "")], first: .cut) { $0.insert(["title": "A"]) }
    #expect(Counts(report) == Counts(synced: 1))
    #expect(desk.http.lines[0] == desk.http.lines[1])
    #expect(desk.http.requests[0].text == desk.http.requests[1].text)
  }

  @Test("an upsert is sent as it was made, with its columns and its word on duplicates and defaults")
  func upsert() async throws {
    let (desk, report) = try await replay([.answer(200, "", ["Content-Range": "*/*"])]) {
      $0.upsert([TaskRow(id: 1, title: "A")], onConflict: "title", defaultToNull: false)
    }
    #expect(Counts(report) == Counts(synced: 1))
    #expect(desk.http.lines[0] == desk.http.lines[1])
    #expect(desk.http.requests[1].fields["Prefer"] == "return=minimal,resolution=merge-duplicates,missing=default")
  }

  @Test("an update by other conditions than the key is sent as it was made; none matched is none to change")
  func broad() async throws {
    let (desk, report) = try await replay([.answer(204, "")]) { $0.update(["done": true]).eq("user_id", value: "u") }
    #expect(Counts(report) == Counts(synced: 1))
    #expect(desk.http.lines == Array(repeating: "PATCH /rest/v1/tasks?user_id=eq.u", count: 2))
  }

  @Test("single() is asked of the send at once only")
  func single() async throws {
    let (desk, report) = try await replay([.answer(201, #"[{"id":1}]"#)]) { $0.upsert(["id": 1]).select().single() }
    #expect(Counts(report) == Counts(synced: 1))
    #expect(
      desk.http.requests.map { $0.fields["Accept"] } == ["application/vnd.pgrst.object+json", "application/json"])
  }

  @Test("an update of one row without a base is sent by its key; a row that is not there any more counts as kept")
  func unguarded() async throws {
    let (_, report) = try await replay([.nothing, .nothing, .user(Desk.user)]) {
      $0.update(["done": true]).eq("id", value: 1)
    }
    #expect(Counts(report) == Counts(keptServer: 1))
  }

  @Test("an update whose other condition the row no longer meets has nothing to change")
  func missed() async throws {
    let (desk, report) = try await replay([.nothing, .rows(#"[{"id":1,"done":true,"updated_at":"T1"}]"#)]) {
      $0.update(["title": "A"]).eq("id", value: 1).eq("done", value: false)
    }
    #expect(Counts(report) == Counts(synced: 1))
    #expect(desk.http.lines[2].contains("select=id%2Cupdated_at%2Ctitle%2Cdone"))
    #expect(try desk.pending.isEmpty)
  }

  @Test("an update that a policy keeps from a row which meets it all is rejected without a server's error")
  func denied() async throws {
    let (desk, report) = try await replay([.nothing, .rows(#"[{"id":1,"title":"B","done":false}]"#)]) {
      $0.update(["title": "A"]).eq("id", value: 1).eq("done", value: false)
    }
    #expect(Counts(report) == Counts(rejected: 1))
    #expect(try desk.rejected.first?.serverError == nil)
  }

  @Test(
    "a write that can no longer be replayed as it was made is rejected without a server's error, and the rest goes on")
  func unreadable() async throws {
    let desk = try await ClientDesk([.answer(201, #"[{"id":2}]"#)])
    desk.client.disableNetwork()
    _ = try await desk.tasks.delete().eq("user_id", value: "u").execute()
    _ = try await desk.tasks.insert(TaskRow(id: 2, title: "B")).execute()
    try desk.client.engine.transaction {
      try $0.database.execute(
        "UPDATE mutation SET request = '{\"conditions\":[[\"a\",\"later\",1]]}' WHERE operation = 'DELETE'")
    }
    desk.client.enableNetwork()
    await desk.allSent()
    #expect(try desk.rejected.map(\.operation) == [.delete])
    #expect(try desk.rejected.first?.serverError == nil && desk.rejected.first?.isRetryable == false)
    desk.http.check()
  }

  @Test(
    "PostgREST's word that it does not know a name rejects a write at the tenth, each at least 30 s after the last",
    arguments: ["PGRST204", "PGRST205"])
  func unknownName(_ code: String) async throws {
    let desk = try await ClientDesk(Array(repeating: .error(400, code), count: 14) + [.answer(201, #"[{"id":2}]"#)])
    #expect(try await desk.tasks.insert(TaskRow(id: 1, title: "A")).execute().isQueued)
    for _ in 0..<3 { #expect(try await desk.client.syncPendingMutations().remaining == 1) }
    #expect(desk.client.syncStatus.lastSyncError == SyncFailed(kind: .schemaCache, status: 400, code: code))
    for number in 2...9 {
      desk.clock.advance(by: .seconds(30))
      #expect(try await desk.client.syncPendingMutations().remaining == 1, "\(number)")
    }
    desk.clock.advance(by: .seconds(29))
    #expect(try await desk.client.syncPendingMutations().remaining == 1)
    _ = desk.http
    desk.clock.advance(by: .seconds(1))
    let report = try await desk.client.syncPendingMutations()
    #expect(Counts(report) == Counts(rejected: 1))
    #expect(try desk.rejected.first?.serverError?.code == code)
  }

  @Test("for one table stops at an earlier write to another, and counts what it held back")
  func heldBehind() async throws {
    let desk = try await ClientDesk([.answer(201, #"[{"id":1}]"#)])
    desk.client.disableNetwork()
    _ = try await desk.tasks.insert(TaskRow(id: 1, title: "A")).execute()
    _ = try await desk.client.from("notes").insert(["id": 1]).execute()
    for id in [2, 3] { _ = try await desk.tasks.insert(TaskRow(id: id, title: "B")).execute() }
    desk.client.enableNetworkUnnoticed()
    let report = try await desk.client.syncPendingMutations(table: "tasks")
    #expect(Counts(report) == Counts(synced: 1, remaining: 3))
    #expect(report.heldBehindOtherTables == 2)
    desk.http.check()
  }

  @Test("a call that meets a running pass waits for it, then sends what is left")
  func waits() async throws {
    let (onTheWire, answer) = (Gate(), Gate())
    let desk = try await ClientDesk([
      .init { _ in
        onTheWire.open()
        await answer.opened()
        return HTTPResponse(status: 201)
      }, .answer(201, ""),
    ])
    desk.client.disableNetwork()
    _ = try await desk.tasks.upsert(TaskRow(id: 1, title: "A")).execute()
    desk.client.enableNetwork()
    await onTheWire.opened()
    async let second = desk.tasks.upsert(TaskRow(id: 2, title: "B")).execute()
    async let report = desk.client.syncPendingMutations()
    answer.open()
    _ = try await (second, report)
    await desk.allSent()
    desk.http.check()
  }

  @Test("is over promptly offline, and says so without any of the server's words")
  func offline() async throws {
    let desk = try await ClientDesk([.offline, .offline])
    _ = try await desk.tasks.insert(WriteOutcomeTests.row).execute()
    let report = try await desk.client.syncPendingMutations()
    #expect(report.remaining == 1 && report.synced == 0)
    #expect(desk.client.syncStatus.lastSyncError == SyncFailed(kind: .connectivity))
    #expect(desk.client.syncStatus.lastSyncedAt == nil)
  }

  @Test("waits at most ten seconds for the session, and sends nothing when it has not settled")
  func session() async throws {
    let gate = Gate()
    let desk = try await ClientDesk(
      [
        .init { _ throws(HTTPError) in
          await gate.opened()
          throw .cannotConnect(origin: "http://scripted", reason: "refused")
        }
      ], session: OfflineEngineTests.session(of: Desk.user, expiresAt: 1))
    _ = try await desk.tasks.insert(WriteOutcomeTests.row).execute()
    async let report = desk.client.syncPendingMutations()
    await desk.clock.someoneSleeps(until: desk.clock.now() + .seconds(10))
    desk.clock.advance(by: .seconds(10))
    #expect(try await report.remaining == 1)
    #expect(desk.client.syncStatus.lastSyncError?.kind == .session)
    #expect(desk.http.lines.allSatisfy { !$0.contains("/rest/") })
    gate.open()
  }

  @Test("cleared local data ends a pass in progress first, whose report counts what it sent before")
  func cleared() async throws {
    let (onTheWire, answer) = (Gate(), Gate())
    let desk = try await ClientDesk([
      .init { _ in
        onTheWire.open()
        await answer.opened()
        return HTTPResponse(status: 201)
      }
    ])
    desk.client.disableNetwork()
    for id in 1...3 { _ = try await desk.tasks.upsert(TaskRow(id: id, title: "A")).execute() }
    desk.client.enableNetworkUnnoticed()
    async let report = desk.client.syncPendingMutations()
    await onTheWire.opened()
    async let clearing: Void = desk.client.clearLocalData()
    await desk.client.engine.interrupted()
    answer.open()
    try await clearing
    #expect(try await report.synced == 1)
    #expect(try desk.pending.isEmpty)
    #expect(desk.client.syncStatus.lastSyncError == nil)
    desk.http.check()
  }

  @Test("throws only when the client is closed")
  func closed() async throws {
    let desk = try await ClientDesk()
    desk.client.close()
    await #expect(throws: OfflineError.self) { try await desk.client.syncPendingMutations() }
    await #expect(throws: OfflineError.self) { try await desk.tasks.insert(WriteOutcomeTests.row).execute() }
  }
}

extension UserEngine {
  /// Returns once somebody wants a running pass to end.
  func interrupted() async {
    while interruptions.load(ordering: .relaxed) == 0 { await Task.yield() }
  }
}
