import Synchronization

/// Runs the library's own passes: one at a time, when something calls for one, and after its waits.
public final class PassScheduler: Sendable {
  private struct State {
    var plan: PassPlan
    var task: Task<Void, Never>?
    /// Wakes the task; each has its own, so that one that was stopped takes nothing from the next.
    var wake = Wake()
    /// Counts the starts, so that a pass that outlives its stop says nothing to the next one.
    var start = 0
    /// Passes that still run, also those of an earlier start.
    var running = 0
  }

  private let clock: any EngineClock
  private let executor: (any TaskExecutor)?
  private let autoSync: Bool
  private let isKnownOffline: @Sendable () -> Bool
  private let pass: @Sendable () async -> PassEnd
  private let state: Mutex<State>

  /// A scheduler that runs nothing until it is started.
  ///
  /// - Parameters:
  ///   - executor: Where the scheduler's own task and the passes run; `nil` for the system's threads.
  ///   - autoSync: Whether a session, a network and an opened client start passes.
  ///   - isKnownOffline: Whether the monitor says now that there is no network; it must not call the scheduler.
  ///   - pass: Sends what waits of the current user, and says how it ended.
  public init(
    clock: any EngineClock, executor: (any TaskExecutor)?, autoSync: Bool,
    isKnownOffline: @escaping @Sendable () -> Bool, pass: @escaping @Sendable () async -> PassEnd
  ) {
    self.clock = clock
    self.executor = executor
    self.autoSync = autoSync
    self.isKnownOffline = isKnownOffline
    self.pass = pass
    state = Mutex(State(plan: PassPlan(autoSync: autoSync)))
  }

  /// Says that something happened which may call for a pass; returns at once.
  public func trigger(_ trigger: PassTrigger) {
    let now = clock.elapsed()
    state.withLock { state in
      state.plan.note(trigger, at: now)
      state.wake.ring()
    }
  }

  /// Says that the app itself called for a pass: what was held while offline may be tried again.
  public func noteManualPass() {
    state.withLock { state in
      state.plan.noteManualPass()
      state.wake.ring()
    }
  }

  /// Says that `isKnownOffline` may answer otherwise now, such as when a monitor ended.
  public func noteNetworkChanged() { state.withLock { $0.wake.ring() } }

  /// When the next pass runs by itself after one that stopped; `nil` when none waits for a time.
  public var nextTry: WallTime? {
    let isOffline = isKnownOffline()
    let next = state.withLock { $0.plan.nextTry(isKnownOffline: isOffline) }
    return next.map { clock.now() + ($0 - clock.elapsed()) }
  }

  /// Runs passes from now on, also for what was triggered before.
  public func start() {
    state.withLock { state in
      guard state.task == nil else { return }
      state.start += 1
      let (start, wake) = (state.start, Wake())
      state.wake = wake
      state.task = Task(executorPreference: executor) { [self] in await run(start, wake) }
    }
  }

  /// Ends the running pass at its next step, forgets what waits, and waits for nothing.
  public func stop() {
    let task = state.withLock { state in
      state.plan = PassPlan(autoSync: autoSync)
      defer { state.task = nil }
      return state.task
    }
    task?.cancel()
  }

  private func run(_ start: Int, _ wake: Wake) async {
    while !Task.isCancelled {
      let isOffline = isKnownOffline()
      let now = clock.elapsed()
      let step = state.withLock { state -> PassPlan.Step? in
        guard state.start == start, state.task != nil else { return nil }
        guard state.running == 0 else { return .wait(until: nil) }
        let step = state.plan.step(at: now, isKnownOffline: isOffline)
        if step == .run { state.running += 1 }
        return step
      }
      switch step {
      case nil: return
      case .wait(let end): await wake.wait(upTo: end.map { $0 - now }, clock: clock)
      case .run: note(await pass(), start)
      }
    }
  }

  private func note(_ end: PassEnd, _ start: Int) {
    let isOffline = isKnownOffline()
    let now = clock.elapsed()
    state.withLock { state in
      state.running -= 1
      state.wake.ring()  // A later start may wait for the end of this pass.
      guard state.start == start, state.task != nil else { return }
      state.plan.note(end, at: now, isKnownOffline: isOffline)
    }
  }
}
