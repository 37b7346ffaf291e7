import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite struct QueryCacheTests {
  private static let table = TableDescription(name: "tasks", versionColumn: "updated_at", columns: [])
  private static let (early, late) = ("2026-10-18T13:00:00.5+00:00", "2026-10-18T14:00:00.5+00:00")

  private let store: EngineStore

  init() throws { store = try EngineStore(path: ":memory:", clock: VirtualClock()) }

  private static func row(_ id: Int64, _ title: String, done: Bool = false, at version: String = early) -> JSONObject {
    [
      "id": .number(JSONNumber(id)), "title": .string(title), "done": .bool(done), "updated_at": .string(version),
    ]
  }

  private static func key(_ id: Int64) -> RowKey { RowKey([.number(JSONNumber(id))]) }

  private func keep(_ rows: [JSONObject], columns: [String]? = nil, _ filters: [Filter] = []) throws -> ListQuery {
    let query = try #require(ListQuery(TableRequest.select("tasks", columns: columns, filters: filters)))
    try store.transaction(user: "u") {
      try $0.keep(rows, for: query, Self.table, fetchedAt: $0.now, isStale: false)
    }
    return query
  }

  private func shown(_ query: ListQuery) throws -> ShownList {
    try #require(try store.read(user: "u") { try $0.shownList(query, Self.table) })
  }

  private func change(_ body: (EngineTransaction) throws -> Void) throws { try store.transaction(user: "u", body) }

  private static func update(_ id: Int64, _ values: JSONObject, _ others: [Filter] = []) -> Write {
    var write = Write.update("tasks", key: key(id), values: values, base: nil)
    write.request = WriteRequest()
    write.request?.conditions = [.eq("id", .number(JSONNumber(id)))] + others
    write.request?.rowKeys = [key(id)]
    return write
  }

  // MARK: Accepted writes

  @Test func `an insert keeps the columns it wrote beside those that the server gave back`() throws {
    let list = try keep([Self.row(1, "Milk")])
    let write = Write.insert(into: "tasks", key: Self.key(2), values: ["id": 2, "title": "Bread", "done": true])
    try change { try $0.applyAccepted(write, Self.table, rows: [["id": 2, "updated_at": .string(Self.late)]]) }
    #expect(try shown(list).rows == [Self.row(1, "Milk"), Self.row(2, "Bread", done: true, at: Self.late)])
  }

  @Test func `an update that asked for its rows changes those alone, and none when it got none`() throws {
    let list = try keep([Self.row(1, "Milk"), Self.row(2, "Bread")])
    var write = Self.update(1, ["done": true])
    write.key = RowKey([JSONValue]())
    write.request?.conditions = [.eq("done", false)]
    write.request?.selection = "id"
    let made = write
    try change { try $0.applyAccepted(made, Self.table, rows: []) }
    #expect(try shown(list).rows.allSatisfy { $0["done"] == false })
    try change { try $0.applyAccepted(made, Self.table, rows: [["id": 2]]) }
    #expect(try shown(list).rows.map { $0["done"] } == [false, true])
  }

  @Test func `an upsert is merged by its conflict columns`() throws {
    let list = try keep([Self.row(1, "Milk"), Self.row(2, "Bread")])
    var write = Write.insert(into: "tasks", key: RowKey([JSONValue]()), values: ["title": "Bread", "done": true])
    write.operation = .upsert
    write.request = WriteRequest()
    write.request?.conflictColumns = ["title"]
    let made = write
    try change { try $0.applyAccepted(made, Self.table, rows: nil) }
    #expect(try shown(list).rows == [Self.row(1, "Milk"), Self.row(2, "Bread", done: true)])
  }

  @Test func `an update takes a row from the list it leaves to the list it comes into`() throws {
    let open = try keep([Self.row(1, "Milk")], [.eq("done", false)])
    let done = try keep([], [.eq("done", true)])
    let names = try keep([["id": 1, "title": "Milk"]], columns: ["id", "title"], [.eq("done", false)])
    let write = Self.update(1, ["done": true])
    try change { _ = try $0.enqueue(write) }
    for _ in 0...1 {  // First as a queued write, then as one that the server has.
      #expect(try shown(open).rows.isEmpty && shown(names).rows.isEmpty)
      #expect(try shown(done).rows == [Self.row(1, "Milk", done: true)])
      try change { transaction in
        for mutation in try transaction.pendingMutations() { try transaction.remove(mutation.id) }
        try transaction.applyAccepted(write, Self.table, rows: nil)
      }
    }
    #expect(try !shown(open).hasPendingMutations)
  }

  @Test func `a list that a write may have changed in a way nobody here can tell is marked, and left as it is`() throws
  {
    let pattern = Filter.written("title", operator: "match", operand: "^M")
    let (all, some) = (try keep([Self.row(1, "Milk")]), try keep([Self.row(1, "Milk")], [pattern]))
    try change { try $0.applyAccepted(Self.update(1, ["title": "Tea"]), Self.table, rows: nil) }
    #expect(
      try shown(all)
        == ShownList(
          rows: [Self.row(1, "Tea")], fetchedAt: shown(all).fetchedAt, isStale: false, hasPendingMutations: false))
    #expect(try shown(some).isStale)
    try change { try $0.applyAccepted(Self.update(1, ["done": true], [pattern]), Self.table, rows: nil) }
    #expect(try shown(all).isStale && shown(all).rows == [Self.row(1, "Tea")])
  }

  // MARK: What a queue records

  @Test func `a base is the version of a cached copy with its values of the columns`() throws {
    let key = Self.key(1)
    _ = try keep([["id": 1, "title": "Milk"]], columns: ["id", "title"])
    #expect(try store.read(user: "u") { try $0.cachedBase(Self.table, key, columns: ["title"]) } == nil)
    _ = try keep([Self.row(1, "Milk")])
    #expect(
      try store.read(user: "u") { try $0.cachedBase(Self.table, key, columns: ["title", "notes"]) }
        == WriteBase(values: ["title": "Milk"], version: Self.early))
    #expect(try store.read(user: "other") { try $0.cachedBase(Self.table, key, columns: ["title"]) } == nil)
  }

  // MARK: What the server shows

  @Test func `a row shown for a write that did not stand keeps the version this device saw`() throws {
    let list = try keep([Self.row(1, "Milk")])
    try change {
      try $0.applyServerRow(
        Self.table, Self.key(1), ["id": 1, "title": "Tea", "updated_at": .string(Self.late)], keepsVersion: true)
    }
    #expect(try shown(list).rows == [Self.row(1, "Tea")])
    try change { try $0.applyServerRow(Self.table, Self.key(1), nil, keepsVersion: true) }
    #expect(try shown(list).rows.isEmpty)
  }

  @Test func `a report enters the lists it belongs to and moves no base`() throws {
    let (open, done) = (try keep([Self.row(1, "Milk")], [.eq("done", false)]), try keep([], [.eq("done", true)]))
    var write = Self.update(1, ["title": "Tea"])
    write.base = WriteBase(values: ["title": "Milk"], version: Self.early)
    let made = write
    try change { _ = try $0.enqueue(made) }
    try change { try $0.applyReported(Self.table, Self.row(1, "Elsewhere", done: true, at: Self.late)) }
    #expect(try shown(open).rows.isEmpty)
    #expect(try shown(done).rows == [Self.row(1, "Tea", done: true, at: Self.late)])
    #expect(try store.read(user: "u") { try $0.pendingMutations() }.first?.write.base == made.base)
  }

  @Test func `a report older than what is held, or of an age nobody can tell, has the lists fetched again`() throws {
    let list = try keep([Self.row(1, "Milk", at: Self.late)])
    try change { try $0.applyReported(Self.table, Self.row(1, "Old", at: Self.early)) }
    #expect(try shown(list).isStale && shown(list).rows == [Self.row(1, "Milk", at: Self.late)])
    let marks = try keep([Self.row(1, "Milk", at: "a")])
    try change { try $0.applyReported(Self.table, Self.row(1, "Tea", at: "b")) }
    #expect(try shown(marks).isStale && shown(marks).rows == [Self.row(1, "Tea", at: "b")])
  }

  // MARK: Texts and places

  @Test(
    arguments: [
      ("*", true, [], []), ("id,title", false, ["id", "title"], []),
      (#""odd name",id"#, false, ["odd name", "id"], []),
      ("id,name:title", false, ["id"], ["name", "title"]), ("*,photos(id,path)", true, [], ["photos"]),
      ("id,done::text", false, ["id"], ["done", "text"]), ("id,data->>kind", false, ["id"], ["data", "kind"]),
    ] as [(String, Bool, [String], Set<String>)])
  func `a selection is followed as far as its members are columns`(
    text: String, isAll: Bool, columns: [String], computed: Set<String>
  ) {
    let selection = Selection(text: text)
    #expect(selection.isAll == isAll)
    #expect(selection.columns == columns)
    #expect(selection.computed == computed)
  }

  @Test func `a query is read back from its text as it was`() throws {
    var request = TableRequest.select(
      "tasks", columns: ["id", "title"],
      filters: [
        .eq("done", false), .in("rank", [1, 2]), .is("notes", .null), .not("rank", .oneOf([3])),
        .path("data->>kind", .value(.equal, "a")), .written("title", operator: "ilike", operand: "%milk%"),
        .group(.or, [.gt("rank", 1), .and([.lt("rank", 0), .neq("title", "x")])], isNegated: true),
      ], order: [Order("rank", .descending, nulls: .last), Order("id")], limit: 10, offset: 20)
    let query = try #require(ListQuery(request))
    let again = try #require(ListQuery(schema: "public", table: "tasks", text: query.text))
    #expect(again == query)
    #expect(again.conditions == request.filters && again.order == request.order)
    request.columns = nil
    request.selection = "id,title"
    #expect(ListQuery(request) == query, "one selection in two ways of saying it is one query")
  }

  @Test func `rows put one before the other without end stay in their order`() throws {
    let query = try #require(ListQuery(TableRequest.select("tasks", order: [Order("rank")])))
    let row = { (id: Int64, rank: Double) -> JSONObject in
      ["id": .number(JSONNumber(id)), "rank": .number(JSONNumber("\(rank)") ?? 0)]
    }
    try change {
      try $0.keep([row(1, 0), row(2, 1e9)], for: query, Self.table, fetchedAt: $0.now, isStale: false)
    }
    var rank = 1e9
    for id in 3...400 as ClosedRange<Int64> {
      rank *= 0.9
      let values = row(id, rank)
      try change {
        try $0.applyAccepted(.insert(into: "tasks", key: Self.key(id), values: values), Self.table, rows: nil)
      }
    }
    let numbers = try shown(query).rows.compactMap { $0["id"]?.numberValue?.int64 }
    #expect(numbers == [1] + (3...400).reversed() + [2])
  }
}
