import Glibc

/// The system's clocks.
enum LiveClock {
  /// The wall clock, microseconds from the Unix epoch.
  @Sendable static func microseconds() -> Int64 { read(CLOCK_REALTIME) / 1_000 }

  /// A clock that only goes forward, in nanoseconds, for measuring.
  static func monotonicNanoseconds() -> Int64 { read(CLOCK_MONOTONIC) }

  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
