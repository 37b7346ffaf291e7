import Dispatch
import Synchronization

/// Work that a thread of its own does while the caller does something else.
package final class WorkBeside<Result: Sendable>: Sendable {
  private let result = Mutex<Result?>(nil)
  private let isDone = DispatchSemaphore(value: 0)

  /// Begins the work; where the system has no thread to give, does it before this returns.
  package init(_ work: @escaping @Sendable () -> Result) {
    let hasStarted = BlockingThread { [self] in finish(work()) }.start()
    if !hasStarted { finish(work()) }
  }

  private func finish(_ value: Result) {
    result.withLock { $0 = value }
    isDone.signal()
  }

  /// Blocks until the work is done; its result, any number of times.
  package func wait() -> Result {
    while true {
      isDone.wait()
      // For whoever asks next.
      isDone.signal()
      if let value = result.withLock(\.self) { return value }
    }
  }
}
