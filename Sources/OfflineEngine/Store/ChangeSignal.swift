import Synchronization

/// Says that something changed to whoever follows it, without saying what: they look again.
final class ChangeSignal: Sendable {
  private struct State {
    var followers: [Int: AsyncStream<Void>.Continuation] = [:]
    var count = 0
    var isOver = false
  }

  private let state = Mutex(State())

  /// Rings for everybody who follows; rings that nobody has heard yet are one.
  func ring() { for follower in state.withLock({ Array($0.followers.values) }) { follower.yield() } }

  /// The rings from now on, the first at once.
  ///
  /// Ending the loop unfollows, and `finish()` ends it.
  func rings() -> AsyncStream<Void> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let number = state.withLock { state in
        state.count += 1
        if !state.isOver { state.followers[state.count] = continuation }
        return state.isOver ? 0 : state.count
      }
      continuation.yield()
      guard number > 0 else { return continuation.finish() }
      continuation.onTermination = { [weak self] _ in
        _ = self?.state.withLock { $0.followers.removeValue(forKey: number) }
      }
    }
  }

  /// Ends every loop over the rings, those to come too.
  func finish() {
    let followers = state.withLock { state in
      defer { state.followers = [:] }
      state.isOver = true
      return Array(state.followers.values)
    }
    for follower in followers { follower.finish() }
  }
}
