import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

/// A server that does not know a name of one table yet, where writes are kept for as long as that takes.
@Suite("A name that the server does not know yet")
struct UnknownNameTests {
  static let notes = TableDescription(name: "notes", columns: ["text"])
  static let noteKey = RowKey([.number(JSONNumber(7))])

  private func desk(_ steps: [ScriptedExchange.Step]) throws -> Desk {
    try Desk(steps, tables: [Desk.tasks, Self.notes])
  }

  private func note(_ number: Int64, _ desk: Desk) throws {
    try desk.client.transaction { transaction in
      _ = try transaction.enqueue(
        .insert(
          into: "notes", key: RowKey([.number(JSONNumber(number))]),
          values: ["id": .number(JSONNumber(number)), "text": "x"]))
    }
  }

  /// Expects that a pass says what of which table it waits for.
  private func expectWait(_ report: SyncReport, at location: SourceLocation = #_sourceLocation) {
    guard case .schemaCache("tasks", _)? = report.stoppedBy else {
      Issue.record("\(String(describing: report.stoppedBy))", sourceLocation: location)
      return
    }
  }

  @Test(
    "keeps its table's writes in order and lets the other tables go on",
    arguments: [(400, "PGRST204"), (404, "PGRST205")]
  )
  func othersGoOn(_ status: Int, _ code: String) async throws {
    let desk = try desk([.error(status, code), .rows(#"[{"id":1,"text":"x"},{"id":2,"text":"x"}]"#)])
    try desk.rename()
    try note(1, desk)
    try desk.rename(["done": false], base: WriteBase(values: ["done": true], version: t1))
    try note(2, desk)

    let report = await desk.sync()
    #expect(Counts(report) == Counts(synced: 2, remaining: 2))
    expectWait(report)
    #expect(try desk.pending.map(\.write.table) == ["tasks", "tasks"])
    #expect(try desk.pending.map(\.sendCount) == [0, 0])
    desk.checkScript()

    let (first, second) = (Desk.json("Buy oat milk", done: true, t2), Desk.json("Buy oat milk", done: false, t3))
    desk.http.add([.rows(first), .rows(second)])
    #expect(Counts(await desk.sync()) == Counts(synced: 2))
    #expect(desk.client.syncStatus.lastSyncError == nil)
    desk.checkScript()
  }

  @Test("holds back what a row that waits may be needed for", arguments: [(409, "23503"), (403, "42501")])
  func dependants(_ status: Int, _ code: String) async throws {
    let desk = try desk([.error(400, "PGRST204"), .error(status, code)])
    try desk.insert()
    try note(1, desk)
    let report = await desk.sync()
    #expect(Counts(report) == Counts(remaining: 2))
    expectWait(report)
    #expect(try desk.rejected.isEmpty)
    desk.http.add([.rows(Desk.json("Buy milk", t2)), .rows(#"[{"id":1,"text":"x"}]"#)])
    #expect(Counts(await desk.sync()) == Counts(synced: 2))
    desk.checkScript()
  }

  @Test("does not keep another table's write from being refused for itself")
  func refused() async throws {
    let desk = try desk([.error(400, "PGRST204"), .error(400, "23514")])
    try desk.rename()
    try note(1, desk)
    #expect(Counts(await desk.sync()) == Counts(rejected: 1, remaining: 1))
    desk.checkScript()
  }

  @Test("leaves a write in doubt that had already been answered when it was met")
  func inDoubt() async throws {
    // The guarded update matches nothing, and the read that is to tell why meets the unknown name.
    let desk = try desk([.nothing, .error(404, "PGRST205"), .rows(#"[{"id":1,"text":"x"}]"#)])
    try desk.rename()
    try note(1, desk)
    #expect(Counts(await desk.sync()) == Counts(synced: 1, remaining: 1))
    #expect(try desk.pending.map(\.sendCount) == [1])
    desk.checkScript()
  }

  @Test("of several tables: each waits for itself, and the first is named")
  func several() async throws {
    let desk = try desk([.error(400, "PGRST204"), .error(404, "PGRST205")])
    try desk.rename()
    try note(1, desk)
    let report = await desk.sync()
    #expect(Counts(report) == Counts(remaining: 2))
    expectWait(report)
    desk.checkScript()
  }
}
