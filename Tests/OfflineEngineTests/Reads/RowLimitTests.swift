import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("A read that meets the project's row limit")
struct RowLimitTests {
  private static func rows(_ ids: ClosedRange<Int>) -> ScriptedExchange.Step {
    .rows("[\(ids.map { #"{"id":\#($0),"title":"T","done":false}"# }.joined(separator: ","))]")
  }

  private func desk(_ steps: [ScriptedExchange.Step], readsOn: Bool = false) async throws -> ReadDesk {
    try await ReadDesk(steps) {
      $0.rowLimit = 3
      $0.readsPastRowLimit = readsOn
    }
  }

  private func key(_ id: Int) -> RowKey { RowKey([.number(JSONNumber(Int64(id)))]) }

  @Test("says so, at once and from the cache, and warns once a table")
  func said() async throws {
    let desk = try await desk([Self.rows(1...3), Self.rows(1...3), Self.rows(1...2)])
    for _ in 0...1 { #expect(try await desk.tasks.select().execute([TaskRow].self).isCut) }
    let kept = try await desk.tasks.select(readStrategy: .cacheOnly).execute([TaskRow].self)
    #expect(kept.isCut && kept.value.count == 3)
    var loop = desk.tasks.selectAsSequence(readStrategy: .cacheOnly).snapshots(of: TaskRow.self).makeAsyncIterator()
    #expect(try await loop.next()?.isCut == true)
    #expect(desk.warnings.all.count == 1)
    #expect(try await !desk.tasks.select().execute([TaskRow].self).isCut)
    #expect(try await loop.next()?.isCut == false)
    desk.check()
  }

  @Test(
    "is one that asked for more, and none that asked for so many",
    arguments: [(nil, 3, true), (3, 3, false), (5, 3, true), (2, 2, false), (nil, 2, false), (5, 2, false)]
      as [(Int?, Int, Bool)])
  func limits(_ limit: Int?, _ count: Int, _ isCut: Bool) async throws {
    let desk = try await desk([Self.rows(1...count)])
    var read = desk.tasks.select()
    read.limit = limit
    #expect(try await read.execute([TaskRow].self).isCut == isCut)
    // As asked for: nothing is added to what the caller said.
    #expect(desk.http.lines.last?.contains("order=") == false)
    #expect(desk.http.lines.last?.contains("limit=") == (limit != nil))
  }

  @Test("is told by a count where one was asked for, and by nothing where there is no limit")
  func counted() async throws {
    let counted = { (range: String) in ScriptedExchange.Step.answer(206, ReadDesk.rows, ["Content-Range": range]) }
    let desk = try await desk([counted("0-0/12"), counted("0-0/1"), counted("11-11/12")])
    #expect(try await desk.tasks.select(count: .exact).execute([TaskRow].self).isCut)
    #expect(try await !desk.tasks.select(count: .exact).execute([TaskRow].self).isCut)
    #expect(try await !desk.tasks.select(count: .exact).offset(11).execute([TaskRow].self).isCut)
    let free = try await ReadDesk([Self.rows(1...2_000)]) { $0.rowLimit = nil }
    #expect(try await !free.tasks.select().execute([TaskRow].self).isCut)
  }

  @Test("is kept as a list that goes on: what leaves it or comes behind its end has it fetched again")
  func goesOn() async throws {
    let desk = try await desk([Self.rows(1...3)])
    let read = desk.tasks.select(readStrategy: .networkOnly).order("id")
    _ = try await read.execute([TaskRow].self)
    let query = try #require(ListQuery(read.request))
    let table = TableDescription(name: "tasks", columns: [])
    let shown = { try desk.client.store.read(user: Desk.user) { try $0.shownList(query, table) } }
    // Behind the end it may be one of those that the server did not give.
    try desk.client.applyServerRecord(table: "tasks", record: TaskRow(id: 9, title: "T"))
    #expect(try shown()?.rows.count == 3 && shown()?.isStale == false)
    // Between the others the last one makes room.
    try await desk.queue(desk.tasks.insert(["id": 0, "title": "T", "done": false]))
    #expect(try shown()?.rows.compactMap { $0["id"] } == [0, 1, 2])
    try desk.client.applyServerDelete(table: "tasks", record: ["id": 2])
    #expect(try shown()?.isStale == true)
  }

  @Test("goes on in pages by the key where it may, whose rows are one list")
  func pages() async throws {
    let desk = try await desk([Self.rows(1...3), Self.rows(4...6), Self.rows(7...8)], readsOn: true)
    let response = try await desk.tasks.select().gt("done", value: 0).execute([TaskRow].self)
    #expect(response.value.map(\.id) == Array(1...8) && !response.isCut)
    #expect(
      desk.http.lines == [
        "GET /rest/v1/tasks?select=%2A&done=gt.0&order=id.asc",
        "GET /rest/v1/tasks?select=%2A&done=gt.0&id=gt.3&order=id.asc",
        "GET /rest/v1/tasks?select=%2A&done=gt.0&id=gt.6&order=id.asc",
      ])
    let kept = try await desk.tasks.select(readStrategy: .cacheOnly).gt("done", value: 0).execute([TaskRow].self)
    #expect(kept.value.count == 8 && !kept.isCut)
    desk.http.add([Self.rows(1...3), Self.rows(4...5)])
    let limited = try await desk.tasks.select("id,title,done").limit(5).offset(2).execute([TaskRow].self)
    #expect(limited.value.count == 5 && !limited.isCut)
    #expect(
      desk.http.lines.suffix(2) == [
        "GET /rest/v1/tasks?select=id%2Ctitle%2Cdone&order=id.asc&limit=5&offset=2",
        "GET /rest/v1/tasks?select=id%2Ctitle%2Cdone&id=gt.3&order=id.asc&limit=2",
      ])
    desk.check()
    #expect(desk.warnings.all.isEmpty)
  }

  @Test("is cut where pages by the key would not be what was asked for")
  func notPaged() async throws {
    let desk = try await desk(Array(repeating: Self.rows(1...3), count: 3), readsOn: true)
    for read in [
      desk.tasks.select().order("title"), desk.tasks.select().order("id", ascending: false),
      desk.tasks.select("title,done"),
    ] {
      let response = try await read.execute()
      #expect(response.isCut)
    }
    #expect(desk.http.lines.allSatisfy { !$0.contains("gt.") })
    // A limit that no answer meets is sent as it was asked for.
    desk.http.add([Self.rows(1...2)])
    _ = try await desk.tasks.select().limit(2).execute()
    #expect(desk.http.lines.last == "GET /rest/v1/tasks?select=%2A&limit=2")
    desk.check()
  }

  @Test("ends at a failure between two pages with nothing kept, and at a server that does not go on")
  func failing() async throws {
    let desk = try await desk([Self.rows(1...3), .error(403, "42501")], readsOn: true)
    await #expect(throws: OfflineError.self) { try await desk.tasks.select().execute([TaskRow].self) }
    await #expect(throws: OfflineError.self) {
      try await desk.tasks.select(readStrategy: .cacheOnly).execute([TaskRow].self)
    }
    desk.http.add([Self.rows(1...3), Self.rows(1...3)])
    #expect(try await desk.tasks.select().execute([TaskRow].self).isCut)
    desk.check()
  }
}
