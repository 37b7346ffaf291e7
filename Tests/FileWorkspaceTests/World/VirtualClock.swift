import OfflineEngine
import Synchronization

/// A clock that a test moves; whoever sleeps waits until it is cancelled.
final class VirtualClock: EngineClock {
  private let nanoseconds = Mutex<Int64>(1_790_000_000_000_000_000)

  func now() -> WallTime { WallTime(nanoseconds: nanoseconds.withLock(\.self)) }

  func sleep(for duration: Duration) async throws {
    let (silence, end) = AsyncStream<Void>.makeStream()
    for await _ in silence {}
    withExtendedLifetime(end) {}
    throw CancellationError()
  }

  /// How far the clock was set forward in all.
  private let leapt = Mutex<Int64>(0)

  func elapsed() -> Duration { .nanoseconds(now().nanoseconds - leapt.withLock(\.self)) }

  /// Sets the clock forward, with no time passing.
  func leap(_ duration: Duration) {
    leapt.withLock { $0 += duration.nanoseconds }
    advance(duration)
  }

  func advance(_ duration: Duration) { nanoseconds.withLock { $0 += duration.nanoseconds } }

  /// The time in microseconds, never the same twice: no two writes of a server have one version.
  func tick() -> Int64 {
    nanoseconds.withLock {
      $0 += 1_000
      return $0 / 1_000
    }
  }
}
