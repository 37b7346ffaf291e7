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
    return WallTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  /// The time since the system was started.
  public func elapsed() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
  }

  /// Waits on the system's clock.
  public func sleep(for duration: Duration) async throws {
    try await Task.sleep(for: duration)
  }
}

extension EngineEnvironment {
  /// The real world, with the given network.
  public static func live(http: any HTTPExchange) -> EngineEnvironment {
    EngineEnvironment(clock: LiveClock(), http: http, makeID: { UUID().uuidString.lowercased() })
  }
}
