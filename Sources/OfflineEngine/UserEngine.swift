import LosslessJSON
import SupabaseAPI
import Synchronization

/// How the engine behaves where the spec leaves a choice.
public struct EngineConfiguration: Sendable {
  /// The project.
  public var project: Project
  /// The tables whose rows are read or written.
  public var tables: [TableDescription]
  /// Settles conflicts.
  public var resolver: ConflictResolver
  /// Overlap of two pulls: how long a transaction may run on the server before its rows are seen only by a sweep.
  public var pullOverlap: Duration
  /// How often a whole table's keys and versions are read, besides at start and when a count differs.
  public var sweepEvery: Duration
  /// Rows asked for in one page; a server may cut it shorter.
  public var pageRows: Int
  /// How a table is described that `tables` does not name; `nil` lets writes to it wait.
  public var describe: (@Sendable (String) -> TableDescription)?
  /// How much the rejected and the conflicted list hold; `nil` lets nothing go.
  public var listBounds: ListBounds?
  /// Whether the tenth refusal of an unknown table or column rejects a write, each at least 30 s after the last (spec 4,
  /// "What happens to each write"); a write that waits longer than that waits until the schema is changed.
  public var rejectsUnknownNames = false
  /// How many writes travel in one request at most, where several can; 1 sends each alone.
  ///
  /// What becomes of each is the same.
  public var writesInOneRequest = 60

  /// The spec's behaviour for the given tables.
  public init(
    project: Project, tables: [TableDescription],
    resolver: @escaping ConflictResolver = ConflictResolvers.lastWriteWins,
    pullOverlap: Duration = .seconds(60), sweepEvery: Duration = .seconds(3600), pageRows: Int = 1000
  ) {
    self.project = project
    self.tables = tables
    self.resolver = resolver
    self.pullOverlap = pullOverlap
    self.sweepEvery = sweepEvery
    self.pageRows = pageRows
  }

  func description(of table: String) -> TableDescription? {
    tables.first { $0.name == table } ?? describe?(table)
  }
}

/// The engine of one user of one Supabase project: cached rows, a durable queue of writes, and passes that
/// send it in order.
///
/// Everything a caller was told is queued has been committed. All effects come from the environment.
public final class UserEngine: Sendable {
  /// The state on disk.
  public let store: EngineStore
  /// The user whose rows and writes this client handles.
  public let user: String
  let configuration: EngineConfiguration
  let environment: EngineEnvironment
  /// Where the user's tokens come from.
  let sessions: any TokenSource
  let tables: TableClient
  let passLock = AsyncLock()
  /// Held while a queued write is on the wire.
  let wireLock = AsyncLock()
  /// How many callers want a running pass to end.
  let interruptions = Atomic(0)
  let latelyGone = Mutex(LatelyGone())
  let serverPatience = ServerPatience()
  private let state: Mutex<EngineStatus>
  private let isStopping = Atomic(false)

  /// A client over an open store.
  public init(
    store: EngineStore, user: String, configuration: EngineConfiguration, sessions: any TokenSource,
    environment: EngineEnvironment
  ) {
    self.store = store
    self.user = user
    self.configuration = configuration
    self.environment = environment
    self.sessions = sessions
    tables = TableClient(project: configuration.project, http: environment.http)
    state = Mutex(EngineStatus())
  }

  /// Has passes and pulls end before their next request, while the one on the wire is still answered.
  public func stop() { isStopping.store(true, ordering: .relaxed) }

  // MARK: Status and the network switch

  /// Where the engine stands now.
  public var syncStatus: EngineStatus { state.withLock(\.self) }

  /// Turns network access off for this client: nothing is sent until it is turned on again (spec 4).
  public func disableNetwork() { updateStatus { $0.network = .disabled } }

  /// Turns network access on again.
  public func enableNetwork() {
    updateStatus { if $0.network == .disabled { $0.network = .unknown } }
  }

  /// Takes a monitor's word that the network went or came, for the status: it stops no request.
  public func noteNetwork(isOffline: Bool) { updateNetwork(isOffline ? .offline : .unknown) }

  /// Says that everything is in step now: the queue was sent and every table pulled.
  public func noteSynced() {
    let now = environment.clock.now()
    updateStatus { status in
      status.lastSyncedAt = now
      status.lastSyncError = nil
    }
  }

  func updateStatus(_ change: (inout EngineStatus) -> Void) { state.withLock { change(&$0) } }

  // MARK: State

  /// The time by this client's clock.
  public var now: WallTime { environment.clock.now() }
  /// The time since some moment, by a clock that nobody sets.
  public var elapsed: Duration { environment.clock.elapsed() }

  /// Commits what `body` did for this client's user, or nothing of it: the transaction hook.
  public func transaction<T: Sendable>(_ body: (EngineTransaction) throws -> T) throws -> T {
    try store.transaction(user: user, body)
  }

  /// Reads the state of this client's user.
  public func read<T: Sendable>(_ body: (EngineTransaction) throws -> T) throws -> T {
    try store.read(user: user, body)
  }

  /// The description of a table, or the error that the configuration lacks it.
  func description(of table: String) throws(SyncFailure) -> TableDescription {
    guard let found = configuration.description(of: table) else {
      throw .local(reason: "table '\(table)' is not in the settings, although writes to it wait; add it again")
    }
    return found
  }

  /// A transaction whose failure stops the pass as a failure of this device.
  ///
  /// - Parameter isFlushed: As `EngineStore.transaction` has it.
  func commit<T: Sendable>(
    isFlushed: Bool = true, _ body: (EngineTransaction) throws -> T
  ) throws(SyncFailure) -> T {
    do {
      return try store.transaction(user: user, isFlushed: isFlushed, body)
    } catch {
      throw .local(reason: "\(error)")
    }
  }

  // MARK: Requests

  /// One request as the user, with one refresh of a refused token.
  ///
  /// - Returns: The answer and the token it was given to.
  func send(_ request: TableRequest, table: String) async throws(RequestFailure) -> (
    answer: TableAnswer, token: Secret?
  ) {
    try checkMayAsk()
    let token = try await token()
    do {
      let answer = try await tables.send(request, accessToken: token)
      updateNetwork(.online)
      return (answer, token)
    } catch .tokenRefused {
      let fresh = try await self.token(replacing: token)
      do {
        let answer = try await tables.send(request, accessToken: fresh)
        updateNetwork(.online)
        return (answer, fresh)
      } catch {
        throw failure(error, table: table)
      }
    } catch {
      throw failure(error, table: table)
    }
  }

  /// Throws when nothing may be sent: network access is off, or the client is to stop.
  func checkMayAsk() throws(RequestFailure) {
    guard syncStatus.network != .disabled else { throw RequestFailure(.networkDisabled) }
    guard !isStopping.load(ordering: .relaxed) else { throw RequestFailure(.cancelled) }
    try checkPatience()
  }

  func token(replacing refused: Secret? = nil) async throws(RequestFailure) -> Secret? {
    do {
      return try await sessions.accessToken(replacing: refused)
    } catch {
      let failure = SyncFailure.session(error)
      if failure.isConnectivity { updateNetwork(.offline) }
      throw RequestFailure(failure)
    }
  }

  func updateNetwork(_ network: NetworkStatus) {
    updateStatus { if $0.network != .disabled { $0.network = network } }
  }

  /// Notes what a failed request says of the network, and for how long the server wants to be left alone.
  func noteFailure(_ error: SupabaseError) {
    if case .unavailable(_, let seconds?, _) = error {
      serverPatience.note(seconds: seconds, at: environment.clock.elapsed())
    }
    if error.isConnectivity {
      updateNetwork(.offline)
    } else if error.status != nil {
      updateNetwork(.online)
    }
  }

  private func failure(_ answered: SupabaseError, table: String) -> RequestFailure {
    // The database's own word on a column; the schema cache that may not know it yet speaks with PostgREST's.
    var error = answered
    if configuration.rejectsUnknownNames, case .schemaCache(let refusal) = answered, refusal.code == "42703" {
      error = .refused(refusal)
    }
    noteFailure(error)
    // 401 is about who asks, whatever its code: a token that got lost on the way makes anybody of the user, and anybody
    // is refused what the user may do.
    if case .refused(let refusal) = error, refusal.status == 401 {
      var failure = RequestFailure(.session(.notAccepted(reason: "\(error)")))
      failure.error = error
      return failure
    }
    var failure = RequestFailure(SyncFailure(error, table: table))
    failure.error = error
    failure.mayHaveReachedServer = error.mayHaveReachedServer
    if case .refused(let refusal) = error { failure.refusal = refusal }
    return failure
  }
}

/// Why one request has no answer to act on.
struct RequestFailure: Error {
  /// The reason, as it stops a pass or a pull.
  var reason: SyncFailure
  /// Whether the server may have acted on the request.
  var mayHaveReachedServer = false
  /// The server's own refusal, which decides the write.
  var refusal: ServerError?
  /// What the request itself came to, where it was sent.
  var error: SupabaseError?

  init(_ reason: SyncFailure) { self.reason = reason }
}
