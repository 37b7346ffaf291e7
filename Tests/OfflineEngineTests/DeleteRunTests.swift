import LosslessJSON
import SupabaseAPI
import Synchronization
import Testing

@testable import OfflineEngine

@Suite("Deletes that follow one another")
struct DeleteRunTests {
  private func ground(_ count: Int) async throws -> Ground {
    let ground = try await Ground(count)
    try await ground.replica.pull()
    ground.replica.http.forget()
    return ground
  }

  private func deletes(_ ground: Ground) -> [String] { ground.replica.http.lines.filter { $0.hasPrefix("DELETE") } }

  @Test("travel as one request, at most sixty of them, in a line that every server takes")
  func oneRequest() async throws {
    let ground = try await ground(100)
    for number in 1...100 { try ground.replica.delete(key(number)) }
    #expect(Counts(await ground.replica.sync()) == Counts(synced: 100))
    #expect(deletes(ground).count == 2)
    #expect(deletes(ground).allSatisfy { $0.utf8.count < 8_000 })
    #expect(ground.replica.http.requests.count == 2)
    #expect(try ground.world.rows().isEmpty)
    #expect(try ground.replica.row(key(7)).isGone)
  }

  @Test("each end in their own way: done, moved, gone, not allowed")
  func outcomes() async throws {
    let rows = (1...5).map { number -> JSONObject in
      ["id": .number(JSONNumber(Int64(number))), "updated_at": .string(t1), "title": "a", "done": false]
    }
    func shown(_ rows: [JSONObject]) -> String { JSONValue.array(rows.map { .object($0) }).serialized() }
    var moved = rows[1]
    moved["updated_at"] = .string(t2)
    moved["title"] = "theirs"
    // Of 2, 3 and 4 nothing was deleted: one moved, one is gone, one may not be deleted.
    let desk = try Desk(
      [.rows(shown([rows[0], rows[4]])), .rows(shown([moved, rows[3]])), .nothing],
      resolver: ConflictResolvers.holdDisagreements)
    for row in rows {
      try desk.client.transaction { transaction in
        guard let key = Desk.tasks.key(of: row) else { return }
        try transaction.setCachedRow(Desk.tasks, key, row)
        let base = WriteBase(values: row.picking(Desk.tasks.columns), version: t1)
        _ = try transaction.enqueue(.delete(from: "tasks", key: key, base: base))
      }
    }
    let report = await desk.sync()
    #expect(Counts(report) == Counts(synced: 3, rejected: 1, alreadyOnServer: 1, conflicted: 1))
    #expect(try desk.conflicted.map(\.write.key.text) == ["2"])
    #expect(try desk.rejected.map(\.write.key.text) == ["4"])
    #expect(desk.http.requests.map(\.method) == ["DELETE", "GET", "GET"])
    desk.checkScript()
  }

  @Test("are refused alone: a row that others hang on keeps no other on the server")
  func thirdOfFive() async throws {
    let ground = try await ground(8)
    let refusal = #"{"code":"23503","message":"still referenced","details":null,"hint":null}"#
    ground.replica.http.before { request in
      guard request.method == "DELETE" else { return nil }
      ground.world.standIn.faults =
        request.line.contains(key(3).text)
        ? [.init(.answer(status: 409, contentType: "application/json", body: refusal))] : []
      return nil
    }
    for number in 1...5 { try ground.replica.delete(key(number)) }
    let report = await ground.replica.sync()
    #expect(Counts(report) == Counts(synced: 4, rejected: 1))
    #expect(try ground.replica.rejected.map(\.write.key) == [key(3)])
    #expect(try ground.replica.rejected.first?.serverError?.code == "23503")
    #expect(try ground.world.rows().map { $0["id"]?.stringValue } == [3, 6, 7, 8].map { key($0).text })
  }

  @Test("whose answer is lost are all in doubt, and one look settles them")
  func lostAnswer() async throws {
    let ground = try await ground(9)
    for number in 1...5 { try ground.replica.delete(key(number)) }
    ground.replica.http.after { _ in StandInExchange.cut }
    #expect(Counts(await ground.replica.sync()) == Counts(remaining: 5))
    #expect(try ground.replica.pending.map(\.sendCount) == [1, 1, 1, 1, 1])
    ground.replica.http.after(nil)
    ground.replica.http.forget()
    #expect(Counts(await ground.replica.sync()) == Counts(synced: 5, alreadyOnServer: 5))
    // The deletes, a look at their rows, and one at a row that must be there.
    #expect(ground.replica.http.requests.map(\.method) == ["DELETE", "GET", "GET"])
    #expect(try ground.world.rows().count == 4)
  }

  @Test("of which some cannot be guarded by a version, or ask for more than the key, travel alone")
  func alone() async throws {
    let ground = try await ground(6)
    for number in 1...3 { try ground.replica.delete(key(number)) }
    try ground.replica.client.transaction { transaction in
      _ = try transaction.enqueue(.delete(from: "tasks", key: key(4), base: nil))
      var write = Write.delete(
        from: "tasks", key: key(5),
        base: WriteBase(values: [:], version: try transaction.cachedRow("tasks", key(5))?.version))
      write.request = WriteRequest()
      write.request?.rowKeys = [key(5)]
      write.request?.conditions = [.eq("id", key(5).values[0]), .eq("done", true)]
      _ = try transaction.enqueue(write)
    }
    let report = await ground.replica.sync()
    #expect(Counts(report) == Counts(synced: 5))
    #expect(deletes(ground).count == 3)
    // Task 5 is not done, so its delete had nothing to do.
    #expect(try ground.world.rows().map { $0["id"]?.stringValue } == [5, 6].map { key($0).text })
  }
}
