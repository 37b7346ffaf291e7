import LosslessJSON
import Randomness
import SupabaseAPI
import Testing

@testable import OfflineEngine

/// Overlay and patches against a model of the server: what is shown is what the server would show after the writes.
@Suite struct ListPropertyTests {
  private static let seeds = 0..<8 * testEffort

  /// A store with the answers to some queries.
  private struct Bench {
    let store: EngineStore
    var server = ModelServer()
    var queries: [(model: ModelServer.Query, query: ListQuery)] = []

    init(_ random: inout SeededRandom) throws {
      store = try EngineStore(path: ":memory:", clock: VirtualClock())
      for id in 0..<Int.random(in: 0...10, using: &random) where !random.once(in: 3) {
        var row = ModelServer.Row(id: id, title: "Row \(id)", done: false, rank: nil, at: id * 3)
        row.set(ModelServer.change(&random))
        server.rows.append(row)
      }
      while queries.count < 8 {
        let model = ModelServer.query(&random)
        guard let query = ListQuery(model.request) else { continue }
        queries.append((model, query))
      }
      try fetch()
    }

    func fetch() throws {
      for (model, query) in queries { try fetch(model, query) }
    }

    func fetch(_ model: ModelServer.Query, _ query: ListQuery) throws {
      let answer = model.answer(server.rows)
      try store.transaction(user: "u") {
        try $0.keep(answer, for: query, ModelServer.table, fetchedAt: $0.now, isStale: false)
      }
    }

    func shown(_ query: ListQuery) throws -> ShownList {
      try #require(try store.read(user: "u") { try $0.shownList(query, ModelServer.table) })
    }
  }

  @Test(arguments: seeds) func `lists that are not stale show what the server shows after accepted writes`(seed: Int)
    throws
  {
    var random = SeededRandom(seed: UInt64(seed))
    var bench = try Bench(&random)
    var exact = 0
    for step in 0..<60 {
      bench.server.clock += 1
      let write = bench.server.write(&random)
      let wrote = bench.server.run(write)
      let returned = write.write.request?.selection.map { text in
        wrote.map { text == "*" ? $0.json : $0.json.picking(["id", "done"]) }
      }
      try bench.store.transaction(user: "u") { try $0.applyAccepted(write.write, ModelServer.table, rows: returned) }
      for (model, query) in bench.queries {
        let shown = try bench.shown(query)
        if shown.isStale {
          try bench.fetch(model, query)
        } else {
          exact += 1
          #expect(shown.rows == model.answer(bench.server.rows), "step \(step), \(write.write), \(query.text)")
        }
        #expect(!shown.hasPendingMutations)
      }
    }
    #expect(exact > 200, "too few lists were followed for the test to mean something")
  }

  @Test(arguments: seeds) func `queued writes show what the server will show after them`(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed + 1_000))
    var bench = try Bench(&random)
    var exact = 0
    for _ in 0..<15 {
      let before = bench.server
      for _ in 0..<Int.random(in: 1...5, using: &random) {
        bench.server.clock += 1
        let write = bench.server.write(&random)
        let isQueueable = write.write.request?.conditions.allSatisfy { $0.columnName != nil } ?? true
        guard isQueueable else { continue }  // No queue holds a group of conditions.
        _ = bench.server.run(write)
        try bench.store.transaction(user: "u") { _ = try $0.enqueue(write.write) }
        for (model, query) in bench.queries {
          let result = try bench.store.read(user: "u") { transaction in
            let list = try #require(try transaction.cachedList(query))
            var editor = ListEditor(
              query, ModelServer.table, rows: try transaction.rows(of: list), limit: list.limit)
            let known = transaction.knownRows(
              besides: query, in: try transaction.cachedLists("tasks", schema: "public"))
            for mutation in try transaction.pendingMutations() { try editor.lay(mutation.write, known: known) }
            return editor.result().isUncertain
          }
          guard !result else { continue }
          exact += 1
          let (shown, expected) = (try bench.shown(query), model.answer(bench.server.rows))
          #expect(shown.rows == expected, "\(write.write), \(query.text)")
          if !shown.hasPendingMutations { #expect(expected == model.answer(before.rows)) }
        }
      }
      try bench.store.transaction(user: "u") { transaction in
        for mutation in try transaction.pendingMutations() { try transaction.remove(mutation.id) }
      }
      try bench.fetch()
    }
    #expect(exact > 50, "too few lists were followed for the test to mean something")
  }
}
