import Glibc
import OfflineEngine
import Threads

/// SIGINT and SIGTERM as elements of an async sequence, so that the work in hand can be finished.
public enum StopSignal {
  /// Where the handler writes and the reading thread waits.
  ///
  /// A handler may use almost nothing: `write` is allowed.
  private nonisolated(unsafe) static var writingEnd: Int32 = -1

  /// One element for each signal that comes from now on.
  ///
  /// A second signal ends the process at once.
  ///
  /// To be called once, by the command that runs until it is stopped.
  public static func received() -> AsyncStream<Int32> {
    var ends: [Int32] = [-1, -1]
    pipe(&ends)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    writingEnd = ends[1]
    for number in [SIGINT, SIGTERM] {
      signal(number) { number in
        var byte = UInt8(truncatingIfNeeded: number)
        write(StopSignal.writingEnd, &byte, 1)
      }
    }
    return AsyncStream { continuation in
      BlockingThread { [reading = ends[0]] in
        var count = 0
        var byte: UInt8 = 0
        while true {
          let got = read(reading, &byte, 1)
          if got < 0, errno == EINTR { continue }
          guard got == 1 else { return }
          count += 1
          if count > 1 { _exit(128 + Int32(byte)) }
          continuation.yield(Int32(byte))
        }
      }.start()
    }
  }

  /// Lets a write to a closed pipe or socket fail instead of ending the process.
  public static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }
}
