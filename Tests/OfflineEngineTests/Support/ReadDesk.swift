import LosslessJSON
import SupabaseAPI
import Synchronization
import Testing

@testable import OfflineEngine

/// A clock on which short waits are over at once, and are written down; long ones last until they are cancelled.
final class HastyClock: EngineClock {
  private struct State {
    var now = WallTime(seconds: 1_792_328_400)  // 2026-10-18T13:00:00Z
    var waits: [Duration] = []
  }

  private let state = Mutex(State())
  private let standing = VirtualClock()

  /// The short waits so far.
  var waits: [Duration] { state.withLock(\.waits) }

  func forget() { state.withLock { $0.waits = [] } }

  func now() -> WallTime { state.withLock(\.now) }

  func advance(by duration: Duration) { state.withLock { $0.now = $0.now + duration } }

  func sleep(for duration: Duration) async throws {
    guard duration <= .seconds(5) else { return try await standing.sleep(for: duration) }
    try Task.checkCancellation()
    state.withLock { state in
      state.waits.append(duration)
      state.now = state.now + duration
    }
  }
}

/// A developer's client that reads from a scripted server.
struct ReadDesk {
  let clock = HastyClock()
  let http: ScriptedExchange
  let monitor = ScriptedMonitor()
  let warnings = Notes()
  let client: OfflineClient

  static let milk = #"{"id":1,"title":"Milk","done":false}"#
  static let rows = "[\(milk)]"

  init(
    _ steps: [ScriptedExchange.Step] = [], session: Session? = session(of: Desk.user), hasAuth: Bool = true,
    change: (inout OfflineConfiguration) -> Void = { _ in }
  ) async throws {
    http = ScriptedExchange(steps)
    var configuration = OfflineConfiguration(
      project: try Project(url: "http://scripted", key: Secret("sb_publishable_key")), databasePath: ":memory:")
    configuration.sessionStorage = hasAuth ? MemorySession(session) : nil
    configuration.connectivity = monitor
    configuration.autoSync = false
    configuration.versionColumns = ["tasks": "updated_at"]
    configuration.warn = { [warnings] in warnings.add($0) }
    change(&configuration)
    client = try OfflineClient(
      configuration, environment: EngineEnvironment(clock: clock, http: http, makeID: { "unused" }))
    try await client.open()
    if session?.expiresAt ?? 0 > clock.now().seconds || !hasAuth {
      for await state in client.auth.states() where state.isSettled { break }
    }
  }

  var tasks: TableReference { client.from("tasks") }

  /// Has the server's answer to the query kept.
  func warm(_ rows: String = Self.rows) async throws {
    http.add([.rows(rows)])
    _ = try await tasks.select(readStrategy: .networkOnly).execute([TaskRow].self)
  }

  /// Queues a write as one without a network does.
  func queue(_ write: WriteBuilder) async throws {
    client.disableNetwork()
    #expect(try await write.execute().isQueued)
    client.enableNetwork()
  }

  func say(_ availability: NetworkAvailability, _ status: NetworkStatus) async {
    monitor.say(availability)
    for await now in client.syncStatuses() where now.network == status { return }
  }

  func check(sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(http.unused == 0, "answers that nobody asked for", sourceLocation: sourceLocation)
    #expect(http.surplus == 0, "requests beyond the script: \(http.lines)", sourceLocation: sourceLocation)
  }
}
