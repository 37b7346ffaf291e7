import Synchronization

/// A bell that one loop waits on: rung while nobody waits, it rings as soon as somebody does; many rings are one.
package final class Wake: Sendable {
  private struct State {
    var isRung = false
    var isFinished = false
    var waiter: (id: UInt64, continuation: CheckedContinuation<Void, Never>)?
    var nextID: UInt64 = 0
  }

  private let state = Mutex(State())

  /// A bell that nobody has rung.
  package init() {}

  /// Ends the wait of now, or the next one.
  package func ring() { release { $0.isRung = true } }

  /// Ends every wait at once, now and later.
  package func finish() { release { $0.isFinished = true } }

  private func release(_ change: (inout State) -> Void) {
    let waiter = state.withLock { state in
      change(&state)
      defer { state.waiter = nil }
      if state.waiter != nil { state.isRung = false }
      return state.waiter?.continuation
    }
    waiter?.resume()
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
          state.waiter = (id, continuation)
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
        guard let waiter = state.waiter, waiter.id == id else { return nil }
        state.waiter = nil
        return waiter.continuation
      }
      waiter?.resume()
    }
  }
}
