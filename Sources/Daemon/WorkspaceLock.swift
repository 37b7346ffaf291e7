import Glibc

/// The right to change one workspace's state: held by one process at a time.
///
/// A lock of the kernel on an open file (`flock(2)`), so that it ends with the process however that ends; the file's text
/// is the holder's process id, for messages only.
public final class WorkspaceLock: Sendable {
  private let descriptor: Int32

  /// Takes the lock on the file at `path`.
  ///
  /// - Throws: `DaemonError.locked` with the holder's process id when another process has it.
  public init(path: String) throws(DaemonError) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .file(path: path, reason: String(cString: strerror(errno))) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let holder = Self.holder(descriptor)
      close(descriptor)
      throw .locked(path: path, processID: holder)
    }
    let text = Array("\(getpid())\n".utf8)
    ftruncate(descriptor, 0)
    pwrite(descriptor, text, text.count, 0)
    self.descriptor = descriptor
  }

  deinit {
    ftruncate(descriptor, 0)
    close(descriptor)
  }

  private static func holder(_ descriptor: Int32) -> Int32? {
    var bytes = [UInt8](repeating: 0, count: 32)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    guard count > 0 else { return nil }
    return Int32(String(decoding: bytes[..<count].prefix { $0 != 10 }, as: UTF8.self))
  }

  /// The process that holds the lock on the file at `path`, without touching it; `nil` for nobody, or where the kernel
  /// does not tell (proc(5), `/proc/locks`).
  static func holder(path: String) -> Int32? {
    var status = stat()
    guard stat(path, &status) == 0, let table = WorkspaceFolder.bytes("/proc/locks") else { return nil }
    for line in String(decoding: table, as: UTF8.self).split(separator: "\n") {
      // "1: FLOCK  ADVISORY  WRITE 1234 08:01:131 0 EOF"
      let words = line.split(separator: " ")
      guard words.count > 5, words[1] == "FLOCK", let process = Int32(words[4]), process > 0,
        words[5].split(separator: ":").last.flatMap({ UInt64($0) }) == UInt64(status.st_ino)
      else { continue }
      return process
    }
    return nil
  }
}
