import LosslessJSON
import SupabaseAPI
import Synchronization
import Testing

@testable import OfflineEngine

/// A developer's client of a scripted server, opened.
struct ClientDesk {
  let clock = VirtualClock()
  let http: ScriptedExchange
  let storage: MemorySession?
  let monitor = ScriptedMonitor()
  let warnings = Notes()
  let client: OfflineClient

  /// - Parameters:
  ///   - session: The stored session; `nil` for a signed-out client.
  ///   - hasAuth: Whether the client has Auth at all.
  init(
    _ steps: [ScriptedExchange.Step] = [], session: Session? = session(of: Desk.user), hasAuth: Bool = true,
    path: String = ":memory:", isOpened: Bool = true, change: (inout OfflineConfiguration) -> Void = { _ in }
  ) async throws {
    http = ScriptedExchange(steps)
    storage = hasAuth ? MemorySession(session) : nil
    var configuration = OfflineConfiguration(
      project: try Project(url: "http://scripted", key: Secret("sb_publishable_key")), databasePath: path)
    configuration.versionColumns = ["tasks": "updated_at"]
    configuration.sessionStorage = storage
    configuration.connectivity = monitor
    configuration.warn = { [warnings] in warnings.add($0) }
    change(&configuration)
    client = try OfflineClient(
      configuration, environment: EngineEnvironment(clock: clock, http: http, makeID: { "unused" }))
    if isOpened {
      try await client.open()
      guard session?.expiresAt ?? .max > clock.now().seconds else { return }
      for await _ in client.store.changes.rings() where client.notedSession?.isSettled ?? false { break }
    }
  }

  var tasks: TableReference { client.from("tasks") }
  var pending: [PendingMutation] { get throws { try client.pendingMutationList() } }
  var rejected: [RejectedMutation] { get throws { try client.rejectedMutationList() } }

  /// Returns once the status meets a condition.
  func status(where holds: @Sendable (SyncStatus) -> Bool) async {
    for await status in client.syncStatuses() where holds(status) { return }
  }

  /// Returns once nothing is queued and no pass runs.
  func allSent() async { await status { $0.pendingMutationCount == 0 && !$0.isSyncing } }
}

/// A task as a developer writes it.
struct TaskRow: Codable, Sendable, Equatable {
  var id: Int
  var title: String
  var done = false
}

/// A network monitor that says what a test tells it.
final class ScriptedMonitor: ConnectivitySource {
  private let stream: AsyncStream<NetworkAvailability>
  private let continuation: AsyncStream<NetworkAvailability>.Continuation

  init() { (stream, continuation) = AsyncStream.makeStream() }

  func say(_ availability: NetworkAvailability) { continuation.yield(availability) }
  func end() { continuation.finish() }
  func states() -> AsyncStream<NetworkAvailability> { stream }
}

/// Texts in the order they came.
final class Notes: Sendable {
  private let state = Mutex([String]())

  var all: [String] { state.withLock(\.self) }
  func add(_ text: String) { state.withLock { $0.append(text) } }
}

/// The code that a call is stopped with, for a table of cases.
enum Thrown: Equatable, CustomTestStringConvertible {
  case nothing
  case refused(Int, String)
  case schemaCache(String)
  case unavailable(Int)
  case connectivity
  case networkDisabled
  case session
  case notQueueable(UnqueueableWrite)
  case invalidRequest
  case cancelled
  case other(String)

  init(_ error: any Error) {
    self =
      switch error {
      case is CancellationError: .cancelled
      case OfflineError.refused(let error): .refused(error.status, error.code)
      case OfflineError.schemaCache(let error): .schemaCache(error.code)
      case OfflineError.unavailable(let status, _, _): .unavailable(status)
      case OfflineError.connectivity: .connectivity
      case OfflineError.networkDisabled: .networkDisabled
      case OfflineError.session: .session
      case OfflineError.mutationNotQueueable(let kind, _): .notQueueable(kind)
      case OfflineError.invalidRequest: .invalidRequest
      default: .other("\(error)")
      }
  }

  var testDescription: String { "\(self)" }
}

extension OfflineClient {
  /// Turns network access on without the pass that this calls for.
  func enableNetworkUnnoticed() {
    _ = network.setEnabled(true)
    engine.enableNetwork()
  }
}
