import LosslessJSON
import Randomness
import StandInServer
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("Writes in one request")
struct BulkReplayTests {
  /// What one play of a queue came to, as a person and the server see it.
  struct Outcome: Equatable {
    /// The server's rows in the order in which they were made.
    var tasks: [JSONValue] = []
    var labels: [JSONValue] = []
    var rejected: [[String]] = []
    var conflicted: [[String]] = []
    var cached: [JSONObject?] = []
    var counts = Counts()
  }

  private static let tasks = TableDescription(
    name: "tasks", versionColumn: "version", columns: ["title", "notes", "done", "code", "rank"])
  private static let labels = TableDescription(name: "labels", versionColumn: "version", columns: ["task_id", "name"])

  private static func schema() throws -> Schema {
    try Schema(
      parsing: """
        {"tables": {
          "tasks": {
            "columns": [
              {"name": "id", "type": "uuid", "notNull": true},
              {"name": "user_id", "type": "uuid", "notNull": true, "default": {"function": "auth.uid"}},
              {"name": "title", "type": "text", "notNull": true,
               "check": {"name": "tasks_title_not_blank", "notBlank": true}},
              {"name": "notes", "type": "text", "default": "none"},
              {"name": "done", "type": "boolean", "notNull": true, "default": false},
              {"name": "code", "type": "text"},
              {"name": "rank", "type": "int4", "default": 3},
              {"name": "version", "type": "int8", "notNull": true, "default": 1}
            ],
            "primaryKey": ["id"], "unique": [["code"]], "owner": "user_id",
            "version": {"column": "version", "kind": "integer"}
          },
          "labels": {
            "columns": [
              {"name": "id", "type": "uuid", "notNull": true},
              {"name": "user_id", "type": "uuid", "notNull": true, "default": {"function": "auth.uid"}},
              {"name": "task_id", "type": "uuid", "notNull": true},
              {"name": "name", "type": "text"},
              {"name": "version", "type": "int8", "notNull": true, "default": 1}
            ],
            "primaryKey": ["id"], "owner": "user_id", "version": {"column": "version", "kind": "integer"},
            "foreignKeys": [
              {"columns": ["task_id"], "references": {"table": "tasks", "columns": ["id"]}, "onDelete": "restrict"}
            ]
          }
        }}
        """)
  }

  // MARK: Against one by one

  /// Rows that are there before the queue is made.
  private static let old = 1...24
  /// Keys that the queue makes rows under.
  private static let new = 100...130

  /// Plays the queue of a seed, in which others' changes meet it, until nothing waits.
  ///
  /// - Parameter fails: Whether network and server fail in every way they know meanwhile.
  private func play(_ seed: UInt64, writesInOneRequest: Int, fails: Bool) async throws -> Outcome {
    var random = SeededRandom(seed: seed)
    let world = try World(schema: Self.schema())
    let session = try await world.signUp("a@example.com")
    let stranger = try await world.signUp("b@example.com")
    func task(_ number: Int, owner: Session, _ values: JSONObject = [:]) -> JSONObject {
      let row: JSONObject = ["id": key(number).values[0], "user_id": .string(owner.user.id), "title": "old"]
      return row.merging(values)
    }
    try world.lay(Self.old.map { task($0, owner: session, ["code": .string("c\($0)"), "notes": "n"]) })
    let replica = try world.replica(
      session, tables: [Self.tasks, Self.labels],
      resolver: random.pick([
        ConflictResolvers.holdDisagreements, ConflictResolvers.lastWriteWins,
      ]), writesInOneRequest: writesInOneRequest)
    try await replica.pull()

    func label(_ number: Int, of task: Int) -> JSONObject {
      ["id": key(1_000 + number).values[0], "user_id": .string(session.user.id), "task_id": key(task).values[0]]
    }
    // What others did meanwhile: rows moved, went, hang on others, changed hands, or lie under keys that are made here.
    for number in Self.old where random.once(in: 3) {
      switch Int.random(in: 0..<5, using: &random) {
      case 0: try world.change(key(number), ["title": .string("theirs \(number)")])
      case 1: try world.change(key(number), ["rank": 9])
      case 2: try world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(number).text)")
      case 3: try world.admin("POST", "/rest/v1/labels", .object(label(number, of: number)))
      default: try world.change(key(number), ["user_id": .string(stranger.user.id)])
      }
    }
    for number in Self.new where random.once(in: 6) {
      try world.lay([
        task(
          number, owner: random.once(in: 2) ? session : stranger,
          ["title": random.pick(["same", "other"]), "notes": random.pick(["same", "other"])])
      ])
    }

    // The queue: runs of inserts with different columns, runs of deletes, and other writes between.
    var inserts = Self.new.makeIterator()
    var deletes = Self.old.shuffled(using: &random).makeIterator()
    var labels = 100
    for _ in 0..<Int.random(in: 2...6, using: &random) {
      let length = Int.random(in: 1...9, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1:
        for _ in 0..<length {
          guard let number = inserts.next() else { break }
          var row: JSONObject = ["title": .string(random.once(in: 8) ? " " : "same")]
          if random.once(in: 2) { row["notes"] = random.pick(["same", .null]) }
          if random.once(in: 3) { row["code"] = .string("c\(Int.random(in: 1...40, using: &random))") }
          if random.once(in: 3) { row["rank"] = random.once(in: 3) ? "no number" : 5 }
          try replica.insert(key(number), row)
        }
      case 2, 3:
        for _ in 0..<length {
          guard let number = deletes.next() else { break }
          try replica.delete(key(number))
        }
      default:
        let number = random.pick(Array(Self.old) + [100, 101])
        if try replica.row(key(number)).values != nil {
          try replica.update(key(number), ["title": .string("mine \(number)")])
        }
        labels += 1
        let row = label(labels, of: random.pick(Array(Self.old) + [102, 103]))
        try replica.client.transaction {
          _ = try $0.enqueue(.insert(into: "labels", key: key(1_000 + labels), values: row))
        }
      }
    }

    // Not an old schema cache: the other tables' writes pass by then, so the order hangs on when it happens.
    let kinds: [StandInFault.Kind] = [
      .dropBefore, .dropAfter, .truncate, .unavailable(retryAfter: 1), .expiredToken, .loginPage, .proxy520,
    ]
    var outcome = Outcome()
    for pass in 0..<12 {
      if fails, pass < 6 {
        world.standIn.faults.append(StandInFault(random.pick(kinds), skipping: Int.random(in: 0..<8, using: &random)))
      } else {
        world.standIn.faults = []
      }
      let counts = Counts(await replica.sync())
      outcome.counts.synced += counts.synced
      outcome.counts.rejected += counts.rejected
      outcome.counts.conflicted += counts.conflicted
      outcome.counts.keptServer += counts.keptServer
      // After a lost answer the server has some already, and what a resolver sent.
      if fails { continue }
      outcome.counts.alreadyOnServer += counts.alreadyOnServer
      outcome.counts.resolved += counts.resolved
    }
    #expect(try replica.pending.isEmpty)
    let rows = try world.admin("GET", "/stand-in/rows")
    outcome.tasks = rows["tasks"]?.arrayValue ?? []
    outcome.labels = rows["labels"]?.arrayValue ?? []
    outcome.rejected = try replica.rejected.map {
      ["\($0.id)", $0.write.key.text, $0.serverError?.code ?? "", $0.message]
    }
    outcome.conflicted = try replica.conflicted.map {
      ["\($0.id)", "\($0.write)", "\(String(describing: $0.server))", "\($0.conflictingColumns)", $0.message]
    }
    outcome.cached = try (Array(Self.old) + Array(Self.new)).map { try replica.cached(key($0))?.values }
    return outcome
  }

  /// Checks that a queue comes to the same whether its writes travel together or alone.
  private func compare(_ seed: UInt64, fails: Bool) async throws {
    let together = try await play(seed, writesInOneRequest: 60, fails: fails)
    let alone = try await play(seed, writesInOneRequest: 1, fails: fails)
    #expect(together.counts == alone.counts)
    #expect(together.rejected == alone.rejected)
    #expect(together.conflicted == alone.conflicted)
    #expect(together.tasks == alone.tasks)
    #expect(together.labels == alone.labels)
    #expect(together.cached == alone.cached)
  }

  @Test(
    "come to the same as one by one: rows, refusals, conflicts and order", arguments: 0..<UInt64(40 * testEffort))
  func indistinguishable(seed: UInt64) async throws { try await compare(seed, fails: false) }

  @Test(
    "come to the same as one by one when network and server fail", arguments: 0..<UInt64(60 * testEffort))
  func indistinguishableWithFaults(seed: UInt64) async throws { try await compare(seed, fails: true) }
}
