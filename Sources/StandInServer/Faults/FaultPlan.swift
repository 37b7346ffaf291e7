import Randomness

/// The faults that are laid out, and which of them the next request meets.
struct FaultPlan {
  private struct Laid {
    var fault: StandInFault
    /// When it is over, microseconds from the Unix epoch.
    let end: Int64?
  }

  private var laid: [Laid] = []
  private var random: SeededRandom

  /// - Parameter seed: Decides, with the order of the requests, whom a fault by chance happens to.
  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  /// Lays faults out in place of those that are there.
  mutating func lay(_ faults: [StandInFault], now: Int64) {
    laid = faults.map { fault in Laid(fault: fault, end: fault.lasts.map { now + Int64($0) * 1_000 }) }
  }

  /// What is left of the faults: how often, and how long.
  func faults(now: Int64) -> [StandInFault] {
    laid.compactMap { one in
      guard let end = one.end else { return one.fault }
      guard now < end else { return nil }
      var fault = one.fault
      fault.lasts = Int((end - now + 999) / 1_000)
      return fault
    }
  }

  /// The faults of some kinds for a request; each is used up by one.
  ///
  /// What is left to chance is settled in the result.
  mutating func take(
    for request: StandInRequest, now: Int64, where isWanted: (StandInFault.Kind) -> Bool
  ) -> [StandInFault.Kind] {
    // One that is over is gone for good, even where the clock goes back.
    laid.removeAll { one in one.end.map { $0 <= now } ?? false }
    var met: [StandInFault.Kind] = []
    for index in laid.indices where isWanted(laid[index].fault.kind) && laid[index].fault.fits(request) {
      if laid[index].fault.skipping > 0 {
        laid[index].fault.skipping -= 1
        continue
      }
      if laid[index].fault.times == 0 { continue }
      if laid[index].fault.probability < 1, Double.random(in: 0..<1, using: &random) >= laid[index].fault.probability {
        continue
      }
      laid[index].fault.times = laid[index].fault.times.map { $0 - 1 }
      met.append(settled(laid[index].fault.kind))
    }
    laid.removeAll { $0.fault.times == 0 }
    return met
  }

  private mutating func settled(_ kind: StandInFault.Kind) -> StandInFault.Kind {
    guard case .latency(let milliseconds, let jitter) = kind, jitter > 0 else { return kind }
    return .latency(milliseconds: milliseconds + Int.random(in: 0...jitter, using: &random))
  }

  /// How far the server's clock is ahead, in seconds.
  func clockSkew(now: Int64) -> Int {
    laid.reduce(0) { sum, one in
      guard case .clockSkew(let seconds) = one.fault.kind, one.end.map({ now < $0 }) ?? true else { return sum }
      return sum + seconds
    }
  }
}
