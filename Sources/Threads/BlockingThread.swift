import Glibc

/// A thread for a call that blocks for ever, such as waiting for a connection or a signal.
///
/// The concurrency runtime's own threads are few and must not be held up so.
package struct BlockingThread {
  private let body: @Sendable () -> Void

  /// A thread that will do `body`.
  package init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  /// Starts it.
  ///
  /// - Returns: False when the system has no thread to give; `body` is then never called.
  @discardableResult
  package func start() -> Bool {
    final class Box {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    let box = Unmanaged.passRetained(Box(body))
    let error = pthread_create(
      &thread, nil,
      { argument in
        if let argument { Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body() }
        return nil
      }, box.toOpaque())
    guard error == 0 else {
      box.release()
      return false
    }
    pthread_detach(thread)
    return true
  }
}
