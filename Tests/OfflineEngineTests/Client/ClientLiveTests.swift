import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine
@testable import StandInServer

private struct TitleRow: Decodable, Sendable, Equatable {
  var title: String
}

@Suite("A developer's client that follows the server's changes")
struct ClientLiveTests {
  /// A phone that follows, what it is told of its connection, and the task in which it does.
  private struct Follower {
    let world: World
    let phone: Phone
    let sockets: StandInSockets
    let states: AsyncStream<LiveState>
    let following: Task<Void, any Error>

    init() async throws {
      world = try World()
      let session = try await world.signUp("me@example.com")
      sockets = StandInSockets(world)
      let phone = try await Phone(world, session, sockets: sockets)
      self.phone = phone
      try world.lay([Self.row(1, "a", session), Self.row(2, "b", session)])
      let (states, said) = AsyncStream.makeStream(of: LiveState.self)
      self.states = states
      following = Task {
        defer { said.finish() }
        try await phone.client.followServerChanges(of: ["tasks"]) { said.yield($0) }
      }
    }

    private static func row(_ number: Int, _ title: String, _ session: Session) -> JSONObject {
      ["id": key(number).values[0], "user_id": .string(session.user.id), "title": .string(title)]
    }

    func until(_ isWanted: (LiveState) -> Bool) async {
      for await state in states where isWanted(state) { return }
    }
  }

  @Test("a change shows in a cached list and in a live read as it is made, without a request")
  func change() async throws {
    let follower = try await Follower()
    await follower.until(\.isLive)
    var titles = follower.phone.tasks.selectAsSequence("id,title").order("id").snapshots(of: TitleRow.self)
      .makeAsyncIterator()
    while let snapshot = try await titles.next(), snapshot.rows.map(\.title) != ["a", "b"] || snapshot.isFromCache {}
    follower.phone.http.forget()
    try follower.world.change(key(2), ["title": "told"])
    while try await titles.next()?.rows.map(\.title) != ["a", "told"] {}
    try follower.world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(1).text)")
    while try await titles.next()?.rows.map(\.title) != ["told"] {}
    #expect(follower.phone.http.lines.isEmpty)
    follower.phone.client.close()
    try await follower.following.value
  }

  @Test(
    "the network switch ends the connection and makes it again, and lists are stale after what may have been missed")
  func networkSwitch() async throws {
    let follower = try await Follower()
    await follower.until(\.isLive)
    try await follower.phone.read("id,title")
    follower.phone.client.disableNetwork()
    await follower.until { $0 == .off }
    try follower.world.change(key(1), ["title": "missed"])
    follower.phone.client.enableNetwork()
    await follower.until(\.isLive)
    let rows = try await follower.phone.read("id,title", .cacheFirst)
    #expect(rows.first?["title"] == "missed")
    #expect(follower.sockets.opened == 2)
    follower.following.cancel()
    try await follower.following.value
  }

  @Test("a change of which not all is told makes the lists of its table stale")
  func cut() async throws {
    let follower = try await Follower()
    try await follower.phone.read("id,title")
    try follower.world.change(key(1), ["title": "long"])
    let change = RealtimeChange(kind: .update, table: "tasks", record: ["id": key(1).values[0]], isCut: true)
    _ = try await follower.phone.client.engine.apply([change])
    let rows = try await follower.phone.read("id,title", .cacheFirst)
    #expect(rows.first?["title"] == "long")
    follower.following.cancel()
    try await follower.following.value
  }

  @Test("it ends with its task, and says so where there is no Realtime")
  func ends() async throws {
    let follower = try await Follower()
    await follower.until(\.isLive)
    follower.following.cancel()
    try await follower.following.value
    let world = try World()
    let phone = try await Phone(world, try await world.signUp("me@example.com"))
    await #expect(throws: OfflineError.self) { try await phone.client.followServerChanges(of: ["tasks"]) }
    phone.client.close()
    await #expect(throws: OfflineError.self) { try await phone.client.followServerChanges(of: ["tasks"]) }
  }
}
