import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("What a write returns (spec 1)")
struct WriteOutcomeTests {
  static let stored = #"[{"id":42,"title":"Buy milk","done":false}]"#
  static let row = TaskRow(id: 42, title: "Buy milk")

  @Test("with nothing ahead of it, and taken by the server: applied, with the stored row")
  func applied() async throws {
    let desk = try await ClientDesk([.answer(201, #"{"id":42,"title":"Buy milk","done":true}"#)])
    let outcome = try await desk.tasks.insert(Self.row).select().single().execute(TaskRow.self)
    #expect(outcome.result?.value == TaskRow(id: 42, title: "Buy milk", done: true))
    #expect(!outcome.isQueued)
    #expect(desk.http.lines == ["POST /rest/v1/tasks?select=%2A"])
    #expect(desk.http.requests[0].fields["Accept"] == "application/vnd.pgrst.object+json")
    #expect(desk.http.requests[0].bearer == token(of: Desk.user).revealed)
    #expect(try desk.pending.isEmpty)
    #expect(desk.client.syncStatus.lastSyncedAt == desk.clock.now())
  }

  @Test("without asking rows back: applied, with nothing")
  func appliedWithoutRows() async throws {
    let desk = try await ClientDesk([.answer(201, "")])
    let outcome: MutationOutcome<Void> = try await desk.tasks.insert(Self.row).execute()
    #expect(!outcome.isQueued)
    #expect(desk.http.lines == ["POST /rest/v1/tasks"])
    #expect(desk.http.requests[0].fields["Prefer"] == "return=minimal")
  }

  @Test("behind another write of the user, in any table: queued, and a pass sends both in order")
  func behind() async throws {
    let desk = try await ClientDesk([.offline, .answer(201, Self.stored), .answer(201, #"[{"id":1}]"#)])
    #expect(try await desk.tasks.insert(Self.row).execute().isQueued)
    let outcome = try await desk.client.from("task_photos").insert(["id": 1, "task_id": 42]).execute()
    guard case .queued(let mutation) = outcome else {
      Issue.record("applied")
      return
    }
    #expect(mutation.table == "task_photos")
    await desk.allSent()
    #expect(
      desk.http.lines.map { $0.prefix(28) } == [
        "POST /rest/v1/tasks", "POST /rest/v1/tasks?select=i", "POST /rest/v1/task_photos?se",
      ])
    desk.http.check()
  }

  @Test("while the session restores: queued for the stored user, and sent with that user's token once it settles")
  func restoring() async throws {
    let gate = Gate()
    let expired = session(of: Desk.user, expiresAt: 1)
    let fresh = session(of: Desk.user, mark: "fresh")
    let desk = try await ClientDesk(
      [
        .init { _ in
          await gate.opened()
          return HTTPResponse(status: 200, body: Array(fresh.json.serialized().utf8))
        },
        .answer(201, Self.stored),
      ], session: expired)
    #expect(desk.client.auth.state == .restoring(user: Desk.user))
    guard case .queued(let mutation) = try await desk.tasks.insert(Self.row).execute() else {
      Issue.record("applied")
      return
    }
    #expect(mutation.user == Desk.user)
    #expect(desk.http.lines.allSatisfy { !$0.contains("/rest/") })
    gate.open()
    await desk.allSent()
    #expect(desk.http.requests.last?.bearer == fresh.accessToken.revealed)
    desk.http.check()
  }

  @Test("with network access off: queued, and nothing is sent until it is back on")
  func disabled() async throws {
    let desk = try await ClientDesk([.answer(201, Self.stored)])
    desk.client.disableNetwork()
    #expect(desk.client.syncStatus.network == .disabled)
    #expect(try await desk.tasks.insert(Self.row).execute().isQueued)
    let report = try await desk.client.syncPendingMutations()
    #expect(report.remaining == 1)
    #expect(desk.http.requests.isEmpty)
    desk.client.enableNetwork()
    await desk.allSent()
    desk.http.check()
  }

  struct Unclear: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let answer: ScriptedExchange.Step
    let sendCount: Int

    init(_ name: String, _ answer: ScriptedExchange.Step, _ sendCount: Int) {
      testDescription = name
      self.answer = answer
      self.sendCount = sendCount
    }
  }

  @Test(
    "sent at once, it may not have run: queued, and not sent again by itself",
    arguments: [
      Unclear("no connection", .offline, 0),
      Unclear("no answer", .cut, 1),
      Unclear("503", .error(503, "PGRST000"), 0),
      Unclear("503 of a proxy", .answer(503, "<html>"), 1),
      Unclear("520", .answer(520, "<html>"), 1),
      Unclear("an unknown column", .error(400, "PGRST204"), 0),
      Unclear("an unknown table", .error(404, "PGRST205"), 0),
      Unclear("a proxy's page", .answer(502, "<html>"), 1),
      Unclear("a log-in page", .answer(200, "<html>"), 1),
    ])
  func unclear(_ unclear: Unclear) async throws {
    let desk = try await ClientDesk([unclear.answer])
    let outcome = try await desk.tasks.insert(Self.row).execute()
    #expect(outcome.isQueued)
    #expect(try desk.pending.map(\.sendCount) == [unclear.sendCount])
    #expect(desk.http.requests.count == 1)
    desk.http.check()
  }

  @Test("sent at once with a token that cannot be refreshed: queued, and never sent")
  func expired() async throws {
    let desk = try await ClientDesk([.offline, .offline], session: session(of: Desk.user, expiresAt: 1))
    _ = await desk.client.auth.settled(waitingAtMost: .seconds(1))
    #expect(try await desk.tasks.insert(Self.row).execute().isQueued)
    #expect(try desk.pending.map(\.sendCount) == [0])
    #expect(desk.http.lines.allSatisfy { !$0.contains("/rest/") })
  }

  @Test(
    "sent at once and refused: thrown, gone from the queue, and on no list",
    arguments: [
      (ScriptedExchange.Step.error(400, "23514"), Thrown.refused(400, "23514")),
      (.error(403, "42501"), .refused(403, "42501")),
      (.error(409, "23505"), .refused(409, "23505")),
      (.error(500, "XX000"), .unavailable(500)),
      (.answer(413, "<html>"), .refused(413, "413")),
    ])
  func refused(_ answer: ScriptedExchange.Step, _ thrown: Thrown) async throws {
    let desk = try await ClientDesk([answer])
    let error = await #expect(throws: OfflineError.self) { try await desk.tasks.insert(Self.row).execute() }
    #expect(error.map(Thrown.init) == thrown)
    #expect(try desk.pending.isEmpty && desk.rejected.isEmpty)
    #expect(desk.client.syncStatus.rejectedMutationCount == 0)
    desk.http.check()
  }

  @Test(
    "cancelled while it is on the wire: it stays queued, in doubt, and a pass sends it so that it is not made twice")
  func cancelled() async throws {
    let onTheWire = Gate()
    let desk = try await ClientDesk([
      .init { _ throws(HTTPError) in
        onTheWire.open()
        await Self.untilCancelled()
        throw .cancelled(mayHaveReachedServer: true)
      },
      .answer(201, "[]"), .answer(200, Self.stored),
    ])
    let write = Task { try await desk.tasks.insert(Self.row).execute() }
    await onTheWire.opened()
    write.cancel()
    await #expect(throws: CancellationError.self) { try await write.value }
    await desk.allSent()
    #expect(desk.http.lines.dropFirst().first?.contains("on_conflict=id") == true)
    #expect(desk.http.requests[1].fields["Prefer"]?.contains("resolution=ignore-duplicates") == true)
    desk.http.check()
  }

  private static func untilCancelled() async {
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    await withTaskCancellationHandler {
      for await _ in stream {}
    } onCancel: {
      continuation.finish()
    }
  }
}

@Suite("A write that needs a connection (spec 1)")
struct OnlineOnlyTests {
  @Test("is sent at once, past what is queued, and neither queued nor laid into the cache")
  func overtakes() async throws {
    let desk = try await ClientDesk([.offline, .answer(204, "")])
    _ = try await desk.tasks.insert(WriteOutcomeTests.row).execute()
    let outcome = try await desk.tasks.delete(mutationStrategy: .onlineOnly).eq("user_id", value: "u").execute()
    #expect(!outcome.isQueued)
    #expect(try desk.pending.count == 1)
    #expect(desk.http.lines.last == "DELETE /rest/v1/tasks?user_id=eq.u")
  }

  @Test(
    "throws what kept it from being sent, and nothing is queued",
    arguments: [
      (ScriptedExchange.Step.offline, Thrown.connectivity), (.error(503, "PGRST000"), .unavailable(503)),
      (.error(400, "23514"), .refused(400, "23514")), (.cut, .connectivity),
    ])
  func fails(_ answer: ScriptedExchange.Step, _ thrown: Thrown) async throws {
    let desk = try await ClientDesk([answer])
    let error = await #expect(throws: OfflineError.self) {
      try await desk.tasks.insert(WriteOutcomeTests.row, mutationStrategy: .onlineOnly).execute()
    }
    #expect(error.map(Thrown.init) == thrown)
    #expect(try desk.pending.isEmpty)
    desk.http.check()
  }

  @Test("throws with network access off, and sends nothing")
  func disabled() async throws {
    let desk = try await ClientDesk()
    desk.client.disableNetwork()
    let error = await #expect(throws: OfflineError.self) {
      try await desk.tasks.insert(WriteOutcomeTests.row, mutationStrategy: .onlineOnly).execute()
    }
    #expect(error.map(Thrown.init) == .networkDisabled)
    #expect(error?.isConnectivity == true)
    #expect(desk.http.requests.isEmpty)
  }

  @Test("goes out on the project's key while the session restores")
  func restoring() async throws {
    let gate = Gate()
    let desk = try await ClientDesk(
      [
        .init { _ throws(HTTPError) in
          await gate.opened()
          throw .cannotConnect(origin: "http://scripted", reason: "refused")
        }, .answer(201, ""),
      ], session: session(of: Desk.user, expiresAt: 1))
    await desk.http.requested()
    _ = try await desk.tasks.insert(WriteOutcomeTests.row, mutationStrategy: .onlineOnly).execute()
    #expect(desk.http.requests.last?.bearer == "sb_publishable_key")
    gate.open()
  }
}
