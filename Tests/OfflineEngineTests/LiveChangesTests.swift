import LosslessJSON
import Randomness
import SupabaseAPI
import Synchronization
import Testing

@testable import OfflineEngine
@testable import StandInServer

/// A replica that is told of changes, beside somebody who makes them.
final class LiveDesk {
  /// What the live changes ask for.
  enum Ask: Sendable, Equatable {
    case changed
    case pull
  }

  let world: World
  let replica: Replica
  let sockets: StandInSockets
  let live: LiveChanges
  private var states: AsyncStream<LiveState>.AsyncIterator
  /// What is asked for, for somebody who takes it all.
  let asked: AsyncStream<Ask>
  private var asks: AsyncStream<Ask>.AsyncIterator
  private let running: Task<Void, Never>

  init(_ world: World, seconds: WallClock? = nil) async throws {
    self.world = world
    let session = try await world.signUp("me@example.com")
    sockets = StandInSockets(world)
    replica = try world.replica(session, sockets: sockets, clock: seconds)
    let (asked, asking) = AsyncStream.makeStream(of: Ask.self)
    self.asked = asked
    asks = asked.makeAsyncIterator()
    let live = LiveChanges(
      engine: replica.client, tables: ["tasks"], isWanted: true, hasChanged: { asking.yield(.changed) },
      needsPull: { asking.yield(.pull) })
    self.live = try #require(live)
    states = self.live.states().makeAsyncIterator()
    running = Task { [live = self.live] in await live.run() }
  }

  deinit {
    live.stop()
    running.cancel()
  }

  /// Waits for a state that the live changes show.
  @discardableResult
  func state(_ isWanted: (LiveState) -> Bool) async -> LiveState? {
    while let state = await states.next() { if isWanted(state) { return state } }
    return nil
  }

  /// The next thing that is asked for.
  func ask() async -> Ask? { await asks.next() }

  /// Waits until changes flow, and pulls as is asked.
  func flow() async throws {
    await state(\.isLive)
    #expect(await ask() == .pull)
    try await replica.pull()
    replica.http.forget()
  }

  /// Lets time pass in steps in which the live changes look at the clock.
  func pass(_ seconds: Int, while goesOn: () -> Bool = { true }) async {
    for _ in 0..<seconds where goesOn() {
      await world.clock.someoneSleeps()
      world.clock.advance(by: .seconds(1))
    }
    await world.clock.someoneSleeps()
  }

  func row(_ number: Int, _ title: String) -> JSONObject {
    ["id": key(number).values[0], "user_id": .string(replica.client.user), "title": .string(title)]
  }

  var reads: Int { replica.http.requests.count { $0.method == "GET" } }
}

/// A count that several tasks share.
private final class Counter: Sendable {
  private let value = Mutex(0)

  func add() { value.withLock { $0 += 1 } }
  var count: Int { value.withLock(\.self) }
}

/// The virtual clock, with a time of day that can be set.
final class WallClock: EngineClock {
  private let clock: VirtualClock
  private let offset = Mutex(Duration.zero)

  init(_ clock: VirtualClock) { self.clock = clock }

  func now() -> WallTime { clock.now() + offset.withLock(\.self) }
  func elapsed() -> Duration { .nanoseconds(clock.now().nanoseconds) }
  func sleep(for duration: Duration) async throws { try await clock.sleep(for: duration) }

  func jump(by duration: Duration) { offset.withLock { $0 += duration } }
}

@Suite("Live changes") struct LiveChangesTests {
  @Test("a new row is taken in as it is told, without a request")
  func insert() async throws {
    let desk = try await LiveDesk(World())
    try await desk.flow()
    try desk.world.lay([desk.row(1, "told")])
    #expect(await desk.ask() == .changed)
    #expect(try desk.replica.cached(key(1))?.values?["title"] == "told")
    #expect(try desk.replica.cached(key(1))?.version != nil)
    #expect(desk.replica.http.lines.isEmpty)
    // A pull finds nothing new.
    #expect(try await desk.replica.pull().changed == 0)
  }

  @Test("a row that changed is read, since what is told may be older than what is known")
  func update() async throws {
    let desk = try await LiveDesk(World())
    try desk.world.lay([desk.row(1, "a")])
    try await desk.flow()
    try desk.world.change(key(1), ["title": "b"])
    #expect(await desk.ask() == .changed)
    #expect(try desk.replica.cached(key(1))?.values?["title"] == "b")
    #expect(desk.reads == 1)
  }

  @Test("an own write is known by its version, and nothing is read for it")
  func ownWrite() async throws {
    let desk = try await LiveDesk(World())
    try desk.world.lay([desk.row(1, "a")])
    try await desk.flow()
    try desk.replica.update(key(1), ["title": "b"])
    _ = await desk.replica.sync()
    try desk.world.lay([desk.row(2, "later")])
    #expect(await desk.ask() == .changed)
    #expect(try desk.replica.cached(key(2)) != nil)
    #expect(desk.reads == 0)
  }

  @Test(
    "REALTIME-3: a deleted row is looked for before it counts as gone; unknown keys and rows that exist are left alone")
  func deletes() async throws {
    let desk = try await LiveDesk(World())
    try desk.world.lay([1, 2, 3].map { desk.row($0, "row \($0)") })
    try await desk.flow()
    let mine = desk.replica.client.user
    // A key that nobody here knows.
    _ = try await desk.replica.client.apply([RealtimeChange(kind: .delete, table: "tasks", oldRecord: ["id": "x"])])
    #expect(desk.replica.http.lines.isEmpty)
    // A forged one.
    let forged = RealtimeChange(kind: .delete, table: "tasks", oldRecord: ["id": key(3).values[0]])
    #expect(try await desk.replica.client.apply([forged]) == [])
    #expect(try desk.replica.cached(key(3))?.values != nil)
    // One with an edit that waits: the row is gone, the edit is not.
    try desk.replica.update(key(2), ["title": "edited"])
    try desk.world.admin("DELETE", "/rest/v1/tasks?user_id=eq.\(mine)&id=in.(\(key(1).text),\(key(2).text))")
    while try desk.replica.cached(key(2))?.values != nil { #expect(await desk.ask() == .changed) }
    #expect(try desk.replica.cached(key(1))?.values == nil && desk.replica.row(key(2)).isGone)
    #expect(try desk.replica.pending.count == 1)
    #expect(try desk.replica.cached(key(3))?.values?["title"] == "row 3")
  }

  @Test("rows that vanish in large numbers wait for a person, also when they go one by one", arguments: [true, false])
  func brake(isAtOnce: Bool) async throws {
    let desk = try await LiveDesk(World())
    try desk.world.lay((1...60).map { desk.row($0, "row \($0)") })
    try await desk.flow()
    let gone = (1...25).map { key($0).text }
    for piece in isAtOnce ? [gone] : gone.map({ [$0] }) {
      try desk.world.admin("DELETE", "/rest/v1/tasks?id=in.(\(piece.joined(separator: ",")))")
    }
    while let ask = await desk.ask(), ask != .pull {}
    let report = try await desk.replica.pull()
    let known = try desk.replica.rowCount
    #expect(report.heldVanished > 0 && report.gone == 0)
    #expect(known > 40 && known == 35 + report.heldVanished)
    // What goes later is held with them until a person says so.
    #expect(try await desk.replica.client.pull("tasks", isConfirmed: true).gone == report.heldVanished)
    #expect(try desk.replica.rowCount == 35)
  }

  @Test("rows that go ten seconds apart were not lost at once")
  func slowlyGone() async throws {
    let desk = try await LiveDesk(World())
    try desk.world.lay((1...4).map { desk.row($0, "row \($0)") })
    try await desk.flow()
    for number in 1...3 {
      try desk.world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(number).text)")
      while try desk.replica.cached(key(number))?.values != nil { _ = await desk.ask() }
      await desk.pass(11)
    }
    #expect(try desk.replica.rowCount == 1)
  }

  @Test("the last row that is deleted is believed only when the token is the user's")
  func lastRow() async throws {
    let desk = try await LiveDesk(World())
    try desk.world.lay([desk.row(1, "only")])
    try await desk.flow()
    try desk.world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(1).text)")
    #expect(await desk.ask() == .changed)
    #expect(try desk.replica.cached(key(1))?.values == nil)
    #expect(desk.replica.http.lines.contains { $0.contains("/auth/v1/user") })
  }

  /// Changes of which not everything is told.
  static let cut: [RealtimeChange] = [
    RealtimeChange(kind: .insert, table: "tasks", record: ["id": key(1).values[0], "title": "cut"], isCut: true),
    RealtimeChange(kind: .insert, table: "tasks", record: ["id": key(1).values[0], "title": "partial"]),
    RealtimeChange(
      kind: .update, table: "tasks", record: ["id": key(1).values[0]], oldRecord: ["id": key(1).values[0]]),
  ]

  @Test("what is missing in a change is unknown, not null: the row is read", arguments: cut)
  func missingColumns(change: RealtimeChange) async throws {
    let world = try World()
    let session = try await world.signUp("me@example.com")
    let replica = try world.replica(session)
    try world.lay([["id": key(1).values[0], "user_id": .string(session.user.id), "title": "whole", "notes": "n"]])
    #expect(try await replica.client.apply([change]) == .changed)
    #expect(try replica.cached(key(1))?.values?["notes"] == "n")
    #expect(try replica.cached(key(1))?.values?["title"] == "whole")
  }

  @Test("a row whose key changed is another row, and the old one is looked for")
  func keyChange() async throws {
    let desk = try await LiveDesk(World())
    try desk.world.lay([desk.row(1, "a"), desk.row(3, "other")])
    try await desk.flow()
    try desk.world.change(key(1), ["id": key(2).values[0]])
    while try desk.replica.cached(key(1))?.values != nil { #expect(await desk.ask() == .changed) }
    #expect(try desk.replica.cached(key(2))?.values?["title"] == "a")
  }

  @Test("many changes at once cost a read for sixty of them")
  func many() async throws {
    let desk = try await LiveDesk(World())
    try desk.world.lay((1...150).map { desk.row($0, "a") })
    try await desk.flow()
    let changes = (1...150).map {
      RealtimeChange(kind: .update, table: "tasks", record: ["id": key($0).values[0]])
    }
    try desk.world.admin("PATCH", "/rest/v1/tasks?title=eq.a", ["title": "b"])
    while try desk.replica.client.read({ try $0.cachedKeys("tasks") }).contains(where: {
      try desk.replica.cached(RowKey($0))?.values?["title"] == "a"
    }) {
      #expect(await desk.ask() == .changed)
    }
    desk.replica.http.forget()
    #expect(try await desk.replica.client.apply(changes) == [])
    #expect(desk.reads == 3)
  }

  // MARK: Connections

  @Test("a connection that breaks is made again, and followed by one pull that finds what was missed")
  func reconnects() async throws {
    let desk = try await LiveDesk(World())
    try await desk.flow()
    desk.world.standIn.faults = [StandInFault(.realtimeDisconnect)]
    let state = await desk.state { if case .waiting = $0 { true } else { false } }
    guard case .waiting(let reason, _) = state else { return }
    #expect(reason == "the server closed the live connection")
    try desk.world.lay([desk.row(1, "missed")])
    await desk.pass(2) { !desk.live.shown.isLive }
    await desk.state(\.isLive)
    #expect(await desk.ask() == .pull)
    #expect(try await desk.replica.pull().changed == 1)
    #expect(desk.sockets.opened == 2)
  }

  @Test(
    "REALTIME-1: a server that cuts the connection every five seconds: each row arrives, with one pull for each new connection"
  )
  func cutAgainAndAgain() async throws {
    let desk = try await LiveDesk(World())
    try await desk.flow()
    var random = SeededRandom(seed: 7)
    var written = 0
    let pulls = Counter()
    let pulling = Task { [client = desk.replica.client, asked = desk.asked] in
      for await ask in asked where ask == .pull {
        pulls.add()
        _ = try? await client.pull("tasks")
      }
    }
    for second in 1...120 {
      for _ in 0..<Int.random(in: 0...3, using: &random) where written < 200 {
        written += 1
        try desk.world.lay([desk.row(written, "row \(written)")])
      }
      await desk.pass(1)
      // A fault that finds nobody connected would wait for the next connection.
      if second % 5 == 0, desk.live.shown.isLive {
        desk.world.standIn.faults = [StandInFault(.realtimeDisconnect)]
      }
    }
    // The last fault may still have met nobody, and the last connection may be on its way out.
    desk.world.standIn.faults = []
    try desk.world.lay([desk.row(1_000, "last")])
    while try desk.replica.rowCount < written + 1 { await desk.pass(1) }
    #expect(written > 100)
    #expect((12...26).contains(desk.sockets.opened))
    #expect(pulls.count <= desk.sockets.opened)
    pulling.cancel()
  }

  @Test("without a network it tries again and again, ever more seldom")
  func offline() async throws {
    let world = try World()
    let desk = try await LiveDesk(world)
    try await desk.flow()
    desk.sockets.isOffline = true
    world.standIn.faults = [StandInFault(.realtimeDisconnect)]
    await desk.pass(120)
    #expect((6...9).contains(desk.sockets.opened))
    desk.sockets.isOffline = false
    await desk.pass(31) { !desk.live.shown.isLive }
    #expect(desk.live.shown.isLive)
  }

  @Test("REALTIME-4: a server that stays silent is noticed by its heartbeat, and the pull finds the rows")
  func silence() async throws {
    let desk = try await LiveDesk(World())
    try await desk.flow()
    desk.world.standIn.faults = [StandInFault(.realtimeSilence, times: nil)]
    try desk.world.lay([desk.row(1, "unheard")])
    var seconds = 0
    while desk.sockets.opened == 1, seconds < 60 {
      await desk.pass(1)
      seconds += 1
    }
    #expect(seconds <= 51)
    desk.world.standIn.faults = []
    await desk.pass(40) { !desk.live.shown.isLive }
    #expect(desk.live.shown.isLive)
    while await desk.ask() != .pull {}
    #expect(try await desk.replica.pull().changed == 1)
  }

  @Test("REALTIME-2: tokens that live a minute are renewed in time: one join with a valid token after each drop")
  func shortTokens() async throws {
    let desk = try await LiveDesk(World(accessTokenSeconds: 60))
    try await desk.flow()
    for second in 1...300 {
      await desk.pass(1)
      if second == 50 || second == 130 { desk.world.standIn.faults = [StandInFault(.realtimeDisconnect)] }
    }
    #expect(desk.live.shown.isLive)
    #expect(desk.sockets.opened == 3)
    let count = try desk.replica.rowCount
    try desk.world.lay([desk.row(1, "still told")])
    while try desk.replica.rowCount == count { _ = await desk.ask() }
  }

  @Test("a token that the server ends is replaced, and the channel joined again")
  func expiredToken() async throws {
    let desk = try await LiveDesk(World())
    try await desk.flow()
    // The server's clock runs ahead: it ends a token that this device still takes for good.
    desk.world.standIn.faults = [StandInFault(.clockSkew(seconds: 3_700))]
    await desk.pass(60) { desk.sockets.opened == 1 || !desk.live.shown.isLive }
    #expect(desk.live.shown.isLive && desk.sockets.opened == 2)
  }

  @Test("REALTIME-4: a jump of the wall clock, as after a sleep, makes a new connection, and a pull")
  func sleep() async throws {
    let world = try World()
    let clock = WallClock(world.clock)
    let desk = try await LiveDesk(world, seconds: clock)
    try await desk.flow()
    world.standIn.faults = [StandInFault(.realtimeSilence, times: nil)]
    clock.jump(by: .seconds(3 * 3_600))
    world.standIn.faults = []
    await desk.pass(11) { desk.sockets.opened == 1 }
    #expect(desk.sockets.opened == 2)
    await desk.state(\.isLive)
    #expect(await desk.ask() == .pull)
  }

  @Test("the switches end the connection and make it again")
  func switches() async throws {
    let desk = try await LiveDesk(World())
    try await desk.flow()
    desk.live.setWanted(false)
    await desk.state { $0 == .off }
    desk.live.setWanted(true)
    await desk.state(\.isLive)
    desk.replica.client.disableNetwork()
    desk.live.look()
    await desk.state { $0 == .off }
    desk.replica.client.enableNetwork()
    desk.live.look()
    await desk.state(\.isLive)
    #expect(desk.sockets.opened == 3)
  }
}
