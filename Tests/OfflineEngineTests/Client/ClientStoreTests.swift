import Foundation
import LosslessJSON
import SQLite
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("A client and its database")
struct ClientStoreTests {
  private func error(path: String, change: (inout OfflineConfiguration) -> Void = { _ in }) async -> OfflineError? {
    do {
      _ = try await ClientDesk(path: path, change: change)
      return nil
    } catch {
      return error as? OfflineError
    }
  }

  @Test("that is damaged is refused with a typed error, and left as it is")
  func damaged() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("state.sqlite")
    let text = Data("this is no database, but somebody's notes\n".utf8) + Data(repeating: 65, count: 4_096)
    try text.write(to: URL(filePath: path))
    guard case .storage? = await error(path: path) else {
      Issue.record("opened")
      return
    }
    #expect(try Data(contentsOf: URL(filePath: path)) == text)
  }

  @Test("of a later program is refused with a typed error")
  func later() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("state.sqlite")
    _ = try EngineStore(path: path, clock: VirtualClock())
    let database = try Database(path: path)
    try database.execute("UPDATE schema_version SET version = 99 WHERE part = 'engine'")
    guard case .storage(let reason)? = await error(path: path) else {
      Issue.record("opened")
      return
    }
    #expect(!reason.isEmpty)
  }

  @Test("in a folder that is not there is refused with a typed error")
  func missing() async throws {
    guard case .storage? = await error(path: "/nonexistent/folder/state.sqlite") else {
      Issue.record("opened")
      return
    }
  }

  @Test(
    "with settings that cannot work is refused, saying which",
    arguments: [
      (["tasks": " "], [:], "blank"), (["tasks": "id"], [:], "key"), (["notes": "slug"], ["notes": ["slug"]], "key"),
      ([:], ["notes": []], "no column"),
    ] as [([String: String], [String: [String]], String)])
  func settings(_ versions: [String: String], _ keys: [String: [String]], _ word: String) async throws {
    let refusal = await error(path: ":memory:") {
      $0.versionColumns = versions
      $0.primaryKeys = keys
    }
    guard case .configuration(let reason)? = refusal else {
      Issue.record("opened")
      return
    }
    #expect(reason.contains(word))
  }

  @Test("that cannot be written when a write is made: a typed error, nothing is sent, and nothing is half-recorded")
  func full() async throws {
    let desk = try await ClientDesk([.answer(201, "")])
    // SQLite meets the end of what it may use as it meets the end of a disk, in the middle of a statement.
    try desk.client.store.transaction(user: "") { transaction in
      let used = try transaction.database.first("PRAGMA page_count")?.integer("page_count") ?? 0
      try transaction.database.execute("PRAGMA max_page_count = \(used)")
    }
    let long = TaskRow(id: 1, title: String(repeating: "long ", count: 20_000))
    let error = await #expect(throws: OfflineError.self) { try await desk.tasks.insert(long).execute() }
    guard case .storage(let reason)? = error else {
      Issue.record("no storage error")
      return
    }
    #expect(reason.contains("disk is full") && !reason.contains("long long"))
    #expect(try desk.pending.isEmpty && desk.http.requests.isEmpty)
    #expect(try desk.client.store.read(user: "") { try $0.counts() } == MutationCounts())

    try desk.client.store.transaction(user: "") {
      try $0.database.execute("PRAGMA max_page_count = 1000000")
    }
    #expect(try await !desk.tasks.insert(long).execute().isQueued)
    desk.http.check()
  }

  @Test("is told apart by user: switching users keeps each one's queue")
  func users() async throws {
    let other = "00000000-0000-4000-8000-000000000001"
    let desk = try await ClientDesk([
      .answer(200, session(of: other).json.serialized()), .answer(200, session(of: Desk.user).json.serialized()),
    ])
    desk.client.disableNetwork()
    _ = try await desk.tasks.insert(TaskRow(id: 1, title: "mine")).execute()
    try await desk.client.auth.signIn(email: "other@example.com", password: Secret("p"))
    #expect(try desk.pending.isEmpty)
    _ = try await desk.tasks.insert(TaskRow(id: 2, title: "theirs")).execute()
    #expect(try desk.pending.map { $0.rowKeys.map(\.text) } == [["2"]])
    try await desk.client.auth.signIn(email: "me@example.com", password: Secret("p"))
    #expect(try desk.pending.map { $0.rowKeys.map(\.text) } == [["1"]])
  }

  @Test("that is cleared while a read is on its way does not get the read's rows back")
  func clearedDuringRead() async throws {
    let (asked, answer) = (Gate(), Gate())
    let desk = try await ClientDesk([
      .init { _ in
        asked.open()
        await answer.opened()
        return HTTPResponse(status: 200, body: Array(WriteOutcomeTests.stored.utf8))
      }
    ])
    async let read = desk.tasks.select().execute([TaskRow].self)
    await asked.opened()
    try await desk.client.clearLocalData()
    answer.open()
    #expect(try await read.value.count == 1)
    await #expect(throws: OfflineError.self) {
      try await desk.tasks.select(readStrategy: .cacheOnly).execute([TaskRow].self)
    }
  }

  @Test("another user's passes are not shown in the status of the one who signs in")
  func statusOfAnother() async throws {
    let other = "00000000-0000-4000-8000-000000000001"
    let desk = try await ClientDesk([
      .offline, .error(503, "PGRST000"), .answer(200, session(of: other).json.serialized()),
    ])
    _ = try await desk.tasks.insert(WriteOutcomeTests.row).execute()
    _ = try await desk.client.syncPendingMutations()
    #expect(desk.client.syncStatus.lastSyncError?.kind == .unavailable)
    try await desk.client.auth.signIn(email: "other@example.com", password: Secret("p"))
    await desk.status { $0.lastSyncError == nil }
    #expect(desk.client.syncStatus.pendingMutationCount == 0)
  }
}
