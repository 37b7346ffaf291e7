import LosslessJSON
import Randomness
import StandInServer
import SupabaseAPI
import Testing

@testable import OfflineEngine

/// A phone against a server: what it shows of its queued writes is what the server shows once they were replayed.
@Suite struct ReplayPropertyTests {
  private static let seeds = 0..<6 * testEffort
  private static let titles = ["Milk", "Bread", "Oat milk", "the plumber", "größer"]

  /// A phone with some lists, and what it may know of the server's rows.
  private struct Trial {
    let phone: Phone
    let queries: [ReadBuilder]
    /// The keys that exist after the writes so far.
    var ids: Set<Int> = []
    var stamp = 0

    init(_ random: inout SeededRandom) async throws {
      let world = try World()
      let session = try await world.signUp("a@example.com")
      phone = try await Phone(world, session)
      let tasks = phone.tasks
      queries = [
        tasks.select().order("id"), tasks.select("id,title,done").eq("done", value: false).order("id"),
        tasks.select().eq("done", value: true).order("created_at", ascending: false).order("id"),
        tasks.select("id,notes").is("notes", value: nil).order("id"), tasks.select("title,done").order("id"),
        tasks.select().order("created_at", ascending: false).order("id").limit(4),
        tasks.select().order("id").range(from: 1, to: 3), tasks.select().in("title", values: ["Milk", "Bread"]),
        tasks.select().or { $0.eq("done", value: true).eq("title", value: "Milk") }.order("id"),
      ]
      let count = Int.random(in: 0...7, using: &random)
      if count > 0 {
        try world.lay(
          (0..<count).map { id in
            row(id, &random).merging([
              "user_id": .string(session.user.id), "updated_at": .string(Self.time(0)),
            ])
          })
      }
      ids = Set(0..<count)
    }

    static func id(_ number: Int) -> String { "00000000-0000-4000-8000-0000000000\(number + 10)" }

    static func time(_ number: Int) -> String { "2026-10-\(number % 18 + 10)T13:00:0\(number / 18 % 10).5+00:00" }

    mutating func row(_ id: Int, _ random: inout SeededRandom) -> JSONObject {
      stamp += 1
      var row: JSONObject = ["id": .string(Self.id(id)), "created_at": .string(Self.time(stamp))]
      row["title"] = .string(titles.randomElement(using: &random) ?? "")
      row["notes"] = random.once(in: 2) ? .null : .string("note \(stamp)")
      row["done"] = .bool(random.once(in: 2))
      return row
    }

    /// Queues a write that the server will take.
    mutating func write(_ random: inout SeededRandom) async throws {
      let builder: WriteBuilder
      let change = row(0, &random)
      let values = Dictionary(
        uniqueKeysWithValues: change.members.filter { ["title", "notes", "done"].contains($0.name) }
          .filter { _ in random.once(in: 2) }.map { ($0.name, $0.value) })
      let known = ids.sorted().randomElement(using: &random)
      switch Int.random(in: 0...7, using: &random) {
      case 0, 1:
        guard let free = (0..<15).filter({ !ids.contains($0) }).randomElement(using: &random) else { return }
        builder = phone.tasks.insert(.object(row(free, &random)))
        ids.insert(free)
      case 2:
        let id = Int.random(in: 0..<15, using: &random)
        builder = phone.tasks.upsert(.object(row(id, &random)))
        ids.insert(id)
      case 3:
        guard let known else { return }
        builder = phone.tasks.delete().eq("id", value: Self.id(known))
        ids.remove(known)
      case 4 where !values.isEmpty:
        builder = phone.tasks.update(values).eq("done", value: random.once(in: 2))
      default:
        guard let known, !values.isEmpty else { return }
        builder = phone.tasks.update(values).eq("id", value: Self.id(known))
      }
      #expect(try await builder.execute().isQueued)
    }

    func read(_ query: ReadBuilder, _ strategy: ReadStrategy) async throws -> OfflineResponse<Rows> {
      var read = phone.tasks.select(query.selection, readStrategy: strategy)
      (read.conditions, read.order, read.limit, read.offset) = (
        query.conditions, query.order, query.limit, query.offset
      )
      return try await read.execute(Rows.self)
    }

    /// Whether the phone can tell what the server will show of a query.
    func isCertain(_ query: ReadBuilder) throws -> Bool {
      let list = try #require(ListQuery(query.request))
      let table = phone.client.description(list)
      return try phone.client.reading { transaction in
        guard let kept = try transaction.cachedList(list), !kept.isStale else { return false }
        var editor = ListEditor(list, table, rows: try transaction.rows(of: kept), limit: kept.limit)
        let known = transaction.knownRows(besides: list, in: try transaction.cachedLists("tasks", schema: "public"))
        for mutation in try transaction.pendingMutations() { try editor.lay(mutation.write, known: known) }
        return !editor.result().isUncertain
      }
    }
  }

  /// Whether rows are those that the server shows, but for the columns that it sets itself.
  private static func agree(_ rows: [OfflineJSON], _ server: [OfflineJSON], _ query: ReadBuilder) -> Bool {
    func ordered(_ rows: [OfflineJSON]) -> [JSONObject] {
      let rows = rows.compactMap(\.objectValue)
      // Where nothing says in which order, any is right.
      return query.order.isEmpty ? rows.sorted { $0["id"]?.stringValue ?? "" < $1["id"]?.stringValue ?? "" } : rows
    }
    return rows.count == server.count
      && zip(ordered(rows), ordered(server)).allSatisfy { row, server in
        row.members.allSatisfy { $0.name == "updated_at" || server[$0.name] == $0.value }
      }
  }

  private static func text(_ rows: [OfflineJSON]) -> String {
    rows.map { row in
      row.objectValue.map { $0.members.filter { $0.name != "updated_at" && $0.name != "user_id" } }.map { members in
        members.map { "\($0.name)=\($0.value.serialized().suffix(6))" }.joined(separator: ",")
      } ?? ""
    }.joined(separator: " | ")
  }

  @Test func `a row that was deleted here although it had moved elsewhere is gone from every list`() async throws {
    let world = try World()
    let session = try await world.signUp("a@example.com")
    let phone = try await Phone(world, session)
    let row: JSONObject = ["id": .string(Trial.id(1)), "user_id": .string(session.user.id), "title": "Milk"]
    try world.lay([row])
    #expect(try await phone.read().count == 1)
    try world.change(RowKey(Trial.id(1)), ["title": "Oat milk"])
    try await phone.offline { $0.delete().eq("id", value: Trial.id(1)) }
    #expect(try await phone.sync().conflictsResolved == 1)
    #expect(try world.rows().isEmpty)
    #expect(try await phone.read("*", .cacheOnly).isEmpty)
  }

  @Test(arguments: seeds) func `what is shown of queued writes is what the server shows after them`(seed: Int)
    async throws
  {
    var random = SeededRandom(seed: UInt64(seed + 9_000))
    var trial = try await Trial(&random)
    var compared = 0
    for round in 0..<8 {
      for query in trial.queries { _ = try await trial.read(query, .networkOnly) }
      trial.phone.client.disableNetwork()
      for _ in 0...Int.random(in: 0...5, using: &random) { try await trial.write(&random) }
      var shown: [(rows: [OfflineJSON], isCertain: Bool)] = []
      for query in trial.queries {
        shown.append((try await trial.read(query, .cacheOnly).value.rows, try trial.isCertain(query)))
      }
      let writes = try trial.phone.client.pendingMutationList().map { mutation in
        let conditions = mutation.write.request?.conditions.map { "\($0)" } ?? []
        return "\(mutation.operation.rawValue) \(mutation.body?.serialized() ?? "") \(mutation.rowKeys) \(conditions)"
      }
      trial.phone.client.enableNetwork()
      let report = try await trial.phone.sync()
      #expect(report.stoppedBy == nil && report.remaining == 0 && report.rejected.isEmpty, "\(report)")
      for (number, query) in trial.queries.enumerated() {
        // The lists that the replay patched, then the server's own word.
        let isStale = try trial.phone.client.reading { try $0.cachedList(#require(ListQuery(query.request)))?.isStale }
        let patched = try await trial.read(query, .cacheOnly).value.rows
        let fresh = try await trial.read(query, .networkOnly).value.rows
        let text = "round \(round), \(query.request.description), order \(query.order.map(\.column)), after \(writes)"
        if isStale == false {
          #expect(
            Self.agree(patched, fresh, query),
            "patched, \(text): \(Self.text(patched)) instead of \(Self.text(fresh))")
        }
        guard shown[number].isCertain else { continue }
        compared += 1
        let rows = shown[number].rows
        #expect(
          Self.agree(rows, fresh, query), "shown, \(text): \(Self.text(rows)) instead of \(Self.text(fresh))")
      }
    }
    #expect(compared > 15, "too few lists were compared for the test to mean something")
  }
}
