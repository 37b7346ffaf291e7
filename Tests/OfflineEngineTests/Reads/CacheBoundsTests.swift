import LosslessJSON
import SQLite
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("What is kept of reads, within its bounds")
struct CacheBoundsTests {
  private static func rows(_ id: Int, size: Int = 10) -> String {
    #"[{"id":\#(id),"title":"\#(String(repeating: "x", count: size))","done":false}]"#
  }

  private func desk(_ bounds: CacheBounds?) async throws -> ClientDesk {
    try await ClientDesk { $0.cacheBounds = bounds }
  }

  private func read(_ id: Int, _ desk: ClientDesk, _ strategy: ReadStrategy = .cacheOnly) async throws {
    _ = try await desk.tasks.select(readStrategy: strategy).eq("id", value: id).execute([TaskRow].self)
    desk.clock.advance(by: .seconds(60))
  }

  private func fetch(_ id: Int, _ desk: ClientDesk, size: Int = 10) async throws {
    desk.http.add([.rows(Self.rows(id, size: size))])
    try await read(id, desk, .networkOnly)
  }

  private func isKept(_ id: Int, _ desk: ClientDesk) throws -> Bool {
    var request = TableRequest.select("tasks")
    request.filters = [.eq("id", .number(JSONNumber(Int64(id))))]
    let query = try #require(ListQuery(request))
    return try desk.client.store.read(user: Desk.user) { try $0.cachedList(query) } != nil
  }

  private func kept(_ ids: ClosedRange<Int>, _ desk: ClientDesk) throws -> [Int] {
    try ids.filter { try isKept($0, desk) }
  }

  @Test("the answers go that were not used for the longest time, by number and by size")
  func leastUsed() async throws {
    let few = try await desk(CacheBounds(bytes: .max, queries: 3))
    for id in 1...3 { try await fetch(id, few) }
    try await read(1, few)
    try await fetch(4, few)
    #expect(try kept(1...4, few) == [1, 3, 4])
    try await fetch(5, few)
    #expect(try kept(1...5, few) == [1, 4, 5])

    let small = try await desk(CacheBounds(bytes: 1_000, queries: .max))
    for id in 1...4 { try await fetch(id, small, size: 200) }
    #expect(try kept(1...4, small) == [1, 2, 3, 4])
    try await fetch(5, small, size: 500)
    #expect(try kept(1...5, small) == [3, 4, 5])
    try await fetch(6, small, size: 5_000)
    #expect(try kept(1...6, small) == [6], "the last answer stays, however large")
  }

  @Test("every answer stays without bounds, and by default a thousand do")
  func unbounded() async throws {
    let desk = try await desk(nil)
    for id in 1...30 { try await fetch(id, desk, size: 5_000) }
    #expect(try kept(1...30, desk).count == 30)
    let configuration = OfflineConfiguration(
      project: try Project(url: "http://scripted", key: Secret("sb_publishable_key")), databasePath: ":memory:")
    #expect(configuration.cacheBounds == CacheBounds(bytes: 64 << 20, queries: 1_000))
  }

  @Test("what a live read follows stays while it is followed, then goes in its turn")
  func followed() async throws {
    let desk = try await desk(CacheBounds(bytes: .max, queries: 2))
    try await fetch(1, desk)
    let live = desk.tasks.selectAsSequence(readStrategy: .cacheOnly).eq("id", value: 1).snapshots(of: TaskRow.self)
    let query = try #require(ListQuery(live.builder.request))
    let name = ListUses.Name(user: Desk.user, query)
    do {
      var loop = live.makeAsyncIterator()
      _ = try await loop.next()
      for id in 2...4 { try await fetch(id, desk) }
      #expect(try kept(1...4, desk) == [1, 4])
    }
    for await _ in desk.client.store.changes.rings() {
      if !desk.client.store.uses.isHeld(name) { break }
      desk.client.store.changes.ring()
      await Task.yield()
    }
    for id in 5...6 { try await fetch(id, desk) }
    #expect(try kept(1...6, desk) == [5, 6])
  }

  @Test("queued, refused and parked writes, a workspace's rows and the rows of the list on show never go")
  func spared() async throws {
    let desk = try await desk(CacheBounds(bytes: 0, queries: 0))
    let store = desk.client.store
    let mirrored = TableDescription(name: "notes", columns: ["title"])
    try store.transaction(user: Desk.user) { transaction in
      for id in 1...3 as ClosedRange<Int64> {
        let key = RowKey([.number(JSONNumber(id))])
        _ = try transaction.enqueue(.insert(into: "tasks", key: key, values: ["id": .number(JSONNumber(id))]))
        try transaction.setCachedRow(mirrored, key, ["id": .number(JSONNumber(id)), "title": "mine"])
      }
      try transaction.database.execute("UPDATE mutation SET list = 'rejected' WHERE id = 2")
      try transaction.database.execute("UPDATE mutation SET list = 'conflicted' WHERE id = 3")
    }
    for id in 11...14 { try await fetch(id, desk) }
    #expect(try kept(11...14, desk) == [14])
    let counts = try store.read(user: Desk.user) { try $0.counts() }
    #expect([counts.queued, counts.rejected, counts.conflicted] == [1, 1, 1])
    #expect(try store.read(user: Desk.user) { try $0.cachedRowCount("notes") } == 3)
  }

  @Test("when an answer was used is remembered by a client that opens later")
  func remembered() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("state.sqlite")
    let first = try await ClientDesk(path: path) { $0.cacheBounds = CacheBounds(bytes: .max, queries: 2) }
    for id in 1...2 { try await fetch(id, first) }
    try await read(1, first)
    first.client.close()
    let second = try await ClientDesk(path: path) { $0.cacheBounds = CacheBounds(bytes: .max, queries: 2) }
    second.clock.advance(by: .seconds(3_600))
    try await fetch(3, second)
    #expect(try kept(1...3, second) == [1, 3])
  }
}
