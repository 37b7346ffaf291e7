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

  @Test("a new row that a policy forbids is tried without asking it back, then refused")
  func forbidden() async throws {
    let world = try World()
    let phone = try await Phone(world, try await world.signUp("a@example.com"))
    try await phone.offline {
      $0.insert(["id": .string(key(1).text), "title": "A", "user_id": "00000000-0000-4000-8000-000000000001"])
    }
    #expect(try await phone.sync().rejected.first?.serverError?.code == "42501")
    #expect(phone.http.requests.last?.fields["Prefer"] == "return=minimal")
  }

  @Test("a new row of a caller who needs it back is refused with the two policies that can be meant")
  func hidden() async throws {
    let desk = try Desk([.error(403, "42501")])
    try desk.insert()
    let entry = try #require(await desk.sync().rejected.first)
    #expect(entry.message.contains("insert policy") && entry.message.contains("select policy"))
  }
}

@Suite("Scenarios of times")
struct TimeScenarioTests {
  @Test(
    "a version is sent back exactly as it came, whatever its digits and offset",
    arguments: [
      ("2026-06-09T10:11:12.345678+00:00", "2026-06-09T10%3A11%3A12.345678%2B00%3A00"),
      ("2026-06-09T10:11:12.3+00:00", "2026-06-09T10%3A11%3A12.3%2B00%3A00"),
      ("2026-06-09T10:11:12+00", "2026-06-09T10%3A11%3A12%2B00"),
      ("2026-06-09T10:11:12.345001+02:00", "2026-06-09T10%3A11%3A12.345001%2B02%3A00"),
    ])
  func version(_ version: String, _ sent: String) async throws {
    let desk = try await ClientDesk([
      .rows(#"[{"id":42,"title":"A","done":false,"updated_at":"\#(version)"}]"#), .offline,
      .rows(#"[{"id":42,"title":"B","updated_at":"next"}]"#),
    ])
    _ = try await desk.tasks.select().execute([TaskRow].self)
    #expect(try await desk.tasks.update(["title": "B"]).eq("id", value: 42).execute().isQueued)
    #expect(try desk.pending.first?.baseVersion == version)
    #expect(try await desk.client.syncPendingMutations().synced == 1)
    #expect(desk.http.lines.last?.hasSuffix("&id=eq.42&updated_at=eq.\(sent)") == true, "\(desk.http.lines)")
    desk.http.check()
  }

  @Test("an integer version is sent back as it came")
  func integerVersion() async throws {
    let desk = try await ClientDesk([
      .rows(#"[{"id":42,"title":"A","done":false,"updated_at":9007199254740993}]"#), .offline,
      .rows(#"[{"id":42,"title":"B","updated_at":9007199254740994}]"#),
    ])
    _ = try await desk.tasks.select().execute([TaskRow].self)
    _ = try await desk.tasks.update(["title": "B"]).eq("id", value: 42).execute()
    #expect(try await desk.client.syncPendingMutations().synced == 1)
    #expect(desk.http.lines.last?.hasSuffix("updated_at=eq.9007199254740993") == true)
  }

  @Test("dates and times stay the server's text, and no edit of another column sends them")
  func texts() async throws {
    let row = """
      {"id":42,"title":"A","due":"2026-03-29","at":"02:30:00","local":"2026-03-29T02:30:00",\
      "moment":"2026-03-28T23:00:00.5+00:00","updated_at":"T1"}
      """
    let desk = try await ClientDesk([.rows("[\(row)]")])
    let before = try await desk.tasks.select().execute(Rows.self).value.rows
    for round in 1...10 {
      desk.http.add([.answer(200, #"[{"id":42,"title":"\#(round)","updated_at":"T\#(round + 1)"}]"#)])
      _ = try await desk.tasks.update(["title": .string("\(round)")]).eq("id", value: 42).select("id,title,updated_at")
        .execute()
    }
    let after = try await desk.tasks.select(readStrategy: .cacheOnly).execute(Rows.self).value.rows
    for column in ["due", "at", "local", "moment"] { #expect(after.first?[column] == before.first?[column]) }
    #expect(desk.http.requests.dropFirst().allSatisfy { !$0.text.contains("due") && !$0.text.contains("moment") })
  }
}
