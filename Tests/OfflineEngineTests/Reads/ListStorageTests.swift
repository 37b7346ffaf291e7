import LosslessJSON
import Randomness
import SQLite
import SupabaseAPI
import Testing

@testable import OfflineEngine

/// The kept lists against a plain model: an array of rows for each query, edited as a whole.
@Suite struct ListStorageTests {
  private static let seeds = 0..<12 * testEffort

  /// A list as the model holds it.
  private struct Plain {
    var rows: [JSONObject]
    var fetched: Int
    /// Whether the model and the store may show different things until the next answer.
    var isDoubtful = false
    var limit: Int?
  }

  /// A store beside its model.
  private struct Pair {
    let store: EngineStore
    let clock = VirtualClock()
    var server = ModelServer()
    var queries: [(model: ModelServer.Query, query: ListQuery)] = []
    var plain: [String: Plain] = [:]
    var fetches = 0

    init(_ random: inout SeededRandom) throws {
      store = try EngineStore(path: ":memory:", clock: clock)
      while queries.count < 7 {
        let model = ModelServer.query(&random)
        guard let query = ListQuery(model.request) else { continue }
        queries.append((model, query))
      }
    }

    // MARK: What happens

    mutating func refresh(_ index: Int, cut: Int?) throws {
      let (model, query) = queries[index]
      clock.advance(by: .seconds(1))
      var answer = model.answer(server.rows)
      var cutAt: Int?
      if let cut, answer.count > cut {
        answer = Array(answer.prefix(cut))
        cutAt = cut
      }
      let (kept, cutTo) = (answer, cutAt)
      try store.transaction(user: "u") {
        try $0.keep(kept, for: query, ModelServer.table, fetchedAt: $0.now, isStale: false, cutAt: cutTo)
      }
      fetches += 1
      plain[query.text] = Plain(rows: kept, fetched: fetches, limit: query.limit(cutAt: cutTo))
    }

    mutating func accept(_ write: Write, returned: [JSONObject]?) throws {
      try store.transaction(user: "u") { try $0.applyAccepted(write, ModelServer.table, rows: returned) }
      try edit { try $0.lay(write, returned: returned, known: $1) }
    }

    mutating func report(_ record: JSONObject) throws {
      try store.transaction(user: "u") { try $0.applyReported(ModelServer.table, record) }
      guard let key = ModelServer.table.key(of: record)?.identity else { return }
      try edit { try $0.show(key, record, known: $1) }
    }

    mutating func reportGone(_ key: RowKey) throws {
      try store.transaction(user: "u") { try $0.applyServerRow(ModelServer.table, key, nil, keepsVersion: false) }
      try edit { try $0.show(key.identity, nil, known: $1) }
    }

    mutating func evict(sparing index: Int, queries count: Int) throws {
      let spared = queries[index].query
      try store.transaction(user: "u") { try $0.bound(CacheBounds(bytes: .max, queries: count), sparing: spared) }
      let oldest = plain.sorted { $0.value.fetched < $1.value.fetched }.map(\.key).filter { $0 != spared.text }
      for text in oldest.prefix(max(0, plain.count - count)) { plain[text] = nil }
    }

    private mutating func edit(_ body: (inout ListEditor, KnownRows) throws -> Void) throws {
      var next = plain
      for (_, query) in queries {
        guard let list = plain[query.text] else { continue }
        var editor = ListEditor(query, ModelServer.table, rows: rows(list, query), limit: list.limit)
        try body(&editor, known(besides: query))
        let result = editor.result()
        next[query.text]?.rows = result.rows.map(\.row)
        if result.isUncertain { next[query.text]?.isDoubtful = true }
      }
      plain = next
    }

    private func rows(_ list: Plain, _ query: ListQuery) -> [ListRow] {
      list.rows.enumerated().map { place, row in
        let key = query.showsKey(of: ModelServer.table) ? ModelServer.table.key(of: row)?.identity : nil
        return ListRow(place: Int64(place), key: key, row: row)
      }
    }

    private func known(besides query: ListQuery) -> KnownRows {
      let others = queries.filter { other in
        other.query != query && plain[other.query.text] != nil
          && query.selection.isCovered(by: other.query.selection)
      }.sorted { plain[$0.query.text]?.fetched ?? 0 > plain[$1.query.text]?.fetched ?? 0 }
      let all = others.flatMap { other in plain[other.query.text].map { rows($0, other.query) } ?? [] }
      var seen: Set<String> = []
      let first = all.compactMap { row in row.key.map { (key: $0, row: row.row) } }
        .filter { seen.insert($0.key).inserted }
      return KnownRows(row: { key in first.first { $0.key == key }?.row }, all: { first })
    }

    // MARK: What must hold

    /// - Returns: How many lists could be compared.
    mutating func check(_ what: String) throws -> Int {
      var compared = 0
      for index in queries.indices {
        let query = queries[index].query
        let (list, rows) = try store.read(user: "u") { transaction in
          let list = try transaction.cachedList(query)
          return (list, try list.map(transaction.rows(of:)))
        }
        guard let expected = plain[query.text] else {
          #expect(list == nil, "\(what): \(query.text)")
          continue
        }
        #expect(list?.count == rows?.count)
        if expected.isDoubtful || list?.isStale ?? true {
          try refresh(index, cut: nil)
        } else {
          compared += 1
          #expect(rows?.map(\.row) == expected.rows, "\(what): \(query.text)")
        }
      }
      try checkTables()
      return compared
    }

    /// Checks that counts are true and that nothing is left of what is gone.
    private func checkTables() throws {
      let faults = [
        """
        SELECT count(*) AS n FROM cached_list AS list
        WHERE row_count <> (SELECT count(*) FROM list_member WHERE list_id = list.id)
        """,
        "SELECT count(*) AS n FROM list_row WHERE id NOT IN (SELECT row_id FROM list_member)",
        "SELECT count(*) AS n FROM list_member WHERE row_id NOT IN (SELECT id FROM list_row)",
        "SELECT count(*) AS n FROM list_shape WHERE id NOT IN (SELECT shape_id FROM cached_list)",
        """
        SELECT coalesce(sum(bytes), 0) - (SELECT coalesce(sum(length(CAST(body AS BLOB))), 0) FROM list_row) AS n
        FROM list_shape
        """,
      ]
      for fault in faults {
        let found = try store.read(user: "u") { try $0.database.first(fault)?.integer("n") }
        #expect(found == 0, "\(fault)")
      }
    }
  }

  @Test(arguments: seeds) func `lists kept row by row are what lists kept as wholes would be`(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed + 5_000))
    var pair = try Pair(&random)
    var compared = 0
    for step in 0..<80 {
      pair.server.clock += 1
      var what = ""
      switch Int.random(in: 0...9, using: &random) {
      case 0, 1:
        // Other devices write, too, and are seen by a refresh alone.
        for _ in 0...Int.random(in: 0...3, using: &random) { _ = pair.server.run(pair.server.write(&random)) }
        let cut = random.once(in: 4) ? Int.random(in: 1...5, using: &random) : nil
        try pair.refresh(Int.random(in: pair.queries.indices, using: &random), cut: cut)
        what = "refresh"
      case 2 where !pair.server.rows.isEmpty:
        let row = pair.server.rows[Int.random(in: pair.server.rows.indices, using: &random)]
        try pair.report(row.json)
        what = "report \(row.json)"
      case 3:
        let id = Int.random(in: 0...14, using: &random)
        pair.server.rows.removeAll { $0.id == id }
        try pair.reportGone(RowKey([.number(JSONNumber(Int64(id)))]))
        what = "gone \(id)"
      case 4 where random.once(in: 3):
        try pair.evict(
          sparing: Int.random(in: pair.queries.indices, using: &random), queries: Int.random(in: 0...5, using: &random))
        what = "evict"
      default:
        let write = pair.server.write(&random)
        let wrote = pair.server.run(write)
        let returned = write.write.request?.selection.map { text in
          wrote.map { text == "*" ? $0.json : $0.json.picking(["id", "done"]) }
        }
        try pair.accept(write.write, returned: returned)
        what = "\(write.write)"
      }
      compared += try pair.check("step \(step), \(what)")
    }
    #expect(compared > 40, "too few lists were compared for the test to mean something")
  }

  // MARK: What is written

  private static let table = TableDescription(name: "tasks", columns: [])

  private static func row(_ id: Int64, _ title: String = "Title") -> JSONObject {
    ["id": .number(JSONNumber(id)), "title": .string(title)]
  }

  private static func query(_ filters: [Filter] = [], order: [Order] = []) throws -> ListQuery {
    try #require(ListQuery(TableRequest.select("tasks", filters: filters, order: order)))
  }

  /// How many rows of the database a change writes.
  private func writes(_ store: EngineStore, _ body: (EngineTransaction) throws -> Void) throws -> Int64 {
    try store.transaction(user: "u") { transaction in
      let before = transaction.database.totalChanges
      try body(transaction)
      return transaction.database.totalChanges - before
    }
  }

  private func keep(_ rows: [JSONObject], _ query: ListQuery) -> (EngineTransaction) throws -> Void {
    { try $0.keep(rows, for: query, Self.table, fetchedAt: $0.now, isStale: false) }
  }

  @Test func `an answer writes what it changed of the last one, not the list`() throws {
    let store = try EngineStore(path: ":memory:", clock: VirtualClock())
    let query = try Self.query()
    var rows = (0..<500 as Range<Int64>).map { Self.row($0) }
    #expect(try writes(store, keep(rows, query)) > 1_000)
    #expect(try writes(store, keep(rows, query)) == 1, "the time alone")
    rows[250] = Self.row(250, "Other")
    rows.remove(at: 100)
    rows.insert(Self.row(900), at: 400)
    rows.insert(rows.remove(at: 5), at: 300)
    #expect(try writes(store, keep(rows, query)) < 20)
    let shown = try store.read(user: "u") { try $0.shownList(query, Self.table) }
    #expect(shown?.rows == rows)
  }

  @Test func `lists that show a row alike share it, and one that was fetched later does not change the others`() throws
  {
    let store = try EngineStore(path: ":memory:", clock: VirtualClock())
    let (all, some) = (try Self.query(), try Self.query([.gt("id", 10)]))
    let rows = (0..<100 as Range<Int64>).map { Self.row($0) }
    try store.transaction(user: "u", keep(rows, all))
    try store.transaction(user: "u", keep(Array(rows[11...]), some))
    let stored = { try store.read(user: "u") { try $0.database.first("SELECT count(*) AS n FROM list_row") } }
    #expect(try stored()?.integer("n") == 100)
    let write = Write.update("tasks", key: RowKey([50]), values: ["title": "Other"], base: nil)
    #expect(
      try writes(store) { try $0.applyAccepted(write, Self.table, rows: nil) } <= 3,
      "the row, the bytes of all rows and the table's number")
    #expect(try stored()?.integer("n") == 100)
    var later = Array(rows[11...])
    later[0] = Self.row(11, "Later")
    later[39] = Self.row(50, "Other")
    try store.transaction(user: "u", keep(later, some))
    #expect(try stored()?.integer("n") == 101)
    let shown = { (query: ListQuery) in try store.read(user: "u") { try $0.shownList(query, Self.table)?.rows } }
    #expect(try shown(some) == later)
    #expect(try shown(all)?[11] == Self.row(11))
    #expect(try shown(all)?[50] == Self.row(50, "Other"))
  }

  private static func ranked(_ id: Int64, _ rank: Int) -> JSONObject {
    ["id": .number(JSONNumber(id)), "rank": .number(JSONNumber(Int64(rank)))]
  }

  private static func upsert(_ rows: [JSONObject]) -> Write {
    var write = Write.insert(into: "tasks", key: RowKey([]), values: [:])
    write.operation = .upsert
    write.request = WriteRequest()
    write.request?.rows = rows
    write.request?.rowKeys = rows.compactMap(table.key)
    return write
  }

  @Test func `rows that pass others on their way to new places leave the rest in order`() throws {
    let store = try EngineStore(path: ":memory:", clock: VirtualClock())
    let query = try Self.query(order: [Order("rank")])
    let rows = (0..<30 as Range<Int64>).map { Self.ranked($0, Int($0) * 10) }
    try store.transaction(user: "u", keep(rows, query))
    // The first passes eighteen rows, the second one of those beside which the first comes to stand.
    let write = Self.upsert([Self.ranked(1, 205), Self.ranked(20, 185)])
    try store.transaction(user: "u") { try $0.applyAccepted(write, Self.table, rows: nil) }
    let shown = try store.read(user: "u") { try $0.shownList(query, Self.table) }
    let numbers = shown?.rows.compactMap { $0["id"]?.numberValue?.int64 }
    #expect(numbers == [0] + (2...18) + [20, 19, 1] + (21...29))
    #expect(shown?.isStale == false)
  }

  @Test(arguments: seeds) func `rows of a long list stand where their order says, however many move at once`(seed: Int)
    throws
  {
    var random = SeededRandom(seed: UInt64(seed + 7_000))
    let store = try EngineStore(path: ":memory:", clock: VirtualClock())
    let query = try Self.query(order: [Order("rank"), Order("id")])
    var ranks = Dictionary(uniqueKeysWithValues: (0..<70 as Range<Int64>).map { ($0, Int($0) * 3) })
    func expected() -> [JSONObject] {
      ranks.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map { Self.ranked($0.key, $0.value) }
    }
    try store.transaction(user: "u", keep(expected(), query))
    for step in 0..<60 {
      var moved: [JSONObject] = []
      for id in Set((0..<Int.random(in: 1...5, using: &random)).map { _ in Int64.random(in: 0..<90, using: &random) })
        .sorted()
      {
        let near = (ranks[id] ?? 100) + Int.random(in: -9...9, using: &random)
        ranks[id] = random.once(in: 2) ? near : Int.random(in: 0...210, using: &random)
        moved.append(Self.ranked(id, ranks[id] ?? 0))
      }
      let write = Self.upsert(moved)
      try store.transaction(user: "u") { try $0.applyAccepted(write, Self.table, rows: nil) }
      let shown = try store.read(user: "u") { try $0.shownList(query, Self.table) }
      #expect(shown?.rows == expected(), "step \(step): \(moved)")
      #expect(shown?.isStale == false)
    }
  }

  @Test func `a row that comes into the middle of a long list is found its place without a look at the others`() throws
  {
    let store = try EngineStore(path: ":memory:", clock: VirtualClock())
    let query = try Self.query(order: [Order("id")])
    let rows = (0..<3_000 as Range<Int64>).map { Self.row($0 * 2) }
    try store.transaction(user: "u", keep(rows, query))
    let insert = Write.insert(into: "tasks", key: RowKey([1_001]), values: Self.row(1_001))
    #expect(try writes(store) { try $0.applyAccepted(insert, Self.table, rows: [Self.row(1_001)]) } < 10)
    let shown = try store.read(user: "u") { try $0.shownList(query, Self.table)?.rows }
    #expect(shown == Array(rows[...500]) + [Self.row(1_001)] + Array(rows[501...]))
  }
}
