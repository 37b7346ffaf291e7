import Glibc

/// The system's clock.
enum LiveClock {
  /// Microseconds from the Unix epoch.
  @Sendable static func microseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
  }
}
