import OfflineEngine
import Synchronization

/// The one time of a world, which moves only when nothing is left to do, and then straight to what comes next.
final class Timeline: Sendable {
  private enum Happening {
    case wake(CheckedContinuation<Void, any Error>)
    case run(@Sendable () -> Void)
  }

  private struct Entry {
    let at: Int64
    let number: UInt64
    let happening: Happening
  }

  private struct State {
    var now: Int64
    /// Sorted, the next one last.
    var entries: [Entry] = []
    var lastNumber: UInt64 = 0

    mutating func insert(_ entry: Entry) {
      var (low, high) = (0, entries.count)
      while low < high {
        let middle = (low + high) / 2
        let other = entries[middle]
        if (other.at, other.number) > (entry.at, entry.number) { low = middle + 1 } else { high = middle }
      }
      entries.insert(entry, at: low)
    }
  }

  private let state: Mutex<State>

  /// A time that begins at `start`, in nanoseconds since 1970.
  init(start: Int64) { state = Mutex(State(now: start)) }

  /// Nanoseconds since 1970.
  var now: Int64 { state.withLock(\.now) }

  /// Lets something happen after a while, on the thread that moves the time.
  func schedule(after nanoseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.lastNumber += 1
      state.insert(Entry(at: state.now + max(nanoseconds, 0), number: state.lastNumber, happening: .run(body)))
    }
  }

  /// Returns after a while of this time, or throws `CancellationError` when the task is cancelled before.
  func sleep(nanoseconds: Int64) async throws {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isCancelled = state.withLock { state in
          if Task.isCancelled { return true }
          state.insert(
            Entry(at: state.now + max(nanoseconds, 0), number: number, happening: .wake(continuation)))
          return false
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      let sleeper = state.withLock { state -> Happening? in
        guard let index = state.entries.firstIndex(where: { $0.number == number }) else { return nil }
        return state.entries.remove(at: index).happening
      }
      if case .wake(let continuation)? = sleeper { continuation.resume(throwing: CancellationError()) }
    }
  }

  /// Moves on to what happens next, and lets it happen; false when nothing does up to `limit`, where the time then stands.
  func advance(upTo limit: Int64) -> Bool {
    let next: Happening? = state.withLock { state in
      guard let entry = state.entries.last, entry.at <= limit else {
        state.now = max(state.now, limit)
        return nil
      }
      state.entries.removeLast()
      state.now = max(state.now, entry.at)
      return entry.happening
    }
    switch next {
    case .wake(let continuation)?: continuation.resume()
    case .run(let body)?: body()
    case nil: return false
    }
    return true
  }

  /// The time in microseconds, never the same twice: no two writes of a server have one version.
  func tick() -> Int64 {
    state.withLock { state in
      state.now += 1_000
      return state.now / 1_000
    }
  }
}

/// The clock of one device, which may go wrong and be set.
final class DeviceClock: EngineClock {
  private let timeline: Timeline
  private let start: Int64
  private let skew: Atomic<Int64>
  private let slept = Atomic<Int64>(0)

  init(_ timeline: Timeline, skew: Duration) {
    self.timeline = timeline
    start = timeline.now
    self.skew = Atomic(skew.nanoseconds)
  }

  /// Sets the clock, so far beside the true time.
  func set(skew: Duration) { self.skew.store(skew.nanoseconds, ordering: .relaxed) }

  /// Adds to the time that the machine has slept.
  func suspend(for duration: Duration) { slept.add(duration.nanoseconds, ordering: .relaxed) }

  func suspended() -> Duration { .nanoseconds(slept.load(ordering: .relaxed)) }

  func now() -> WallTime { WallTime(nanoseconds: timeline.now + skew.load(ordering: .relaxed)) }

  func elapsed() -> Duration { .nanoseconds(timeline.now - start) }

  func sleep(for duration: Duration) async throws { try await timeline.sleep(nanoseconds: duration.nanoseconds) }
}
