import Glibc
import Synchronization

/// The workspace's log: what happened, an entry a line, in `.tidemark/log` with mode 0600.
///
/// Bounded: a file that is full becomes `.tidemark/log.1`, and the one before that is gone. Only the process that holds the
/// workspace's lock writes; anybody may read.
public final class EventLog: Sendable {
  /// How large one of the two files gets.
  public static let bytesMax = 4 << 20

  private let path: String
  private let bytesMax: Int
  private let isWriting = Mutex(())

  /// The log of a workspace.
  public convenience init(_ folder: WorkspaceFolder) { self.init(path: "\(folder.statePath)/log") }

  init(path: String, bytesMax: Int = EventLog.bytesMax) {
    self.path = path
    self.bytesMax = bytesMax
  }

  private var olderPath: String { "\(path).1" }

  /// Appends entries.
  ///
  /// What cannot be written is dropped: a log must not keep the work from going on.
  public func append(_ entries: [LogEntry]) {
    if entries.isEmpty { return }
    isWriting.withLock { _ in
      var lines: [UInt8] = []
      var size = size
      for entry in entries {
        let line = Array(entry.json.serialized().utf8) + [10]
        if !lines.isEmpty, size + lines.count + line.count > bytesMax {
          write(lines)
          lines = []
          size = self.size
        }
        lines += line
      }
      write(lines)
    }
  }

  private var size: Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }

  private func write(_ lines: [UInt8]) {
    if size > 0, size + lines.count > bytesMax { rename(path, olderPath) }
    let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var rest = lines[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return }
      rest = rest.dropFirst(count)
    }
  }

  /// The entries, oldest first.
  public func entries() -> [LogEntry] {
    [olderPath, path].flatMap { path in
      (WorkspaceFolder.bytes(path) ?? []).split(separator: 10).compactMap { LogEntry(line: $0) }
    }
  }
}
