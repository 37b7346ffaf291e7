import Synchronization

/// A bell that loops wait on: rung while nobody waits, it rings as soon as somebody does; many rings are one.
///
/// A ring ends the waits of all who wait just then.
package final class Wake: Sendable {
  private struct State {
    var isRung = false
    var isFinished = false
    /// In the order in which they came.
    var waiters: [(id: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
    var nextID: UInt64 = 0
  }

  private let state = Mutex(State())

  /// A bell that nobody has rung.
  package init() {}

  /// How many wait just now.
  var waiterCount: Int { state.withLock(\.waiters.count) }

  /// Ends the waits of now, or the next one.
  package func ring() { release { $0.isRung = true } }

  /// Ends every wait at once, now and later.
  package func finish() { release { $0.isFinished = true } }

  private func release(_ change: (inout State) -> Void) {
    let waiters = state.withLock { state in
      change(&state)
      defer { state.waiters = [] }
      if !state.waiters.isEmpty { state.isRung = false }
      return state.waiters
    }
    for waiter in waiters { waiter.continuation.resume() }
  }

  /// Waits for a ring, at most for `limit`, or for ever when it is `nil`.
  package func wait(upTo limit: Duration?, clock: any EngineClock) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.next() }
      if let limit { group.addTask { try? await clock.sleep(for: limit) } }
      await group.next()
      group.cancelAll()
    }
  }

  private func next() async {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          if state.isRung || state.isFinished || Task.isCancelled {
            state.isRung = false
            return true
          }
          state.waiters.append((id, continuation))
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
        guard let place = state.waiters.firstIndex(where: { $0.id == id }) else { return nil }
        return state.waiters.remove(at: place).continuation
      }
      waiter?.resume()
    }
  }
}
