import Synchronization

/// The faults of a running stand-in, asked for by whatever can misbehave.
final class Misbehaviour: Sendable {
  private let plan: Mutex<FaultPlan>
  /// The machine's time, which no fault moves.
  private let machineTime: @Sendable () -> Int64
  private let listener = Mutex(Listener())

  /// In a type of its own: a bare function in a `Mutex` gets a wrapper more with each look.
  private struct Listener {
    var laid: (@Sendable () -> Void)?
  }

  init(_ faults: [StandInFault], seed: UInt64, now: @escaping @Sendable () -> Int64) {
    machineTime = now
    var plan = FaultPlan(seed: seed)
    plan.lay(faults, now: now())
    self.plan = Mutex(plan)
  }

  /// What is laid out; faults that are used up or over leave the list by themselves.
  var faults: [StandInFault] {
    get { plan.withLock { $0.faults(now: machineTime()) } }
    set {
      plan.withLock { $0.lay(newValue, now: machineTime()) }
      listener.withLock(\.laid)?()
    }
  }

  /// Has `action` called whenever faults are laid out, for whoever is not asked by a request.
  func whenLaid(_ action: @escaping @Sendable () -> Void) { listener.withLock { $0.laid = action } }

  /// The server's time, microseconds from the Unix epoch.
  func now() -> Int64 {
    let time = machineTime()
    return time + Int64(plan.withLock { $0.clockSkew(now: time) }) * 1_000_000
  }

  // MARK: What is met

  /// What happens to a request that has arrived whole.
  func met(by request: StandInRequest) -> [StandInFault.Kind] {
    take(for: request) { kind in
      switch kind {
      case .slowUpload, .clockSkew, .realtimeSilence, .realtimeDisconnect: false
      default: true
      }
    }
  }

  /// How fast the body of a request is read, in bytes a second; `nil` for as fast as it comes.
  func uploadSpeed(for head: StandInRequest) -> Int? {
    let met = take(for: head) { kind in if case .slowUpload = kind { true } else { false } }
    return met.compactMap { kind in if case .slowUpload(let speed) = kind { speed } else { nil } }.min()
  }

  /// Whether the next message to a Realtime client is swallowed.
  ///
  /// - Parameter request: The request that opened the connection.
  func silences(_ request: StandInRequest) -> Bool { !take(for: request) { $0 == .realtimeSilence }.isEmpty }

  /// Whether a Realtime connection is to be cut now.
  ///
  /// - Parameter request: The request that opened the connection.
  func disconnects(_ request: StandInRequest) -> Bool { !take(for: request) { $0 == .realtimeDisconnect }.isEmpty }

  private func take(
    for request: StandInRequest, where isWanted: (StandInFault.Kind) -> Bool
  ) -> [StandInFault.Kind] {
    plan.withLock { $0.take(for: request, now: machineTime(), where: isWanted) }
  }
}
