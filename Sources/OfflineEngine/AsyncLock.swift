import Synchronization

/// Lets one async caller through at a time, in the order they came.
final class AsyncLock: Sendable {
  private struct State {
    var isHeld = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  /// Runs `body` while no other caller runs theirs.
  func withLock<T, E: Error>(_ body: () async throws(E) -> T) async throws(E) -> T {
    await acquire()
    defer { release() }
    return try await body()
  }

  private func acquire() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if !state.isHeld {
          state.isHeld = true
          return true
        }
        state.waiters.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  private func release() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard !state.waiters.isEmpty else {
        state.isHeld = false
        return nil
      }
      return state.waiters.removeFirst()  // The lock passes on held, so that nobody overtakes.
    }
    next?.resume()
  }
}
