import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("Scenarios of the queue")
struct QueueScenarioTests {
  @Test("one write that can never succeed stands on the rejected list, and the others are sent in order")
  func oneRefused() async throws {
    let world = try World()
    let phone = try await Phone(world, try await world.signUp("a@example.com"))
    phone.client.disableNetwork()
    for number in 0..<30 {
      let row: OfflineJSON = [
        "id": .string(key(number % 10).text), "title": .string(number == 3 ? "   " : "Title \(number)"),
      ]
      if number < 10 {
        _ = try await phone.tasks.insert(row).execute()
      } else {
        _ = try await phone.tasks.update(["title": .string("Title \(number)")]).eq("id", value: key(number % 10).text)
          .execute()
      }
    }
    phone.client.enableNetwork()
    let report = try await phone.sync()
    let rejected = try phone.client.rejectedMutationList()
    #expect(rejected.count == 1 && rejected[0].rowKeys == [key(3)] && rejected[0].serverError?.code == "23514")
    // The updates of the row that was never made find none: they are dropped, and counted.
    #expect(Counts(report) == Counts(synced: 27, rejected: 1, keptServer: 2))
    #expect(try phone.client.pendingMutationCount() == 0)
    #expect(
      try world.rows().map { $0["title"]?.stringValue } == [0, 1, 2, 4, 5, 6, 7, 8, 9].map { "Title \($0 + 20)" })
  }

  @Test("a server that took a write whose end could not be recorded is asked before it is sent again")
  func unrecorded() async throws {
    let world = try World()
    let phone = try await Phone(world, try await world.signUp("a@example.com"))
    func refuseRecords(_ isRefused: Bool) throws {
      try phone.client.store.transaction(user: "") {
        try $0.database.execute(
          isRefused
            ? "CREATE TRIGGER refuses BEFORE DELETE ON mutation BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
            : "DROP TRIGGER refuses")
      }
    }
    try refuseRecords(true)
    let insert = try await phone.tasks.insert(["id": .string(key(1).text), "title": "A"]).execute()
    #expect(insert.isQueued)
    #expect(try phone.client.pendingMutationList().map(\.sendCount) == [1])
    #expect(try await phone.sync().rejected.isEmpty)
    let before = try world.rows()[0]["updated_at"]
    try refuseRecords(false)
    await phone.allSent()
    _ = try await phone.sync()
    #expect(try phone.client.pendingMutationCount() == 0 && phone.client.rejectedMutationList().isEmpty)
    #expect(try world.rows().count == 1 && world.rows()[0]["updated_at"] == before)
  }

  @Test(
    "made and removed before the first sync: both are sent, nothing is refused, and nothing waits",
    arguments: [true, false])
  func madeAndRemoved(hasArrived: Bool) async throws {
    let world = try World()
    let phone = try await Phone(world, try await world.signUp("a@example.com"))
    if hasArrived { phone.http.after { $0.line.hasPrefix("POST /rest") ? StandInExchange.cut : nil } }
    if !hasArrived { phone.client.disableNetwork() }
    _ = try await phone.tasks.insert(["id": .string(key(1).text), "title": "A"]).execute()
    phone.client.disableNetwork()
    _ = try await phone.tasks.delete().eq("id", value: key(1).text).execute()
    phone.http.after(nil)
    phone.client.enableNetwork()
    let report = try await phone.sync()
    #expect(report.rejected.isEmpty && report.remaining == 0)
    #expect(try world.rows().isEmpty)
  }

  @Test("without a network the queue holds row writes only: a function call and a sign-out do not wait")
  func rowsOnly() async throws {
    let desk = try await ClientDesk([.offline, .offline, .offline])
    _ = try await desk.tasks.insert(WriteOutcomeTests.row).execute()
    let error = await #expect(throws: OfflineError.self) { _ = try await desk.client.rpc("complete_all_tasks") }
    #expect(error?.isConnectivity == true)
    _ = try await desk.client.auth.signOut()
    #expect(try desk.client.engine(of: Desk.user).read { try $0.pendingMutations().map(\.operation) } == [.insert])
    let sent = desk.http.requests.count
    _ = try await desk.client.syncPendingMutations()
    #expect(desk.http.requests.count == sent)
  }
}
