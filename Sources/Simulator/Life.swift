import Synchronization

/// One run of the program on a device: from the moment it is over, nothing that it still does has any effect.
///
/// Everything that reaches out of the process counts as an effect: a file operation, a commit, a request. So a process can
/// die between any two of them.
final class Life: Sendable {
  private struct State {
    var isOver = false
    var effectsLeft = Int.max
    var isDiskFull = false
  }

  private let state = Mutex(State())
  private let hasDied: @Sendable () -> Void

  /// - Parameter hasDied: Called when the planned end has come.
  init(hasDied: @escaping @Sendable () -> Void) { self.hasDied = hasDied }

  var isOver: Bool { state.withLock(\.isOver) }

  func end() { state.withLock { $0.isOver = true } }

  /// Ends it after so many effects more.
  func end(afterEffects count: Int) { state.withLock { $0.effectsLeft = count } }

  var isDiskFull: Bool {
    get { state.withLock(\.isDiskFull) }
    set { state.withLock { $0.isDiskFull = newValue } }
  }

  /// Counts an effect; false when it must not happen.
  func mayAct() -> Bool {
    let (mayAct, endsNow) = state.withLock { state -> (Bool, Bool) in
      if state.isOver { return (false, false) }
      if state.effectsLeft == 0 {
        state.isOver = true
        return (false, true)
      }
      if state.effectsLeft != .max { state.effectsLeft -= 1 }
      return (true, false)
    }
    if endsNow { hasDied() }
    return mayAct
  }
}
