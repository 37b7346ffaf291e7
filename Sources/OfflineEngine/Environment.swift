import FoundationEssentials
import SupabaseAPI

/// A point in time in nanoseconds since 1970-01-01T00:00:00Z.
public struct WallTime: Sendable, Hashable, Comparable {
  /// Nanoseconds since the Unix epoch; good until the year 2262.
  public var nanoseconds: Int64

  /// The time that many nanoseconds after the Unix epoch.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The time that many seconds after the Unix epoch, or the last or first that can be told.
  public init(seconds: Int64) {
    let (whole, isTooFar) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    nanoseconds = isTooFar ? (seconds < 0 ? .min : .max) : whole
  }

  /// Whole seconds since the Unix epoch, rounded down.
  public var seconds: Int64 { nanoseconds.dividedFloor(by: 1_000_000_000) }

  /// The time in UTC as RFC 3339 with whole seconds, such as `2026-10-18T13:00:27Z`.
  public var text: String { Self.text(secondsSince1970: seconds) }

  /// A moment in the same form, also one that is too far away for a `WallTime`: strangers' tokens, rows and photos name such.
  public static func text(secondsSince1970 seconds: Int64) -> String {
    Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
  }

  /// Orders by time.
  public static func < (left: WallTime, right: WallTime) -> Bool { left.nanoseconds < right.nanoseconds }

  /// The time `duration` after `time`, or the last or first that can be told.
  public static func + (time: WallTime, duration: Duration) -> WallTime {
    WallTime(nanoseconds: (.nanoseconds(time.nanoseconds) + duration).nanoseconds)
  }

  /// How long after `right` the time `left` is; negative when it is before.
  public static func - (left: WallTime, right: WallTime) -> Duration {
    .nanoseconds(left.nanoseconds) - .nanoseconds(right.nanoseconds)
  }
}

extension Duration {
  /// The whole duration in nanoseconds; what is longer than 292 years counts as that long.
  public var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isJustTooLong) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
    return isTooLong || isJustTooLong ? (seconds < 0 ? .min : .max) : sum
  }
}

extension Int64 {
  fileprivate func dividedFloor(by divisor: Int64) -> Int64 {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}

/// The clock of one environment: the only place where the engine and the workspace learn the time or wait.
public protocol EngineClock: Sendable {
  /// The device's time.
  func now() -> WallTime
  /// The time since some moment of this run, on a clock that never goes back.
  func elapsed() -> Duration
  /// How long the machine has slept since it was started.
  func suspended() -> Duration
  /// Returns after `duration`, or throws `CancellationError` when the task is cancelled before.
  func sleep(for duration: Duration) async throws
}

extension EngineClock {
  /// The time itself, for a clock that is never set.
  public func elapsed() -> Duration { .nanoseconds(now().nanoseconds) }

  /// Never, for a clock whose machine does not sleep.
  public func suspended() -> Duration { .zero }
}

/// Everything outside the process that the engine uses, given at construction.
public struct EngineEnvironment: Sendable {
  /// The time.
  public var clock: any EngineClock
  /// The network.
  public var http: any HTTPExchange
  /// Makes live connections; `nil` where there are none.
  public var sockets: (any WebSocketOpener)?
  /// Makes a new random identifier: a version 4 UUID in lower case (RFC 9562).
  public var makeID: @Sendable () -> String
  /// Gives numbers from 0 to 1, which spread what many clients would else do at one time.
  public var jitter: @Sendable () -> Double
  /// Where a resolver runs, since a pass must not wait for one that never ends; `nil` for the system's threads.
  public var executor: (any TaskExecutor)?

  /// An environment of the given parts.
  public init(
    clock: any EngineClock, http: any HTTPExchange, makeID: @escaping @Sendable () -> String,
    executor: (any TaskExecutor)? = nil, sockets: (any WebSocketOpener)? = nil,
    jitter: @escaping @Sendable () -> Double = { 0.5 }
  ) {
    self.clock = clock
    self.http = http
    self.makeID = makeID
    self.executor = executor
    self.sockets = sockets
    self.jitter = jitter
  }
}
