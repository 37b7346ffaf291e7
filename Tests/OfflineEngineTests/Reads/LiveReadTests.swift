import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite struct LiveReadTests {
  private typealias Snapshots = QuerySnapshotSequence<TaskRow>

  private static func fresh(_ title: String) -> ScriptedExchange.Step {
    .rows(#"[{"id":1,"title":"\#(title)","done":false}]"#)
  }

  /// An answer that waits for a gate.
  private static func gated(_ gate: Gate, _ title: String, asked: Gate? = nil) -> ScriptedExchange.Step {
    .init { _ in
      asked?.open()
      await gate.opened()
      return HTTPResponse(status: 200, body: Array(#"[{"id":1,"title":"\#(title)","done":false}]"#.utf8))
    }
  }

  private static func live(_ desk: ReadDesk, _ strategy: LiveReadStrategy = .cacheFirstThenNetwork) -> Snapshots {
    desk.tasks.selectAsSequence(readStrategy: strategy).snapshots(of: TaskRow.self)
  }

  /// The first snapshot from now on that meets a condition.
  private static func next(
    _ loop: inout Snapshots.Iterator, where holds: (QuerySnapshot<TaskRow>) -> Bool
  ) async throws -> QuerySnapshot<TaskRow>? {
    while let snapshot = try await loop.next() { if holds(snapshot) { return snapshot } }
    return nil
  }

  private static func isIdle(_ snapshot: QuerySnapshot<TaskRow>) -> Bool {
    if case .idle = snapshot.refresh { true } else { false }
  }

  private static func isRefreshing(_ snapshot: QuerySnapshot<TaskRow>) -> Bool {
    if case .refreshing = snapshot.refresh { true } else { false }
  }

  private static func isPaused(_ snapshot: QuerySnapshot<TaskRow>) -> Bool {
    if case .paused = snapshot.refresh { true } else { false }
  }

  @Test func `cache first gives this device's rows at once, then the server's`() async throws {
    let desk = try await ReadDesk()
    try await desk.warm()
    let gate = Gate()
    desk.http.add([Self.gated(gate, "Oat milk")])
    var loop = Self.live(desk).makeAsyncIterator()
    let first = try #require(try await loop.next())
    #expect(first.rows.map(\.title) == ["Milk"])
    #expect(first.isFromCache && Self.isRefreshing(first))
    gate.open()
    let second = try #require(try await Self.next(&loop, where: Self.isIdle))
    #expect(second.rows.map(\.title) == ["Oat milk"])
    #expect(!second.isFromCache && second.fetchedAt != nil)
    desk.check()
  }

  @Test func `network first gives the server's rows first, and this device's when it cannot be reached`() async throws {
    let desk = try await ReadDesk()
    try await desk.warm()
    desk.http.add([Self.fresh("Oat milk")])
    var loop = Self.live(desk, .networkFirstThenCache).makeAsyncIterator()
    #expect(try await loop.next()?.rows.map(\.title) == ["Oat milk"])
    await desk.say(.offline, .offline)
    desk.http.add([.offline])
    var other = Self.live(desk, .networkFirstThenCache).makeAsyncIterator()
    let saved = try #require(try await other.next())
    #expect(saved.rows.map(\.title) == ["Oat milk"])
    #expect(saved.isFromCache && Self.isPaused(saved))
  }

  @Test func `cache only never asks, and follows what others fetch`() async throws {
    let desk = try await ReadDesk()
    var loop = Self.live(desk, .cacheOnly).makeAsyncIterator()
    let empty = try #require(try await loop.next())
    #expect(empty.rows.isEmpty && empty.fetchedAt == nil && Self.isIdle(empty))
    try await desk.warm()
    let fetched = try #require(try await loop.next())
    #expect(fetched.rows.map(\.title) == ["Milk"])
    desk.check()
  }

  @Test func `every write, answer and report that changes the rows gives a value, and nothing else does`() async throws
  {
    let desk = try await ReadDesk()
    try await desk.warm()
    var loop = Self.live(desk, .cacheOnly).makeAsyncIterator()
    _ = try await loop.next()

    try await desk.queue(desk.tasks.update(["done": true]).eq("id", value: 1))
    let queued = try #require(try await loop.next())
    #expect(queued.rows == [TaskRow(id: 1, title: "Milk", done: true)] && queued.hasPendingMutations)

    // None of these changes what is shown: another table's write, a row of the same values, a write that misses.
    try await desk.queue(desk.client.from("photos").insert(["id": 9]))
    try desk.client.applyServerRecord(table: "tasks", record: TaskRow(id: 1, title: "Milk", done: false))
    try await desk.queue(desk.tasks.update(["done": true]).eq("id", value: 77))

    desk.http.add([
      .rows(#"[{"id":1,"done":true}]"#), .answer(201, #"[{"id":9}]"#), .rows("[]"), .rows("[]"),
      .user(Desk.user),
    ])
    _ = try await desk.client.syncPendingMutations()
    let accepted = try #require(try await loop.next())
    #expect(accepted.rows == queued.rows && !accepted.hasPendingMutations)

    try desk.client.applyServerRecord(table: "tasks", record: TaskRow(id: 2, title: "Bread"))
    #expect(try await loop.next()?.rows.map(\.title) == ["Milk", "Bread"])
    try desk.client.applyServerDelete(table: "tasks", record: ["id": 1])
    #expect(try await loop.next()?.rows.map(\.title) == ["Bread"])
  }

  @Test func `a list that a write made doubtful is fetched again`() async throws {
    let desk = try await ReadDesk([Self.fresh("Milk")])
    var loop = Self.live(desk).makeAsyncIterator()
    _ = try await Self.next(&loop, where: Self.isIdle)
    desk.http.add([.answer(204, ""), Self.fresh("Bread")])
    // Which rows a regular expression chooses only the server can tell.
    _ = try await desk.tasks.update(["title": "Bread"]).filter("title", operator: "match", value: "^M").execute()
    let next = try await Self.next(&loop) { $0.rows.map(\.title) == ["Bread"] && Self.isIdle($0) }
    #expect(next != nil)
    desk.check()
  }

  @Test func `a refresh that a write overtook is followed by another`() async throws {
    let desk = try await ReadDesk()
    try await desk.warm()
    let (gate, asked) = (Gate(), Gate())
    desk.http.add([Self.gated(gate, "Milk", asked: asked), .answer(204, ""), Self.fresh("Oat milk, as stored")])
    var loop = Self.live(desk).makeAsyncIterator()
    _ = try await loop.next()
    await asked.opened()
    _ = try await desk.tasks.update(["title": "Oat milk"]).eq("id", value: 1).execute()
    gate.open()
    let next = try await Self.next(&loop) { $0.rows.map(\.title) != ["Oat milk"] }
    #expect(next?.rows.map(\.title) == ["Oat milk, as stored"], "the older answer showed through")
    desk.check()
  }

  @Test func `a refresh is paused while access is off, and goes on when it is back`() async throws {
    let desk = try await ReadDesk()
    try await desk.warm()
    desk.client.disableNetwork()
    var loop = Self.live(desk).makeAsyncIterator()
    let paused = try #require(try await loop.next())
    #expect(Self.isPaused(paused) && paused.rows.map(\.title) == ["Milk"])
    desk.http.add([Self.fresh("Oat milk")])
    desk.client.enableNetwork()
    #expect(try await Self.next(&loop, where: Self.isIdle)?.rows.map(\.title) == ["Oat milk"])
    desk.check()
  }

  @Test func `a refresh that finds no connection stalls, tries again, and the network coming back wakes it`()
    async throws
  {
    let desk = try await ReadDesk()
    try await desk.warm()
    await desk.say(.online, .online)
    // Three waits are short on this clock, the fourth lasts.
    let last = Gate()
    let failing = ScriptedExchange.Step { _ throws(HTTPError) in
      last.open()
      throw .cannotConnect(origin: "http://scripted", reason: "refused")
    }
    desk.http.add([.offline, .offline, .offline, failing])
    var loop = Self.live(desk).makeAsyncIterator()
    _ = try await loop.next()
    await last.opened()
    await desk.say(.offline, .offline)
    let paused = try await Self.next(&loop, where: Self.isPaused)
    #expect(paused?.rows.map(\.title) == ["Milk"])
    #expect(desk.clock.waits == [.seconds(1), .seconds(2), .seconds(4)])
    desk.http.add([Self.fresh("Oat milk")])
    await desk.say(.online, .online)
    #expect(try await Self.next(&loop, where: Self.isIdle)?.rows.map(\.title) == ["Oat milk"])
    desk.check()
  }

  @Test func `a refused refresh stalls with the server's word and is not repeated by itself`() async throws {
    let desk = try await ReadDesk()
    try await desk.warm()
    desk.http.add([.error(403, "42501")])
    var loop = Self.live(desk).makeAsyncIterator()
    let stalled = try await Self.next(&loop) {
      if case .stalled(.refused(let error)) = $0.refresh { error.code == "42501" } else { false }
    }
    #expect(stalled?.rows.map(\.title) == ["Milk"])
    #expect(desk.clock.waits.isEmpty)
    desk.check()
  }

  @Test func `without a connection a query that was never asked shows the queued rows it admits`() async throws {
    let desk = try await ReadDesk()
    try await desk.queue(desk.tasks.insert(TaskRow(id: 5, title: "Bread")))
    desk.client.disableNetwork()
    let open = desk.tasks.selectAsSequence().eq("done", value: false).snapshots(of: TaskRow.self)
    var loop = open.makeAsyncIterator()
    let shown = try #require(try await loop.next())
    #expect(shown.rows == [TaskRow(id: 5, title: "Bread")])
    #expect(shown.hasPendingMutations && shown.fetchedAt == nil)
    var done = desk.tasks.selectAsSequence().eq("done", value: true).snapshots(of: TaskRow.self).makeAsyncIterator()
    #expect(try await done.next()?.rows.isEmpty == true)
  }

  @Test func `closing the client ends the loop, and an ended loop follows nothing any more`() async throws {
    let desk = try await ReadDesk()
    try await desk.warm()
    do {
      var short = Self.live(desk, .cacheOnly).makeAsyncIterator()
      _ = try await short.next()
    }
    var loop = Self.live(desk, .cacheOnly).makeAsyncIterator()
    _ = try await loop.next()
    desk.client.close()
    #expect(try await loop.next().map(\.rows) == nil)
  }

  @Test func `who signs out no longer sees the rows, and who signs in sees their own`() async throws {
    let desk = try await ReadDesk()
    try await desk.warm()
    var loop = Self.live(desk, .cacheOnly).makeAsyncIterator()
    #expect(try await loop.next()?.rows.count == 1)
    desk.http.add([.answer(204, "")])
    try await desk.client.auth.signOut()
    let next = try #require(try await loop.next())
    #expect(next.rows.isEmpty && next.fetchedAt == nil)
  }

  // MARK: Another user

  private static let other = "00000000-0000-4000-8000-000000000001"

  private static func signIn(_ desk: ReadDesk, as session: Session) async throws {
    desk.http.add([.answer(200, session.json.serialized())])
    try await desk.client.auth.signIn(email: "other@example.com", password: Secret("p"))
  }

  @Test(arguments: [LiveReadStrategy.cacheFirstThenNetwork, .networkFirstThenCache, .cacheOnly])
  func `the last user's rows are gone before anything of the next one's is known`(_ strategy: LiveReadStrategy)
    async throws
  {
    let desk = try await ReadDesk()
    try await desk.warm()
    desk.http.add(strategy == .cacheOnly ? [] : [Self.fresh("Milk")])
    var loop = Self.live(desk, strategy).makeAsyncIterator()
    #expect(try await Self.next(&loop, where: Self.isIdle)?.rows.map(\.title) == ["Milk"])
    let (gate, asked) = (Gate(), Gate())
    desk.http.add([.answer(200, session(of: Self.other).json.serialized())])
    if strategy != .cacheOnly { desk.http.add([Self.gated(gate, "Theirs", asked: asked)]) }
    try await desk.client.auth.signIn(email: "other@example.com", password: Secret("p"))
    let nothing = try #require(try await loop.next())
    #expect(nothing.rows.isEmpty && nothing.fetchedAt == nil && nothing.isFromCache && !nothing.hasPendingMutations)
    gate.open()
    if strategy != .cacheOnly {
      #expect(try await Self.next(&loop, where: Self.isIdle)?.rows.map(\.title) == ["Theirs"])
    }
    desk.check()
  }

  @Test func `a session that does not say whose it is shows nothing, and never settles`() async throws {
    let desk = try await ReadDesk()
    try await desk.warm()
    desk.http.add([Self.fresh("Milk")])
    var loop = Self.live(desk).makeAsyncIterator()
    #expect(try await Self.next(&loop, where: Self.isIdle)?.rows.count == 1)
    try await Self.signIn(desk, as: session(of: Self.other, tokenOf: .some(nil)))
    #expect(desk.client.auth.state == .signedIn(user: nil))
    let nothing = try #require(try await Self.next(&loop) { $0.rows.isEmpty })
    #expect(nothing.fetchedAt == nil && Self.isRefreshing(nothing))
    desk.check()
  }
}
