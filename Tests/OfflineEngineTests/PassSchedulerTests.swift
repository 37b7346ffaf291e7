import Synchronization
import Testing

@testable import OfflineEngine

/// Passes that end by a script; each says when it has begun.
private final class Passes: Sendable {
  private struct State {
    var ends: [PassEnd]
    var begun = 0
    var running = 0
    var mostRunning = 0
    var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state: Mutex<State>
  private let gate: Gate?

  /// - Parameter gate: What every pass waits for before it ends.
  init(_ ends: [PassEnd] = [], gate: Gate? = nil) {
    state = Mutex(State(ends: ends))
    self.gate = gate
  }

  var begun: Int { state.withLock(\.begun) }
  var mostRunning: Int { state.withLock(\.mostRunning) }

  func run() async -> PassEnd {
    let waiters = state.withLock { state in
      state.begun += 1
      state.running += 1
      state.mostRunning = max(state.mostRunning, state.running)
      defer { state.waiters.removeAll { $0.count <= state.begun } }
      return state.waiters.filter { $0.count <= state.begun }
    }
    for waiter in waiters { waiter.continuation.resume() }
    await gate?.opened()
    return state.withLock { state in
      state.running -= 1
      return state.ends.isEmpty ? .nothingToSend : state.ends.removeFirst()
    }
  }

  /// Returns once that many passes have begun.
  func have(begun count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.begun < count { state.waiters.append((count, continuation)) }
        return state.begun >= count
      }
      if isThere { continuation.resume() }
    }
  }
}

@Suite("The library's own passes")
struct PassSchedulerTests {
  private let clock = VirtualClock()
  private let isOffline = Flag()

  private final class Flag: Sendable {
    private let state = Mutex(false)
    var isSet: Bool {
      get { state.withLock(\.self) }
      set { state.withLock { $0 = newValue } }
    }
  }

  private func scheduler(_ passes: Passes, autoSync: Bool = true) -> PassScheduler {
    PassScheduler(
      clock: clock, executor: nil, autoSync: autoSync, isKnownOffline: { [isOffline] in isOffline.isSet },
      pass: { await passes.run() })
  }

  private static let unavailable = PassEnd.stopped(retryAfter: nil, isConnectivity: false)
  private static let offline = PassEnd.stopped(retryAfter: nil, isConnectivity: true)

  @Test("runs what was triggered before it was started, once", arguments: PassTrigger.allCases)
  func before(_ trigger: PassTrigger) async {
    let passes = Passes([Self.unavailable])
    let scheduler = scheduler(passes)
    for _ in 0..<5 { scheduler.trigger(trigger) }
    scheduler.start()
    scheduler.start()
    await clock.someoneSleeps(until: clock.now() + .seconds(1))
    #expect(passes.begun == 1)
    scheduler.stop()
  }

  @Test("never runs two passes at a time, and one more for what came meanwhile")
  func oneAtATime() async {
    let gate = Gate()
    let passes = Passes([.finished(writesWait: false), Self.unavailable], gate: gate)
    let scheduler = scheduler(passes)
    scheduler.start()
    scheduler.trigger(.queueNeedsSending)
    await passes.have(begun: 1)
    for _ in 0..<4 { for trigger in PassTrigger.allCases { scheduler.trigger(trigger) } }
    #expect(passes.begun == 1)
    gate.open()
    await clock.someoneSleeps(until: clock.now() + .seconds(1))
    #expect(passes.begun == 2)
    #expect(passes.mostRunning == 1)
    scheduler.stop()
  }

  @Test("waits on the clock, says until when, and a network that comes back ends the wait", arguments: [true, false])
  func waits(autoSync: Bool) async {
    let start = clock.now()
    let passes = Passes([Self.unavailable, Self.unavailable, .stopped(retryAfter: 30, isConnectivity: false)])
    let scheduler = scheduler(passes, autoSync: autoSync)
    scheduler.start()
    scheduler.trigger(.queueNeedsSending)
    await clock.someoneSleeps(until: start + .seconds(1))
    #expect(scheduler.nextTry == start + .seconds(1))
    clock.advance(by: .seconds(1))
    await clock.someoneSleeps(until: start + .seconds(3))
    #expect(scheduler.nextTry == start + .seconds(3))
    scheduler.trigger(.networkCameBack)
    if !autoSync {
      #expect(scheduler.nextTry == start + .seconds(3))
      clock.advance(by: .seconds(2))
    }
    await passes.have(begun: 3)
    let told = clock.now()
    await clock.someoneSleeps(until: told + .seconds(30))
    scheduler.trigger(.networkCameBack)
    clock.advance(by: .seconds(29))
    #expect(scheduler.nextTry == told + .seconds(30))
    #expect(passes.begun == 3)
    clock.advance(by: .seconds(1))
    await passes.have(begun: 4)
    scheduler.stop()
  }

  @Test("holds after one failed attempt while the monitor says offline, until it does not any more")
  func monitor() async {
    let passes = Passes([Self.offline, Self.offline, Self.offline])
    let scheduler = scheduler(passes)
    isOffline.isSet = true
    scheduler.start()
    scheduler.trigger(.queueNeedsSending)
    await passes.have(begun: 1)
    isOffline.isSet = false
    scheduler.noteNetworkChanged()
    await clock.someoneSleeps(until: clock.now() + .seconds(1))
    isOffline.isSet = true
    clock.advance(by: .seconds(1))
    await passes.have(begun: 2)
    isOffline.isSet = false
    scheduler.trigger(.networkCameBack)
    await passes.have(begun: 3)
    await clock.someoneSleeps(until: clock.now() + .seconds(1))
    scheduler.stop()
  }

  @Test("stop waits for nothing, and a pass that outlives it neither runs beside the next nor speaks for it")
  func stops() async {
    let gate = Gate()
    let passes = Passes([.stopped(retryAfter: 3_000, isConnectivity: false), Self.unavailable], gate: gate)
    let scheduler = scheduler(passes)
    scheduler.start()
    scheduler.trigger(.queueNeedsSending)
    await passes.have(begun: 1)
    scheduler.trigger(.queueNeedsSending)
    scheduler.stop()
    #expect(scheduler.nextTry == nil)
    scheduler.start()
    scheduler.trigger(.opened)
    gate.open()
    await passes.have(begun: 2)
    await clock.someoneSleeps(until: clock.now() + .seconds(1))
    #expect(passes.mostRunning == 1)
    scheduler.stop()
    #expect(scheduler.nextTry == nil)
  }

  @Test("stop ends a pass by cancelling its task")
  func cancels() async {
    let (begun, ended) = (Gate(), Gate())
    let scheduler = PassScheduler(
      clock: clock, executor: nil, autoSync: true, isKnownOffline: { false },
      pass: { [clock] in
        begun.open()
        try? await clock.sleep(for: .seconds(60))
        if Task.isCancelled { ended.open() }
        return .nothingToSend
      })
    scheduler.start()
    scheduler.trigger(.sessionSettled)
    await begun.opened()
    scheduler.stop()
    await ended.opened()
  }
}
