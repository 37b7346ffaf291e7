import OfflineEngine
import Synchronization

/// A clock that stands still until it is moved.
final class VirtualClock: EngineClock {
  private struct Sleeper {
    let number: Int
    let deadline: WallTime
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var now = WallTime(seconds: 1_792_328_400)  // 2026-10-18T13:00:00Z
    var count = 0
    var sleepers: [Sleeper] = []
    var cancelled: Set<Int> = []
    var watchers: [CheckedContinuation<Bool, Never>] = []
  }

  private let state = Mutex(State())

  func now() -> WallTime { state.withLock(\.now) }

  /// The time in microseconds, each time one more: no two writes of a server fall on one instant.
  func tick() -> Int64 {
    state.withLock { state in
      state.now.nanoseconds += 1_000
      return state.now.nanoseconds / 1_000
    }
  }

  func sleep(for duration: Duration) async throws {
    let number = state.withLock { state in
      state.count += 1
      return state.count
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let (watchers, isCancelled) = state.withLock { state in
          if state.cancelled.contains(number) { return ([CheckedContinuation<Bool, Never>](), true) }
          state.sleepers.append(
            Sleeper(number: number, deadline: state.now + duration, continuation: continuation))
          defer { state.watchers = [] }
          return (state.watchers, false)
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
        for watcher in watchers { watcher.resume(returning: false) }
      }
    } onCancel: {
      let sleeper = state.withLock { state -> Sleeper? in
        state.cancelled.insert(number)
        guard let index = state.sleepers.firstIndex(where: { $0.number == number }) else { return nil }
        return state.sleepers.remove(at: index)
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }

  /// Returns once somebody sleeps, or somebody sleeps until that very time.
  func someoneSleeps(until deadline: WallTime? = nil) async {
    var isFound = false
    while !isFound {
      isFound = await withCheckedContinuation { continuation in
        let isSleeping = state.withLock { state in
          let isSleeping = state.sleepers.contains { deadline == nil || $0.deadline == deadline }
          if !isSleeping { state.watchers.append(continuation) }
          return isSleeping
        }
        if isSleeping { continuation.resume(returning: true) }
      }
    }
  }

  /// The times until which somebody sleeps.
  var deadlines: [WallTime] { state.withLock { $0.sleepers.map(\.deadline).sorted() } }

  /// Moves the time and wakes whoever's time has come.
  func advance(by duration: Duration) {
    let woken = state.withLock { state in
      state.now = state.now + duration
      let woken = state.sleepers.filter { $0.deadline <= state.now }
      state.sleepers.removeAll { $0.deadline <= state.now }
      return woken
    }
    for sleeper in woken { sleeper.continuation.resume() }
  }
}
