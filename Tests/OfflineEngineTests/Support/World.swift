import Foundation
import LosslessJSON
import StandInServer
import SupabaseAPI
import Synchronization

@testable import OfflineEngine

/// A stand-in project without a socket, on a virtual clock.
final class World: Sendable {
  static let tasks = TableDescription(
    name: "tasks", versionColumn: "updated_at", cursorColumn: "updated_at", columns: ["title", "notes", "done"])

  let clock = VirtualClock()
  let standIn: StandIn
  let project: Project

  init(schema: Schema = .tasksAndPhotos, rowCountMax: Int = 1_000, accessTokenSeconds: Int = 3_600) throws {
    let clock = clock
    let seed = Mutex(UInt8(1))
    var auth = AuthSettings(passwordCost: 4)
    auth.tokenSeconds = accessTokenSeconds
    standIn = try StandIn(
      StandInConfiguration(
        schema: schema, auth: auth, rowCountMax: rowCountMax,
        effects: StandInEffects(
          now: { clock.tick() },
          randomBytes: { count in
            (0..<count).map { _ in
              seed.withLock { seed in
                seed = seed &* 5 &+ 17
                return seed
              }
            }
          })))
    project = try Project(url: "http://127.0.0.1:1", key: Secret(standIn.publishableKey))
  }

  /// A table with a counted version: how often a row was written is what it says.
  static func counted() throws -> Schema {
    try Schema(
      parsing: """
        {"tables": {"tasks": {
          "columns": [
            {"name": "id", "type": "uuid", "notNull": true},
            {"name": "user_id", "type": "uuid", "notNull": true, "default": {"function": "auth.uid"}},
            {"name": "title", "type": "text", "notNull": true,
             "check": {"name": "tasks_title_not_blank", "notBlank": true}},
            {"name": "notes", "type": "text"},
            {"name": "done", "type": "boolean", "notNull": true, "default": false},
            {"name": "version", "type": "int8", "notNull": true, "default": 1}
          ],
          "primaryKey": ["id"], "owner": "user_id", "version": {"column": "version", "kind": "integer"}
        }}}
        """)
  }

  static let countedTasks = TableDescription(
    name: "tasks", versionColumn: "version", columns: ["title", "notes", "done"])

  /// Signs a user up and gives the session.
  func signUp(_ email: String) async throws -> Session {
    try await AuthClient(project: project, http: StandInExchange(self)).signUp(
      email: email, password: Secret("secret-1"))
  }

  /// A replica of a user with a store of its own.
  func replica(
    _ session: Session, path: String = ":memory:", tables: [TableDescription] = [tasks], pageRows: Int = 1_000,
    resolver: @escaping ConflictResolver = ConflictResolvers.holdDisagreements, writesInOneRequest: Int = 60,
    sockets: (any WebSocketOpener)? = nil, clock: (any EngineClock)? = nil
  ) throws -> Replica {
    var configuration = EngineConfiguration(project: project, tables: tables, resolver: resolver, pageRows: pageRows)
    configuration.writesInOneRequest = writesInOneRequest
    return try Replica(self, session, path: path, configuration, sockets: sockets, clock: clock)
  }

  /// A request with the service key, which every policy lets through.
  @discardableResult
  func admin(_ method: String, _ target: String, _ body: JSONValue? = nil) throws -> JSONValue {
    let answer = standIn.answer(
      StandInRequest(
        method: method, target: target,
        fields: [
          ("Host", "127.0.0.1"), ("apikey", standIn.serviceKey), ("Authorization", "Bearer \(standIn.serviceKey)"),
          ("Content-Type", "application/json"), ("Prefer", "return=representation"),
        ], body: body.map { Array($0.serialized().utf8) } ?? []))
    struct Refused: Error { let text: String }
    guard (200...299).contains(answer.status) else { throw Refused(text: String(decoding: answer.body, as: UTF8.self)) }
    return answer.body.isEmpty ? .null : try JSONValue(parsing: answer.body)
  }

  /// All rows of `tasks`, ordered by key.
  func rows() throws -> [JSONObject] {
    let rows = try admin("GET", "/stand-in/rows")["tasks"]?.arrayValue?.compactMap(\.objectValue) ?? []
    return rows.sorted { ($0["id"]?.stringValue ?? "") < ($1["id"]?.stringValue ?? "") }
  }

  /// Inserts rows as they are given, version and cursor included.
  func lay(_ rows: [JSONObject]) throws {
    try admin("POST", "/rest/v1/tasks", .array(rows.map { .object($0) }))
  }

  /// Another device of somebody changes a row.
  func change(_ key: RowKey, _ values: JSONObject) throws {
    try admin("PATCH", "/rest/v1/tasks?id=eq.\(key.text)", .object(values))
  }
}

/// Carries requests to a stand-in, unless the network is told to fail.
final class StandInExchange: HTTPExchange {
  typealias Hook = @Sendable (HTTPRequest) async -> HTTPError?

  private struct State {
    var isOffline = false
    var requests: [HTTPRequest] = []
    var before: Hook?
    var after: Hook?
  }

  private let world: World
  private let state = Mutex(State())

  init(_ world: World) { self.world = world }

  var isOffline: Bool {
    get { state.withLock(\.isOffline) }
    set { state.withLock { $0.isOffline = newValue } }
  }
  var requests: [HTTPRequest] { state.withLock(\.requests) }
  var lines: [String] { requests.map(\.line) }

  func forget() { state.withLock { $0.requests = [] } }

  /// Runs before each request arrives; an error keeps it from arriving.
  func before(_ hook: Hook?) { state.withLock { $0.before = hook } }
  /// Runs after each request was done; an error loses its answer.
  func after(_ hook: Hook?) { state.withLock { $0.after = hook } }

  /// Lets one answer get lost: the one of that number from now on, counted from 1.
  func after(losing number: Int) {
    let count = Atomic(0)
    after { _ in count.add(1, ordering: .relaxed).newValue == number ? Self.cut : nil }
  }

  func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
    let (isOffline, before, after) = state.withLock { state in
      state.requests.append(request)
      return (state.isOffline, state.before, state.after)
    }
    if isOffline { throw .cannotConnect(origin: world.project.url, reason: "off") }
    if let error = await before?(request) { throw error }
    let target = String(request.url.dropFirst(world.project.url.count))
    let answer = world.standIn.answer(
      StandInRequest(
        method: request.method, target: target,
        fields: [("Host", "127.0.0.1")] + request.fields.fields.map { ($0.name, $0.value) }, body: request.body ?? []))
    if answer.delivery != .whole { throw Self.cut }
    if let error = await after?(request) { throw error }
    var fields = HTTPFields()
    for field in answer.fields { fields.add(field.name, field.value) }
    return HTTPResponse(status: answer.status, fields: fields, body: request.method == "HEAD" ? [] : answer.body)
  }

  static let cut = HTTPError.cut(origin: "http://127.0.0.1:1", reason: "reset", mayHaveReachedServer: true)
}

/// One device of one user.
struct Replica: Sendable {
  let http: StandInExchange
  let storage: MemorySession
  let store: EngineStore
  let client: UserEngine
  let table: TableDescription

  init(
    _ world: World, _ session: Session, path: String, _ configuration: EngineConfiguration,
    sockets: (any WebSocketOpener)?, clock: (any EngineClock)?
  ) throws {
    http = StandInExchange(world)
    storage = MemorySession(session)
    store = try EngineStore(path: path, clock: world.clock)
    table = configuration.tables[0]
    client = UserEngine(
      store: store, user: session.user.id, configuration: configuration,
      sessions: SessionKeeper(
        user: session.user.id, auth: AuthClient(project: world.project, http: http), storage: storage,
        clock: world.clock),
      environment: EngineEnvironment(
        clock: clock ?? world.clock, http: http, makeID: { "unused" }, sockets: sockets))
  }

  /// The same device with other settings.
  init(_ other: Replica, tables: [TableDescription]) {
    (http, storage, store, table) = (other.http, other.storage, other.store, tables[0])
    var configuration = other.client.configuration
    configuration.tables = tables
    client = UserEngine(
      store: store, user: other.client.user, configuration: configuration, sessions: other.client.sessions,
      environment: other.client.environment)
  }

  @discardableResult
  func insert(_ key: RowKey, _ values: JSONObject) throws -> Int64? {
    var values = values
    values["id"] = key.values[0]
    let row = values
    return try client.transaction { try $0.enqueue(.insert(into: table.name, key: key, values: row)) }
  }

  /// An update as a workspace makes it: the base is what the row shows with the queued writes over it.
  @discardableResult
  func update(_ key: RowKey, _ values: JSONObject, coalesces: Bool = false) throws -> Int64? {
    try client.transaction { transaction in
      let row = try transaction.row(table.name, key)
      let base = WriteBase(values: (row.values ?? [:]).picking(values.names), version: row.server?.version)
      return try transaction.enqueue(
        .update(table.name, key: key, values: values, base: base, coalesces: coalesces))
    }
  }

  @discardableResult
  func delete(_ key: RowKey, coalesces: Bool = false) throws -> Int64? {
    try client.transaction { transaction in
      let row = try transaction.row(table.name, key)
      let base = WriteBase(values: (row.values ?? [:]).picking(table.columns), version: row.server?.version)
      return try transaction.enqueue(.delete(from: table.name, key: key, base: base, coalesces: coalesces))
    }
  }

  func row(_ key: RowKey) throws -> OverlaidRow { try client.read { try $0.row(table.name, key) } }
  func cached(_ key: RowKey) throws -> CachedRow? { try client.read { try $0.cachedRow(table.name, key) } }
  var pending: [PendingMutation] { get throws { try client.read { try $0.pendingMutations() } } }
  var rejected: [RejectedMutation] { get throws { try client.read { try $0.rejectedMutations() } } }
  var conflicted: [ConflictedMutation] { get throws { try client.read { try $0.conflictedMutations() } } }
  var rowCount: Int { get throws { try client.read { try $0.cachedRowCount(table.name) } } }

  func sync() async -> SyncReport { await client.syncPendingMutations() }
  @discardableResult
  func pull(isConfirmed: Bool = false) async throws -> PullReport {
    try await client.pull(table.name, isConfirmed: isConfirmed)
  }
}

/// A key that sorts where its number does.
func key(_ number: Int) -> RowKey {
  let digits = String(number, radix: 16)
  return RowKey("00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits)
}

/// A folder of the test's own, removed with it.
final class TemporaryFolder {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("engine-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { "\(path)/\(name)" }
}
