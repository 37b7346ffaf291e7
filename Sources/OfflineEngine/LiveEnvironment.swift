import FoundationEssentials
import Glibc
import SupabaseAPI

/// The system's clock.
public struct LiveClock: EngineClock {
  /// The system's clock.
  public init() {}

  /// The system's time.
  public func now() -> WallTime {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return WallTime(seconds: Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
  }

  /// The time since the system was started, without the time it slept.
  public func elapsed() -> Duration { time(CLOCK_MONOTONIC) }

  /// What the clock that goes on while the machine sleeps is ahead of the one that does not (clock_gettime(2)).
  public func suspended() -> Duration {
    let awake = elapsed()  // First, so that what passes between the two does not go below zero.
    return time(CLOCK_BOOTTIME) - awake
  }

  private func time(_ clock: clockid_t) -> Duration {
    var time = timespec()
    clock_gettime(clock, &time)
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
  }

  /// Waits on the system's clock.
  public func sleep(for duration: Duration) async throws {
    try await Task.sleep(for: duration)
  }
}

extension EngineEnvironment {
  /// The real world, with the given network.
  public static func live(http: any HTTPExchange, sockets: (any WebSocketOpener)? = nil) -> EngineEnvironment {
    EngineEnvironment(
      clock: LiveClock(), http: http, makeID: { UUID().uuidString.lowercased() }, sockets: sockets,
      jitter: { Double.random(in: 0...1) })
  }
}
