import OfflineEngine

/// Tells when the network comes and goes, and when the machine has slept: hints, never gates (spec 4).
struct NetworkWatch {
  /// What happened.
  enum News: Sendable, Equatable {
    /// The monitor says that there is no network.
    case wentAway
    /// It says so no more.
    case cameBack
    /// The machine was asleep: nothing that was open can be relied on, and much may have happened.
    case woke(after: Duration)
  }

  /// Where news of the network come from; `nil` for a server on this machine, which needs none.
  let connectivity: (any ConnectivitySource)?
  let clock: any EngineClock

  /// How often it is looked whether the machine has slept.
  static let lookEvery = Duration.seconds(5)
  /// A shorter sleep breaks nothing.
  private static let shortestSleep = Duration.seconds(2)

  /// Tells news until it is cancelled.
  func run(_ tell: @escaping @Sendable (News) -> Void) async {
    await withDiscardingTaskGroup { group in
      group.addTask { await watchNetwork(tell) }
      group.addTask { await watchSleep(tell) }
    }
  }

  private func watchNetwork(_ tell: @Sendable (News) -> Void) async {
    guard let connectivity else { return }
    var wasOffline = false
    for await state in connectivity.states() {
      let isOffline = state == .offline
      if isOffline != wasOffline { tell(isOffline ? .wentAway : .cameBack) }
      wasOffline = isOffline
    }
  }

  private func watchSleep(_ tell: @Sendable (News) -> Void) async {
    var before = clock.suspended()
    while (try? await clock.sleep(for: Self.lookEvery)) != nil {
      let now = clock.suspended()
      if now - before >= Self.shortestSleep { tell(.woke(after: now - before)) }
      before = now
    }
  }
}
