import Foundation
import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("What must not happen to a write when users, data and clients change")
struct WriteSafetyTests {
  private static let other = "00000000-0000-4000-8000-000000000001"
  private static let row = #"[{"id":1,"title":"A","done":false,"updated_at":"T1"}]"#

  /// Returns once the client has acted on somebody's session.
  private func noted(_ user: String, _ client: OfflineClient) async {
    for await _ in client.store.changes.rings() where client.notedSession == .signedIn(user: user) { return }
  }

  // MARK: Whose write

  @Test("nobody's write on the wire is not sent a second time by the user who signs in meanwhile, and not lost")
  func takenOverOnTheWire() async throws {
    let (onTheWire, answer) = (Gate(), Gate())
    let desk = try await ClientDesk(
      [
        .init { _ throws(HTTPError) in
          onTheWire.open()
          await answer.opened()
          throw .cut(origin: "http://scripted", reason: "reset", mayHaveReachedServer: true)
        }, .answer(200, session(of: Desk.user).json.serialized()),
        .answer(201, #"[{"id":1,"title":"A","done":false,"updated_at":"T1"}]"#),
      ], session: nil)
    async let write = desk.tasks.insert(TaskRow(id: 1, title: "A")).execute()
    await onTheWire.opened()
    try await desk.client.auth.signIn(email: "a@example.com", password: Secret("p"))
    await noted(Desk.user, desk.client)
    _ = try await desk.client.syncPendingMutations()
    #expect(desk.http.requests.count == 2)
    answer.open()
    #expect(try await write.isQueued)
    await desk.status { $0.pendingMutationCount == 0 && $0.lastSyncedAt != nil }
    #expect(desk.http.lines.last?.contains("on_conflict=id") == true)
    #expect(desk.http.requests.last?.bearer == token(of: Desk.user).revealed)
    desk.http.check()
  }

  @Test("a write past the queue that is answered after another user signed in changes the lists of who made it")
  func answeredToAnother() async throws {
    let (onTheWire, answer) = (Gate(), Gate())
    let desk = try await ClientDesk([
      .rows(Self.row),
      .init { _ in
        onTheWire.open()
        await answer.opened()
        return HTTPResponse(status: 204)
      }, .answer(200, session(of: Self.other).json.serialized()),
    ])
    _ = try await desk.tasks.select().execute()
    async let write = desk.tasks.delete().and { $0.eq("id", value: 1) }.execute()
    await onTheWire.opened()
    try await desk.client.auth.signIn(email: "b@example.com", password: Secret("p"))
    answer.open()
    #expect(try await write.isQueued == false)
    let mine = try desk.client.engine(of: Desk.user).read { transaction in
      try transaction.cachedLists("tasks", schema: "public").flatMap(transaction.rows)
    }
    #expect(mine.isEmpty)
  }

  @Test("cleared data ends the pass of a user who is not signed in any more, too", .timeLimit(.minutes(1)))
  func clearedForAll() async throws {
    let (onTheWire, answer) = (Gate(), Gate())
    let desk = try await ClientDesk([
      .cut,
      .init { _ in
        onTheWire.open()
        await answer.opened()
        return HTTPResponse(status: 201, body: Array("[]".utf8))
      }, .answer(200, session(of: Self.other).json.serialized()),
    ])
    _ = try await desk.tasks.insert(TaskRow(id: 1, title: "B")).execute()
    async let report = desk.client.syncPendingMutations()
    await onTheWire.opened()
    try await desk.client.auth.signIn(email: "b@example.com", password: Secret("p"))
    async let clearing: Void = desk.client.clearLocalData()
    await desk.client.engine(of: Desk.user).interrupted()
    answer.open()
    try await clearing
    _ = try await report
    #expect(try desk.client.engine(of: Desk.user).read { try $0.counts() } == MutationCounts())
  }

  // MARK: The client's own life

  @Test("a client that is closed while it opens says so, and follows nothing")
  func closedWhileOpening() async throws {
    let storage = ClosingSession()
    let desk = try await ClientDesk(isOpened: false) { $0.sessionStorage = storage }
    storage.client = desk.client
    await #expect(throws: OfflineError.self) { try await desk.client.open() }
  }
}

/// A session that closes the client as it is read.
private final class ClosingSession: SessionStorage {
  nonisolated(unsafe) weak var client: OfflineClient?

  func load() -> Session? {
    client?.close()
    return nil
  }

  func save(_ session: Session) {}
  func clear() {}
}
