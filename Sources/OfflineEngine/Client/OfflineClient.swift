import LosslessJSON
import SupabaseAPI
import Synchronization

/// An offline-first client of one Supabase project: reads are kept for the time without a network, writes wait in a
/// durable queue, and every read shows them at once.
///
/// `open()` it before use and `close()` it at the end. One process at a time may use one database. Everything a caller
/// was told is queued has been committed to the disk. All effects come from the environment.
public final class OfflineClient: Sendable {
  /// Who is signed in, and how to sign in and out.
  public let auth: AuthSession
  let configuration: OfflineConfiguration
  let environment: EngineEnvironment
  let store: EngineStore
  let network = NetworkSwitch()
  let tables: TableClient
  /// The copies of objects; `nil` where there is no place for them.
  let files: FileCache?
  let scheduler: PassScheduler
  private let state = Mutex(State())

  private struct State {
    var engines: [String: UserEngine] = [:]
    var tasks: [Task<Void, Never>] = []
    var isOpen = false
    var isClosed = false
    /// Counts how often the data on this device was cleared.
    var clearings = 0
    var hasWarnedOfDryRun = false
    var tablesFoundCut: Set<String> = []
    var lastSyncedAt: WallTime?
    var lastSyncError: SyncFailed?
    /// What the client has last acted on.
    var session: SessionState?
  }

  /// A client that does nothing before it is opened.
  ///
  /// - Throws: `OfflineError.configuration` when the settings cannot work, `.storage` when the database cannot be opened:
  ///   it is damaged, of a later program, or in a folder that cannot be written.
  public init(_ configuration: OfflineConfiguration, environment: EngineEnvironment) throws(OfflineError) {
    try configuration.validate()
    self.configuration = configuration
    self.environment = environment
    do {
      store = try EngineStore(
        path: configuration.databasePath, clock: environment.clock, schema: configuration.schema)
    } catch {
      throw OfflineError(storing: error)
    }
    files = configuration.filesFolder.map { [store] folder in
      FileCache(store, folder: folder, bytesMax: configuration.fileCacheBytesMax)
    }
    tables = TableClient(project: configuration.project, http: environment.http)
    auth = AuthSession(
      project: configuration.project, http: environment.http, storage: configuration.sessionStorage,
      clock: environment.clock, executor: environment.executor)
    let runner = PassRunner()
    scheduler = PassScheduler(
      clock: environment.clock, executor: environment.executor, autoSync: configuration.autoSync,
      isKnownOffline: { [network] in network.isKnownOffline }, pass: { await runner.run() })
    runner.setClient(self)
  }

  // MARK: Opening and closing

  /// Reads the stored session, follows the network, and sends by itself from now on.
  ///
  /// Returns as soon as it is known whose session is stored; nothing here waits for the network.
  public func open() async throws(OfflineError) {
    let isFirst = try state.withLock { state throws(OfflineError) in
      guard !state.isClosed else { throw .closed }
      defer { state.isOpen = true }
      return !state.isOpen
    }
    guard isFirst else { return }
    auth.start()
    for await session in auth.states() where session != .restoring(user: nil) { break }
    scheduler.start()
    let executor = environment.executor
    let follower = Task(executorPreference: executor) { [weak self, auth] in
      for await session in auth.states() {
        guard let self else { return }
        await self.note(session)
      }
    }
    state.withLock { $0.tasks.append(follower) }
    if let connectivity = configuration.connectivity {
      let monitor = Task(executorPreference: executor) { [weak self] in
        for await availability in connectivity.states() {
          guard let self else { return }
          self.note(availability)
        }
        // A monitor that fails or ends says nothing any more.
        if let self { self.note(NetworkAvailability.unknown) }
      }
      state.withLock { $0.tasks.append(monitor) }
    }
    if state.withLock(\.isClosed) {
      close()  // What was started since then ends, too.
      throw .closed
    }
    if auth.state == .withoutAuth, pendingCount("") > 0 { scheduler.trigger(.opened) }
  }

  /// Ends what the client does by itself, and every loop over what it shows; the write on the wire is still answered.
  public func close() {
    let (tasks, engines) = state.withLock { state in
      defer { state.tasks = [] }
      state.isClosed = true
      return (state.tasks, Array(state.engines.values))
    }
    for engine in engines { engine.stop() }
    scheduler.stop()
    auth.stop()
    for task in tasks { task.cancel() }
    if store.uses.isNoted { try? store.transaction(user: "") { try $0.writeUses() } }
    store.changes.finish()
  }

  private func note(_ session: SessionState) async {
    if session == .signedOut || session.user != nil, session.isSettled, pendingCount(session.user ?? "") > 0 {
      scheduler.trigger(.sessionSettled)
    }
    state.withLock { state in
      // How another user's passes ended is none of this one's business.
      if let last = state.session?.user, last != session.user { (state.lastSyncedAt, state.lastSyncError) = (nil, nil) }
      state.session = session
    }
    store.changes.ring()
    if case .signedIn(let user?) = session { await takeOverWritesOfNobody(user) }
  }

  /// Makes the writes that nobody was signed in for a user's, unless somebody else signs in meanwhile.
  ///
  /// One that is on the wire is answered first: sent by two engines it could arrive twice.
  private func takeOverWritesOfNobody(_ user: String) async {
    guard pendingCount("") > 0 else { return }
    await engine(of: "").interruptingPasses {
      guard auth.state == .signedIn(user: user) else { return }
      try? engine(of: user).transaction { try $0.takeOverWritesOfNobody() }
    }
    if pendingCount(user) > 0 { scheduler.trigger(.sessionSettled) }
  }

  /// The session that the client has last acted on; `nil` before the first.
  var notedSession: SessionState? { state.withLock(\.session) }

  private func note(_ availability: NetworkAvailability) {
    let isBack = network.note(availability)
    scheduler.noteNetworkChanged()
    if isBack { scheduler.trigger(.networkCameBack) }
    store.changes.ring()
  }

  private func pendingCount(_ user: String) -> Int {
    (try? store.read(user: user) { try $0.counts().queued }) ?? 0
  }

  // MARK: Whose engine

  /// The user whose rows and writes are meant now; empty for nobody.
  var currentUser: String { auth.state.user ?? "" }

  /// The engine of the current user.
  var engine: UserEngine { engine(of: currentUser) }

  func engine(of user: String) -> UserEngine {
    state.withLock { state in
      if let engine = state.engines[user] { return engine }
      let engine = UserEngine(
        store: store, user: user, configuration: configuration.engine, sessions: auth.tokens(of: user),
        environment: environment)
      if !network.isEnabled { engine.disableNetwork() }
      if state.isClosed { engine.stop() }
      state.engines[user] = engine
      return engine
    }
  }

  func checkOpen() throws(OfflineError) {
    guard state.withLock({ $0.isOpen && !$0.isClosed }) else { throw .closed }
  }

  // MARK: Requests

  /// A table of the default schema.
  public func from(_ table: String) -> TableReference { from(schema: configuration.schema, table) }

  /// A table of a schema.
  public func from(schema: String, _ table: String) -> TableReference {
    TableReference(client: self, schema: schema, table: table)
  }

  /// Calls a database function: on the server only, never queued, and seen by no cached list.
  ///
  /// - Returns: What the function gave back; null for one that gives nothing.
  /// - Throws: `OfflineError`.
  public func rpc(_ function: String, _ arguments: [String: OfflineJSON] = [:], schema: String? = nil)
    async throws -> OfflineJSON
  {
    try checkOpen()
    guard network.isEnabled else { throw OfflineError.networkDisabled }
    let members = arguments.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    let call = FunctionRequest(function, schema: schema ?? configuration.schema, arguments: JSONObject(members))
    return try await withToken { token throws(SupabaseError) in try await tables.call(call, accessToken: token) }
  }

  /// Calls a database function with a value's members as its arguments, and reads what it gives back.
  ///
  /// - Throws: `OfflineError`; `.decoding` when what came back does not have the shape, after the function ran.
  public func rpc<Value: Decodable & Sendable>(
    _ function: String, _ arguments: some Encodable & Sendable, schema: String? = nil, as type: Value.Type = Value.self
  ) async throws -> Value {
    guard let members = try RowCoding.json(arguments).objectValue else {
      throw OfflineError.invalidRequest(reason: "the arguments of '\(function)' are not an object")
    }
    let named = Dictionary(members.members.map { ($0.name, $0.value) }) { _, last in last }
    return try RowCoding.value(type, try await rpc(function, named, schema: schema))
  }

  /// Sends something as the current user, with one refresh of a refused token; while a session restores, under the
  /// project's key.
  func withToken<T: Sendable>(_ body: (Secret?) async throws(SupabaseError) -> T) async throws -> T {
    try await withToken(auth.state, body)
  }

  /// Sends something as who is signed in by `session`.
  func withToken<T: Sendable>(
    _ session: SessionState, _ body: (Secret?) async throws(SupabaseError) -> T
  ) async throws -> T {
    let source = auth.tokens(of: session.isSettled ? session.user ?? "" : "")
    let token = try await Self.token(from: source, replacing: nil)
    do throws(SupabaseError) {
      return try await body(token)
    } catch {
      guard case .tokenRefused = error else { throw Self.thrown(error) }
    }
    let fresh = try await Self.token(from: source, replacing: token)
    do throws(SupabaseError) {
      return try await body(fresh)
    } catch {
      throw Self.thrown(error)
    }
  }

  private static func token(from source: any TokenSource, replacing refused: Secret?) async throws -> Secret? {
    do throws(SessionFailure) {
      return try await source.accessToken(replacing: refused)
    } catch {
      throw OfflineError.session(error)
    }
  }

  private static func thrown(_ error: SupabaseError) -> any Error {
    if case .http(.cancelled) = error { CancellationError() } else { OfflineError(error) }
  }

  // MARK: The network switch

  /// Turns network access off for this client: nothing is sent until it is turned on again.
  public func disableNetwork() { setNetwork(isEnabled: false) }

  /// Turns network access on again; with autoSync queued writes are sent.
  public func enableNetwork() {
    if setNetwork(isEnabled: true) { scheduler.trigger(.networkCameBack) }
  }

  @discardableResult
  private func setNetwork(isEnabled: Bool) -> Bool {
    // Together, so that of two calls at once the last one holds for every engine.
    let isChange = state.withLock { state in
      for engine in state.engines.values {
        if isEnabled { engine.enableNetwork() } else { engine.disableNetwork() }
      }
      return network.setEnabled(isEnabled)
    }
    store.changes.ring()
    return isChange
  }

  // MARK: Status

  /// Where the client stands now.
  public var syncStatus: SyncStatus {
    var status = SyncStatus()
    status.network = network.status
    let counts = (try? store.read(user: currentUser) { try $0.counts() }) ?? MutationCounts()
    status.pendingMutationCount = counts.queued
    status.rejectedMutationCount = counts.rejected
    status.conflictedMutationCount = counts.conflicted
    status.isSyncing = engine.syncStatus.isSyncing
    status.nextPassAt = scheduler.nextTry
    return state.withLock { state in
      status.lastSyncedAt = state.lastSyncedAt
      status.lastSyncError = state.lastSyncError
      return status
    }
  }

  /// Takes note of how a pass ended.
  func note(_ report: SyncReport) {
    let now = environment.clock.now()
    state.withLock { state in
      state.lastSyncError = report.remaining > 0 ? report.failed : nil
      if report.remaining == 0, report.synced > 0 { state.lastSyncedAt = now }
    }
    store.changes.ring()
  }

  /// Takes note that a write sent at once left the queue.
  func noteSentAtOnce(leaving count: Int) {
    guard count == 0 else { return scheduler.trigger(.queueNeedsSending) }
    let now = environment.clock.now()
    state.withLock { state in
      state.lastSyncedAt = now
      state.lastSyncError = nil
    }
    store.changes.ring()
  }

  // MARK: Clearing

  /// How often the data on this device was cleared.
  var clearings: Int { state.withLock(\.clearings) }

  /// Deletes everything that this database holds, of every user: cached rows, the queue, both lists and copies of objects.
  ///
  /// Passes in progress end first. What was queued is lost; the session stays.
  public func clearLocalData() async throws {
    try checkOpen()
    let user = currentUser
    _ = engine(of: user)
    // In one order, so that two who clear never wait for one another.
    let engines = state.withLock { $0.engines.values.sorted { $0.user < $1.user } }
    try await interruptingPasses(of: engines[...]) { () throws(OfflineError) in
      do {
        try store.transaction(user: user) { transaction in
          try transaction.clearEverything()
          state.withLock { state in
            state.clearings += 1
            state.lastSyncError = nil
          }
        }
      } catch {
        throw OfflineError(storing: error)
      }
    }
    try files?.sweep()
  }

  private func interruptingPasses(
    of engines: ArraySlice<UserEngine>, _ body: () throws(OfflineError) -> Void
  ) async throws(OfflineError) {
    guard let first = engines.first else { return try body() }
    try await first.interruptingPasses { () async throws(OfflineError) in
      try await interruptingPasses(of: engines.dropFirst(), body)
    }
  }

  /// Warns once a table that the project's row limit cuts what is read of it.
  func warnOfRowLimit(_ table: String, _ count: Int) {
    guard state.withLock({ $0.tablesFoundCut.insert(table).inserted }) else { return }
    configuration.warn(
      "a read of '\(table)' got \(count) rows, the project's row limit: there may be more; read it in pages, or let "
        + "'readsPastRowLimit' do so")
  }

  /// Warns once a client that the project commits dry runs.
  func warnOfDryRun(_ table: String) {
    let isFirst = state.withLock { state in
      defer { state.hasWarnedOfDryRun = true }
      return !state.hasWarnedOfDryRun
    }
    guard isFirst else { return }
    configuration.warn(
      "a dry run of a write to '\(table)' was committed: the project does not let a request choose (db-tx-end)")
  }
}

/// What the scheduler runs, which cannot hold the client that holds the scheduler.
private final class PassRunner: Sendable {
  private struct Box { weak var client: OfflineClient? }

  private let box = Mutex(Box())

  func setClient(_ client: OfflineClient) { box.withLock { $0.client = client } }

  func run() async -> PassEnd {
    guard let client = box.withLock(\.client) else { return .nothingToSend }
    return await client.automaticPass()
  }
}
