import Hashing

/// What the stand-in takes from the world: the time and randomness.
///
/// Tests hand in their own.
public struct StandInEffects: Sendable {
  /// The time, microseconds from the Unix epoch.
  public var now: @Sendable () -> Int64
  /// Random bytes fit for keys.
  public var randomBytes: @Sendable (Int) -> [UInt8]

  /// Effects of the caller's choice.
  public init(now: @escaping @Sendable () -> Int64, randomBytes: @escaping @Sendable (Int) -> [UInt8]) {
    self.now = now
    self.randomBytes = randomBytes
  }

  /// The system's clock and the operating system's randomness.
  public static let live = StandInEffects(now: LiveClock.microseconds, randomBytes: Crypto.randomBytes)
}
