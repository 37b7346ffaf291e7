import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("When the client sends by itself (spec 4)")
struct ClientPassTests {
  /// A client with one queued write and nobody who asks for a pass.
  private func waiting(autoSync: Bool, _ answer: ScriptedExchange.Step = .answer(201, WriteOutcomeTests.stored))
    async throws -> ClientDesk
  {
    let desk = try await ClientDesk([.offline, answer], change: { $0.autoSync = autoSync })
    #expect(try await desk.tasks.insert(WriteOutcomeTests.row).execute().isQueued)
    return desk
  }

  @Test("the network comes back by the monitor's word: with autoSync, writes are sent")
  func monitor() async throws {
    let desk = try await waiting(autoSync: true)
    desk.monitor.say(.offline)
    await desk.status { $0.network == .offline }
    #expect(desk.http.requests.count == 1)
    desk.monitor.say(.online)
    await desk.allSent()
    #expect(desk.client.syncStatus.network == .online)
    desk.http.check()
  }

  @Test("network access is turned back on: with autoSync, writes are sent")
  func switched() async throws {
    let desk = try await waiting(autoSync: true)
    desk.client.disableNetwork()
    desk.client.enableNetwork()
    await desk.allSent()
    desk.http.check()
  }

  @Test("the session settles into a user with writes queued: with autoSync, they are sent")
  func settled() async throws {
    let folder = try TemporaryFolder()
    do {
      let desk = try await ClientDesk([.offline], path: folder.file("state.sqlite"))
      _ = try await desk.tasks.insert(WriteOutcomeTests.row).execute()
      desk.client.close()
    }
    let desk = try await ClientDesk([.answer(201, WriteOutcomeTests.stored)], path: folder.file("state.sqlite"))
    await desk.allSent()
    desk.http.check()
  }

  @Test("a client without Auth opens with writes that an earlier run left: with autoSync, they are sent under the key")
  func opened() async throws {
    let folder = try TemporaryFolder()
    do {
      let desk = try await ClientDesk([.offline], session: nil, hasAuth: false, path: folder.file("state.sqlite"))
      _ = try await desk.tasks.insert(WriteOutcomeTests.row).execute()
      desk.client.close()
    }
    let desk = try await ClientDesk(
      [.answer(201, WriteOutcomeTests.stored)], session: nil, hasAuth: false, path: folder.file("state.sqlite"))
    await desk.allSent()
    #expect(desk.http.requests[0].bearer == "sb_publishable_key")
    desk.http.check()
  }

  @Test("without autoSync none of the three sends anything, and a call does")
  func off() async throws {
    let desk = try await waiting(autoSync: false)
    desk.monitor.say(.offline)
    await desk.status { $0.network == .offline }
    desk.monitor.say(.online)
    await desk.status { $0.network == .online }
    desk.client.disableNetwork()
    desk.client.enableNetwork()
    desk.storage?.replace(session(of: Desk.user, mark: "again"))
    #expect(desk.client.scheduler.nextTry == nil)
    #expect(desk.http.requests.count == 1)
    #expect(try await desk.client.syncPendingMutations().synced == 1)
    desk.http.check()
  }

  @Test("without autoSync a write queued behind another is sent all the same, with the one ahead")
  func behind() async throws {
    let desk = try await waiting(autoSync: false)
    desk.http.add([.answer(201, #"[{"id":1}]"#)])
    #expect(try await desk.client.from("notes").insert(["id": 1]).execute().isQueued)
    await desk.allSent()
    desk.http.check()
  }

  @Test("after a pass that stopped, the next waits a second, doubling, and the monitor ends the wait")
  func waits() async throws {
    let desk = try await waiting(autoSync: true, .error(503, "PGRST000"))
    desk.http.add([.error(503, "PGRST000"), .answer(201, WriteOutcomeTests.stored)])
    desk.client.enableNetwork()
    desk.client.scheduler.trigger(.queueNeedsSending)
    let start = desk.clock.now()
    await desk.clock.someoneSleeps(until: start + .seconds(1))
    #expect(desk.client.syncStatus.nextPassAt == start + .seconds(1))
    desk.clock.advance(by: .seconds(1))
    await desk.clock.someoneSleeps(until: start + .seconds(3))
    desk.monitor.say(.online)
    await desk.allSent()
    #expect(desk.clock.now() == start + .seconds(1))
    desk.http.check()
  }

  @Test("a Retry-After is kept even when the network comes back")
  func retryAfter() async throws {
    let desk = try await waiting(autoSync: true, .error(503, "PGRST000", ["Retry-After": "120"]))
    desk.http.add([.answer(201, WriteOutcomeTests.stored)])
    desk.client.scheduler.trigger(.queueNeedsSending)
    let start = desk.clock.now()
    await desk.clock.someoneSleeps(until: start + .seconds(120))
    desk.monitor.say(.online)
    await desk.status { $0.network == .online }
    #expect(desk.client.syncStatus.nextPassAt == start + .seconds(120))
    desk.clock.advance(by: .seconds(120))
    await desk.allSent()
    desk.http.check()
  }

  @Test("while the monitor says offline every call is tried all the same")
  func hint() async throws {
    let desk = try await ClientDesk([.answer(201, ""), .answer(201, "")])
    desk.monitor.say(.offline)
    await desk.status { $0.network == .offline }
    #expect(try await desk.tasks.insert(TaskRow(id: 1, title: "A")).execute().isQueued == false)
    #expect(
      try await desk.tasks.insert(TaskRow(id: 2, title: "B"), mutationStrategy: .onlineOnly).execute().isQueued == false
    )
    desk.http.check()
  }

  @Test("a monitor that ends is unknown, which counts as online")
  func ended() async throws {
    let desk = try await ClientDesk()
    desk.monitor.say(.offline)
    await desk.status { $0.network == .offline }
    desk.monitor.end()
    await desk.status { $0.network == .unknown }
  }
}

@Suite("The client's status (spec 4)")
struct ClientStatusTests {
  @Test("counts what an earlier run left queued from the moment the client opens, and network access starts on")
  func fromTheStart() async throws {
    let folder = try TemporaryFolder()
    do {
      let desk = try await ClientDesk(path: folder.file("state.sqlite"))
      desk.client.disableNetwork()
      _ = try await desk.tasks.insert(WriteOutcomeTests.row).execute()
      desk.client.close()
      #expect(desk.client.syncStatus.pendingMutationCount == 1)
    }
    let desk = try await ClientDesk(
      path: folder.file("state.sqlite"), change: { $0.autoSync = false })
    #expect(desk.client.syncStatus.pendingMutationCount == 1)
    #expect(desk.client.syncStatus.network == .unknown)
    #expect(desk.client.syncStatus.lastSyncedAt == nil)
  }

  @Test("says why the last pass stopped, with status and code only, until a later one runs to the end")
  func lastError() async throws {
    let desk = try await ClientDesk([
      .offline, .answer(503, #"{"code":"PGRST002","message":"secret words","details":"x","hint":"y"}"#),
      .answer(201, WriteOutcomeTests.stored),
    ])
    _ = try await desk.tasks.insert(WriteOutcomeTests.row).execute()
    _ = try await desk.client.syncPendingMutations()
    let error = try #require(desk.client.syncStatus.lastSyncError)
    #expect(error == SyncFailed(kind: .unavailable, status: 503, code: "PGRST002"))
    #expect(!"\(error)".contains("secret"))
    _ = try await desk.client.syncPendingMutations()
    #expect(desk.client.syncStatus.lastSyncError == nil)
    #expect(desk.client.syncStatus.lastSyncedAt == desk.clock.now())
  }

  @Test("counts a write that moves between the queue and a list in exactly one of them, whenever it is read")
  func together() async throws {
    let count = 60
    let desk = try await ClientDesk(
      Array(repeating: .error(400, "23514"), count: 2 * count), change: { $0.listBounds = nil })
    desk.client.disableNetwork()
    for id in 1...count { _ = try await desk.tasks.upsert(TaskRow(id: id, title: "A")).execute() }
    let reading = Task {
      var sums: Set<Int> = []
      for await status in desk.client.syncStatuses() {
        sums.insert(status.pendingMutationCount + status.rejectedMutationCount + status.conflictedMutationCount)
        if status.pendingMutationCount == 0 { break }
      }
      return sums
    }
    desk.client.enableNetwork()
    await desk.allSent()
    #expect(await reading.value == [count])
    #expect(desk.client.syncStatus.rejectedMutationCount == count)
  }

  @Test("follows the switch, the passes and the queue, and holds its last value after the client is closed")
  func followed() async throws {
    let desk = try await ClientDesk()
    var statuses = desk.client.syncStatuses().makeAsyncIterator()
    #expect(await statuses.next()?.network == .unknown)
    desk.client.disableNetwork()
    #expect(desk.client.syncStatus.network == .disabled)
    #expect(await statuses.next()?.network == .disabled)
    desk.client.close()
    #expect(await statuses.next() == nil)
    #expect(desk.client.syncStatus.network == .disabled)
  }
}
