import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("Seeing and dropping queued writes (spec 1)")
struct QueueListTests {
  @Test("shows each write with its table, operation, time, keys and body, in the order of sending")
  func shown() async throws {
    let desk = try await ClientDesk([.offline])
    desk.client.disableNetwork()
    _ = try await desk.tasks.insert(TaskRow(id: 1, title: "A")).execute()
    _ = try await desk.tasks.upsert([TaskRow(id: 2, title: "B"), TaskRow(id: 3, title: "C")]).execute()
    _ = try await desk.tasks.update(["done": true]).eq("id", value: 1).eq("done", value: false).execute()
    _ = try await desk.tasks.delete().eq("user_id", value: "u").execute()
    _ = try await desk.client.from("notes").insert(["text": "no key"]).execute()
    let pending = try desk.pending
    #expect(pending.map(\.operation) == [.insert, .upsert, .update, .delete, .insert])
    #expect(pending.map(\.table) == ["tasks", "tasks", "tasks", "tasks", "notes"])
    #expect(pending.map { $0.rowKeys.map(\.text) } == [["1"], ["2", "3"], ["1"], [], []])
    #expect(
      pending.map(\.body) == [
        ["id": 1, "title": "A", "done": false],
        [["id": 2, "title": "B", "done": false], ["id": 3, "title": "C", "done": false]],
        ["done": true], nil, ["text": "no key"],
      ])
    #expect(pending.allSatisfy { $0.createdAt == desk.clock.now() && $0.user == Desk.user })
    #expect(pending.map(\.id) == pending.map(\.id).sorted())
    #expect(try desk.client.pendingMutationList(table: "notes").count == 1)
    #expect(try desk.client.pendingMutationCount() == 5)
    #expect(try desk.client.pendingMutationCount(table: "tasks") == 4)
  }

  @Test("shows the current user's writes only, and another user cannot discard one by its number")
  func otherUser() async throws {
    let other = "00000000-0000-4000-8000-000000000001"
    let desk = try await ClientDesk([.answer(200, session(of: other).json.serialized())])
    desk.client.disableNetwork()
    guard case .queued(let mine) = try await desk.tasks.insert(WriteOutcomeTests.row).execute() else { return }
    desk.storage?.replace(nil)
    try await desk.client.auth.signIn(email: "other@example.com", password: Secret("p"))
    #expect(desk.client.currentUser == other)
    #expect(try desk.pending.isEmpty)
    #expect(desk.client.syncStatus.pendingMutationCount == 0)
    let error = await #expect(throws: OfflineError.self) { try await desk.client.discardPendingMutation(id: mine.id) }
    guard case .noSuchEntry(mine.id)? = error else {
      Issue.record("not refused")
      return
    }
    #expect(try desk.client.engine(of: Desk.user).read { try $0.pendingMutations().map(\.id) } == [mine.id])
  }

  @Test("of nobody are taken over by the user who signs in, and sent with that user's token")
  func takenOver() async throws {
    let desk = try await ClientDesk(
      [.answer(200, session(of: Desk.user).json.serialized()), .answer(201, WriteOutcomeTests.stored)], session: nil)
    #expect(desk.client.auth.state == .signedOut)
    desk.client.disableNetwork()
    _ = try await desk.tasks.insert(WriteOutcomeTests.row).execute()
    #expect(try desk.pending.map(\.user) == [""])
    try await desk.client.auth.signIn(email: "a@example.com", password: Secret("p"))
    await desk.status { $0.pendingMutationCount == 1 }
    #expect(try desk.pending.map(\.user) == [Desk.user])
    desk.client.enableNetwork()
    await desk.allSent()
    #expect(desk.http.requests.last?.bearer == token(of: Desk.user).revealed)
    desk.http.check()
  }

  @Test("discarded at the head of the queue, lets the writes behind it go with no call from the app")
  func discarded() async throws {
    let desk = try await ClientDesk([.offline, .answer(201, #"[{"id":2}]"#)])
    guard case .queued(let head) = try await desk.tasks.insert(TaskRow(id: 1, title: "A")).execute() else { return }
    desk.client.disableNetwork()
    _ = try await desk.tasks.insert(TaskRow(id: 2, title: "B")).execute()
    desk.client.enableNetworkUnnoticed()
    try await desk.client.discardPendingMutation(id: head.id)
    await desk.allSent()
    #expect(desk.http.requests.last?.text.contains(#""id":2"#) == true)
    desk.http.check()
  }

  @Test("discarded while its send is in flight, waits for the answer; what the server took is not there any more")
  func discardedInFlight() async throws {
    let (onTheWire, answer) = (Gate(), Gate())
    let desk = try await ClientDesk([
      .init { _ in
        onTheWire.open()
        await answer.opened()
        return HTTPResponse(status: 201)
      }
    ])
    async let write = desk.tasks.insert(WriteOutcomeTests.row).execute()
    await onTheWire.opened()
    let id = try #require(try desk.pending.first?.id)
    let discard = Task { try await desk.client.discardPendingMutation(id: id) }
    answer.open()
    #expect(try await write.isQueued == false)
    await #expect(throws: OfflineError.self) { try await discard.value }
    desk.http.check()
  }

  @Test("followed, show the first state at once and then each change, the newest to a slow reader")
  func followed() async throws {
    let desk = try await ClientDesk()
    desk.client.disableNetwork()
    var counts = desk.client.pendingMutationCountSequence().makeAsyncIterator()
    var lists = desk.client.pendingMutations(table: "tasks").makeAsyncIterator()
    #expect(await counts.next() == 0)
    #expect(await lists.next()?.isEmpty == true)
    _ = try await desk.tasks.insert(TaskRow(id: 1, title: "A")).execute()
    #expect(await counts.next() == 1)
    _ = try await desk.client.from("notes").insert(["id": 1]).execute()
    _ = try await desk.tasks.insert(TaskRow(id: 2, title: "B")).execute()
    #expect(await counts.next() == 3)
    #expect(await lists.next()?.count == 2)
    desk.client.close()
    #expect(await counts.next() == nil)
  }

  @Test("survive the process: a new client on the same file shows and sends them")
  func persisted() async throws {
    let folder = try TemporaryFolder()
    do {
      let desk = try await ClientDesk(path: folder.file("state.sqlite"))
      desk.client.disableNetwork()
      _ = try await desk.tasks.insert(TaskRow(id: 1, title: "A")).execute()
      desk.client.close()
    }
    let desk = try await ClientDesk([.answer(201, #"[{"id":1}]"#)], path: folder.file("state.sqlite"))
    await desk.allSent()
    #expect(desk.client.syncStatus.network == .unknown)
    desk.http.check()
  }
}

@Suite("The rejected list (spec 1 and 5)")
struct RejectedListTests {
  /// A client whose first write waits and was then refused on replay.
  static func refused(change: (inout OfflineConfiguration) -> Void = { _ in }) async throws -> ClientDesk {
    let desk = try await ClientDesk(
      [
        .offline,
        .answer(
          400, #"{"code":"23514","message":"check","details":"the row","hint":"mend it"}"#,
          ["Content-Type": "application/json"]),
      ], change: change)
    _ = try await desk.tasks.insert(WriteOutcomeTests.row).execute()
    let report = try await desk.client.syncPendingMutations()
    #expect(report.rejected.count == 1)
    return desk
  }

  @Test("holds a refusal found on replay, with the server's status, code, message, details and hint")
  func held() async throws {
    let desk = try await Self.refused()
    let entry = try #require(try desk.rejected.first)
    #expect(
      entry.serverError
        == ServerError(status: 400, code: "23514", message: "check", details: "the row", hint: "mend it"))
    #expect(entry.isRetryable && entry.operation == .insert && entry.rowKeys.map(\.text) == ["42"])
    #expect(desk.client.syncStatus.pendingMutationCount == 0)
    #expect(desk.client.syncStatus.rejectedMutationCount == 1)
  }

  @Test("an entry that is tried again is queued and sent, with no call from the app")
  func retried() async throws {
    let desk = try await Self.refused(change: { $0.autoSync = false })
    desk.http.add([.answer(201, WriteOutcomeTests.stored)])
    try desk.client.retryRejectedMutation(id: try #require(try desk.rejected.first).id)
    await desk.allSent()
    #expect(try desk.rejected.isEmpty)
    desk.http.check()
  }

  @Test("an entry that is dismissed is gone, and its number means nothing any more")
  func dismissed() async throws {
    let desk = try await Self.refused()
    let id = try #require(try desk.rejected.first).id
    try desk.client.dismissRejectedMutation(id: id)
    #expect(try desk.rejected.isEmpty)
    #expect(throws: OfflineError.self) { try desk.client.dismissRejectedMutation(id: id) }
    #expect(throws: OfflineError.self) { try desk.client.retryRejectedMutation(id: id) }
  }

  @Test("can be neither seen nor touched by another user who guesses a number")
  func otherUser() async throws {
    let desk = try await Self.refused()
    let id = try #require(try desk.rejected.first).id
    let other = "00000000-0000-4000-8000-000000000001"
    desk.http.add([.answer(200, session(of: other).json.serialized())])
    try await desk.client.auth.signIn(email: "other@example.com", password: Secret("p"))
    #expect(try desk.rejected.isEmpty)
    #expect(throws: OfflineError.self) { try desk.client.dismissRejectedMutation(id: id) }
    #expect(throws: OfflineError.self) { try desk.client.retryRejectedMutation(id: id) }
    #expect(try desk.client.engine(of: Desk.user).read { try $0.rejectedMutations().count } == 1)
  }

  @Test("drops a body that is too large to keep: the entry says so, and cannot be tried again")
  func tooLarge() async throws {
    let desk = try await ClientDesk([.offline, .error(400, "23514")])
    _ = try await desk.tasks.insert(TaskRow(id: 1, title: String(repeating: "x", count: 20_000))).execute()
    _ = try await desk.client.syncPendingMutations()
    let entry = try #require(try desk.rejected.first)
    #expect(!entry.isRetryable && entry.rowKeys.map(\.text) == ["1"])
    let error = #expect(throws: OfflineError.self) { try desk.client.retryRejectedMutation(id: entry.id) }
    #expect(error.map { "\($0)" }?.contains("too large") == true)
    #expect(try desk.rejected.count == 1)
  }

  @Test("keeps its newest entries when it is full, of all users together, and texts to their bound")
  func bounded() async throws {
    let desk = try await ClientDesk(change: { configuration in
      configuration.listBounds = ListBounds(
        entries: 3, characters: 2_000, bodyCharacters: 1_000, textCharacters: 10)
    })
    desk.client.disableNetwork()
    for id in 1...5 { _ = try await desk.tasks.insert(TaskRow(id: id, title: "A")).execute() }
    desk.http.add(Array(repeating: .answer(400, #"{"code":"23514","message":"a long message of it"}"#), count: 20))
    desk.client.enableNetwork()
    await desk.allSent()
    #expect(try desk.rejected.map { $0.rowKeys.map(\.text) } == [["3"], ["4"], ["5"]])
    #expect(try desk.rejected.allSatisfy { $0.serverError?.message == "a long mes" && $0.message == "a long mes" })
    #expect(desk.client.syncStatus.rejectedMutationCount == 3)
    desk.client.disableNetwork()
    _ = try await desk.tasks.insert(TaskRow(id: 6, title: String(repeating: "x", count: 900))).execute()
    _ = try await desk.tasks.insert(TaskRow(id: 7, title: String(repeating: "x", count: 900))).execute()
    desk.client.enableNetwork()
    await desk.allSent()
    #expect(try desk.rejected.map { $0.rowKeys.map(\.text) } == [["7"]])
  }
}
