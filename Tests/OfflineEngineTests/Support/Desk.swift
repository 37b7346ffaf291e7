import LosslessJSON
import SupabaseAPI
import Synchronization
import Testing

@testable import OfflineEngine

/// The versions of the specification's running example.
let t1 = "2026-10-18T13:00:27.486123+00:00"
let t2 = "2026-10-18T13:04:00.000001+00:00"
let t3 = "2026-10-18T13:05:00.000002+00:00"

/// One client of a scripted server, with the specification's table of tasks.
struct Desk {
  static let user = "8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10"
  static let tasks = TableDescription(name: "tasks", versionColumn: "updated_at", columns: ["title", "done"])
  /// Task 42.
  static let key = RowKey([.number(JSONNumber(42))])

  let clock = VirtualClock()
  let http: ScriptedExchange
  let storage: MemorySession
  let store: EngineStore
  let client: UserEngine

  init(
    _ steps: [ScriptedExchange.Step] = [], tables: [TableDescription] = [tasks], user: String = Desk.user,
    session: Session? = nil, resolver: @escaping ConflictResolver = ConflictResolvers.lastWriteWins
  ) throws {
    http = ScriptedExchange(steps)
    storage = MemorySession(session ?? OfflineEngineTests.session(of: user))
    store = try EngineStore(path: ":memory:", clock: clock)
    let project = try Project(url: "http://scripted", key: Secret("sb_publishable_key"))
    client = UserEngine(
      store: store, user: user,
      configuration: EngineConfiguration(project: project, tables: tables, resolver: resolver),
      sessions: SessionKeeper(
        user: user, auth: AuthClient(project: project, http: http), storage: storage, clock: clock),
      environment: EngineEnvironment(clock: clock, http: http, makeID: { "unused" }))
  }

  /// The row of task 42 as the server shows it.
  static func row(_ title: String, done: Bool = false, _ version: String) -> JSONObject {
    [
      "id": .number(JSONNumber(42)), "updated_at": .string(version), "title": .string(title), "done": .bool(done),
    ]
  }

  static func json(_ title: String, done: Bool = false, _ version: String) -> String {
    JSONValue.array([.object(row(title, done: done, version))]).serialized()
  }

  /// Puts task 42 into the cache.
  func cache(_ row: JSONObject = row("Buy milk", t1)) throws {
    try client.transaction { try $0.setCachedRow(Self.tasks, Self.key, row) }
  }

  /// A row that proves a view.
  func cacheWitness() throws {
    let key = RowKey([.number(JSONNumber(7))])
    var row = Self.row("Witness", t1)
    row["id"] = key.values[0]
    let witness = row
    try client.transaction { try $0.setCachedRow(Self.tasks, key, witness) }
  }

  /// The update of the running example, made when the device had T1.
  @discardableResult
  func rename(
    _ values: JSONObject = ["title": "Buy oat milk", "done": true],
    base: WriteBase? = WriteBase(values: ["title": "Buy milk", "done": false], version: t1), coalesces: Bool = false
  ) throws -> Int64? {
    try client.transaction {
      try $0.enqueue(.update("tasks", key: Self.key, values: values, base: base, coalesces: coalesces))
    }
  }

  @discardableResult
  func delete(base: WriteBase? = WriteBase(values: ["title": "Buy milk", "done": false], version: t1)) throws -> Int64?
  {
    try client.transaction { try $0.enqueue(.delete(from: "tasks", key: Self.key, base: base)) }
  }

  @discardableResult
  func insert(_ values: JSONObject = ["id": 42, "title": "Buy milk"]) throws -> Int64? {
    try client.transaction { try $0.enqueue(.insert(into: "tasks", key: Self.key, values: values)) }
  }

  var pending: [PendingMutation] { get throws { try client.read { try $0.pendingMutations() } } }
  var rejected: [RejectedMutation] { get throws { try client.read { try $0.rejectedMutations() } } }
  var conflicted: [ConflictedMutation] { get throws { try client.read { try $0.conflictedMutations() } } }
  var cached: CachedRow? { get throws { try client.read { try $0.cachedRow("tasks", Self.key) } } }

  func sync() async -> SyncReport { await client.syncPendingMutations() }

  /// Checks that the script was played to its end and not beyond.
  func checkScript(sourceLocation: SourceLocation = #_sourceLocation) { http.check(sourceLocation: sourceLocation) }
}

/// The counts of a report that a table of cases compares.
struct Counts: Equatable, CustomStringConvertible {
  var synced = 0
  var rejected = 0
  var remaining = 0
  var alreadyOnServer = 0
  var resolved = 0
  var keptServer = 0
  var conflicted = 0

  init(
    synced: Int = 0, rejected: Int = 0, remaining: Int = 0, alreadyOnServer: Int = 0, resolved: Int = 0,
    keptServer: Int = 0, conflicted: Int = 0
  ) {
    self.synced = synced
    self.rejected = rejected
    self.remaining = remaining
    self.alreadyOnServer = alreadyOnServer
    self.resolved = resolved
    self.keptServer = keptServer
    self.conflicted = conflicted
  }

  init(_ report: SyncReport) {
    self.init(
      synced: report.synced, rejected: report.rejected.count, remaining: report.remaining,
      alreadyOnServer: report.alreadyOnServer, resolved: report.conflictsResolved,
      keptServer: report.conflictsKeptServer, conflicted: report.conflicted.count)
  }

  var description: String {
    "synced \(synced), rejected \(rejected), remaining \(remaining), already \(alreadyOnServer), resolved \(resolved), "
      + "kept \(keptServer), conflicted \(conflicted)"
  }
}
