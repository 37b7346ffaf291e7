import SupabaseAPI
import Synchronization

/// Changes of a user's tables as they are made on the server, for as long as `run` runs.
///
/// What is told is taken into the cache at once; what is told of may be missed at any time, so a pull is asked for whenever
/// changes begin to flow, and whenever something could not be taken in. `run` never gives up: it waits and tries again.
public final class LiveChanges: Sendable {
  private struct State {
    var isWanted: Bool
    var shown = LiveState.off
    var inputs: [RealtimeSession.Input] = []
    var changes: [RealtimeChange] = []
    var observers: [Int: AsyncStream<LiveState>.Continuation] = [:]
    var observerCount = 0
    /// Counts connections, so that what an old one still says is not taken for the new one's.
    var connection = 0
    var isStopped = false
  }

  private let engine: UserEngine
  private let tables: [String]
  private let request: WebSocketRequest
  private let sockets: any WebSocketOpener
  private let hasChanged: @Sendable () -> Void
  private let needsPull: @Sendable () -> Void
  private let state: Mutex<State>
  private let wake = Wake()
  private let changesWake = Wake()

  /// A clock that was set, or a sleep of the device, shows as a difference of the two clocks.
  private static let clockTolerance = Duration.seconds(5)
  /// How often the clocks are compared.
  private static let lookEvery = Duration.seconds(10)
  /// More changes at once are better read in pages.
  private static let changeCountMax = 10_000

  /// Changes of some tables of the engine's configuration; `nil` where the project or the environment has no Realtime.
  ///
  /// - Parameters:
  ///   - hasChanged: Called when rows are new, differ or are gone, once that is on record.
  ///   - needsPull: Called when a pull is due.
  public init?(
    engine: UserEngine, tables: [String], isWanted: Bool, hasChanged: @escaping @Sendable () -> Void,
    needsPull: @escaping @Sendable () -> Void
  ) {
    guard let sockets = engine.environment.sockets,
      let request = RealtimeSession.request(of: engine.configuration.project)
    else { return nil }
    self.engine = engine
    self.tables = tables
    self.sockets = sockets
    self.hasChanged = hasChanged
    self.needsPull = needsPull
    self.request = request
    state = Mutex(State(isWanted: isWanted))
  }

  // MARK: State

  /// Whether changes arrive now.
  public var shown: LiveState { state.withLock(\.shown) }

  /// The state of now at once, then every change.
  ///
  /// A slow reader sees the newest only. Ends with `stop`.
  public func states() -> AsyncStream<LiveState> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let id = state.withLock { state in
        state.observerCount += 1
        state.observers[state.observerCount] = continuation
        continuation.yield(state.shown)
        if state.isStopped { continuation.finish() }
        return state.observerCount
      }
      continuation.onTermination = { [weak self] _ in
        _ = self?.state.withLock { $0.observers.removeValue(forKey: id) }
      }
    }
  }

  /// Turns live changes on or off.
  public func setWanted(_ isWanted: Bool) {
    state.withLock { $0.isWanted = isWanted }
    wake.ring()
  }

  /// Looks again whether the engine may use the network.
  public func look() { wake.ring() }

  /// Says that the device's network changed: a connection may look alive and be dead.
  public func noteNetworkChange() { put(.networkChanged) }

  /// Ends `run`.
  public func stop() {
    let observers = state.withLock { state in
      state.isStopped = true
      return state.observers.values
    }
    for observer in observers { observer.finish() }  // Each then takes itself off the list.
    wake.finish()
    changesWake.finish()
  }

  private func show(_ shown: LiveState) {
    state.withLock { state in
      guard state.shown != shown else { return }
      state.shown = shown
      for observer in state.observers.values { observer.yield(shown) }
    }
  }

  private func put(_ input: RealtimeSession.Input, of connection: Int? = nil) {
    state.withLock { state in
      guard connection == nil || connection == state.connection else { return }
      state.inputs.append(input)
    }
    wake.ring()
  }

  private var isStopped: Bool { state.withLock(\.isStopped) }

  // MARK: Running

  /// Runs until `stop`.
  public func run() async {
    await withDiscardingTaskGroup { group in
      group.addTask { await UserEngine.patiently { await self.takeIn() } }
      await connect(asking: &group)
      group.cancelAll()
    }
  }

  private var isAllowed: Bool { state.withLock(\.isWanted) && engine.syncStatus.network != .disabled }

  private func connect(asking group: inout DiscardingTaskGroup) async {
    let clock = engine.environment.clock
    while !isStopped {
      guard isAllowed else {
        show(.off)
        await wake.wait(upTo: nil, clock: clock)
        continue
      }
      var run = Run(session: RealtimeSession(tables: tables, jitter: engine.environment.jitter), request: request)
      perform(run.session.start(at: clock.elapsed()), &run, &group)
      var before = (wall: clock.now(), elapsed: clock.elapsed())
      while !isStopped, isAllowed {
        let inputs = state.withLock { state in
          defer { state.inputs = [] }
          return state.inputs
        }
        let now = (wall: clock.now(), elapsed: clock.elapsed())
        let drift = (now.wall - before.wall) - (now.elapsed - before.elapsed)
        if drift > Self.clockTolerance || drift < .zero - Self.clockTolerance {
          perform(run.session.take(.woke, at: now.elapsed), &run, &group)
        }
        before = now
        for input in inputs { perform(run.session.take(input, at: now.elapsed), &run, &group) }
        if run.session.due <= now.elapsed { perform(run.session.take(.tick, at: now.elapsed), &run, &group) }
        show(shown(run.session, at: now))
        let pause = run.session.due - clock.elapsed()
        if pause > .zero { await wake.wait(upTo: min(pause, Self.lookEvery), clock: clock) }
      }
      run.connection?.close()
      state.withLock { state in
        state.connection += 1
        state.inputs = []
      }
    }
    show(.off)
  }

  /// One session and the connection it has now.
  private struct Run {
    var session: RealtimeSession
    let request: WebSocketRequest
    var connection: (any WebSocketConnection)?
  }

  private func perform(_ actions: [RealtimeSession.Action], _ run: inout Run, _ group: inout DiscardingTaskGroup) {
    for action in actions {
      switch action {
      case .open:
        let number = state.withLock { state in
          state.connection += 1
          return state.connection
        }
        run.connection = sockets.open(run.request) { [weak self] event in self?.put(.socket(event), of: number) }
      case .close:
        state.withLock { $0.connection += 1 }
        run.connection?.close()
        run.connection = nil
      case .send(let text): run.connection?.send(text)
      case .askToken(let refused):
        group.addTask { await self.fetchToken(replacing: refused) }
      case .change(let change):
        state.withLock { $0.changes.append(change) }
        changesWake.ring()
      case .pull: needsPull()
      }
    }
  }

  private func fetchToken(replacing refused: Secret?) async {
    do throws(SessionFailure) {
      guard let token = try await engine.sessions.accessToken(replacing: refused) else {
        return put(.noToken(reason: "nobody is signed in"))
      }
      put(.token(token))
    } catch {
      put(.noToken(reason: "\(error)"))
    }
  }

  private func shown(_ session: RealtimeSession, at now: (wall: WallTime, elapsed: Duration)) -> LiveState {
    switch session.state {
    case .connecting, .joining, .subscribing:
      // A try after a failure is no news until it comes to something.
      if case .waiting = shown { return shown }
      return .connecting
    case .live:
      if case .live = shown { return shown }
      return .live(since: now.wall)
    case .waiting(let failure):
      if case .waiting("\(failure)", let until) = shown, until > now.wall { return shown }
      return .waiting(reason: "\(failure)", until: now.wall + (session.due - now.elapsed))
    }
  }

  /// Takes the changes into the cache, as many at once as have come.
  private func takeIn() async {
    while !isStopped {
      let changes = state.withLock { state in
        defer { state.changes = [] }
        return state.changes
      }
      guard !changes.isEmpty else {
        await changesWake.wait(upTo: nil, clock: engine.environment.clock)
        continue
      }
      guard changes.count <= Self.changeCountMax else {
        needsPull()
        continue
      }
      do throws(SyncFailure) {
        let news = try await engine.apply(changes)
        if news.contains(.changed) { hasChanged() }
        if news.contains(.needsPull) { needsPull() }
      } catch {
        needsPull()
      }
    }
  }
}
