import Glibc

/// SIGINT and SIGTERM as one value in an async sequence, so that the work in hand can be finished.
public enum StopSignal {
  /// Takes both signals from the process's threads; to be called before any other thread is started.
  public static func block() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGINT)
    sigaddset(&signals, SIGTERM)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    signal(SIGPIPE, SIG_IGN)
  }

  /// One element for each signal that comes.
  ///
  /// A second signal ends the process at once.
  public static func received() -> AsyncStream<Int32> {
    AsyncStream { continuation in
      BlockingThread {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        var count = 0
        while true {
          var number: Int32 = 0
          guard sigwait(&signals, &number) == 0 else { continue }
          count += 1
          if count > 1 { _exit(128 + number) }
          continuation.yield(number)
        }
      }.start()
    }
  }
}
