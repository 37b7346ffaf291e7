import Glibc

/// A folder in `/tmp` that goes with the process: removed when it is let go of, or, when the process was killed, by the
/// next one that makes such a folder.
///
/// A process holds a lock on a file in its folder; the kernel lets go of it however the process ends.
final class TemporaryFolder: Sendable {
  let path: String
  private let lock: Int32

  private static let parent = "/tmp"
  private static let lockName = "lock"

  /// Makes one; `nil` when that fails, with the reason in `errno`.
  init?(named name: String) {
    Self.removeAbandoned(named: name)
    // Another process may take the new folder for an abandoned one as long as its lock is not held; then once more.
    for _ in 0..<16 {
      var template = Array("\(Self.parent)/\(name).XXXXXX".utf8CString)
      guard mkdtemp(&template) != nil else { return nil }
      let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      let lock = open("\(path)/\(Self.lockName)", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard lock >= 0 else { continue }
      var status = stat()
      if flock(lock, LOCK_EX | LOCK_NB) == 0, fstat(lock, &status) == 0, status.st_nlink > 0 {
        self.path = path
        self.lock = lock
        return
      }
      close(lock)
    }
    return nil
  }

  deinit {
    Self.remove(path)
    close(lock)
  }

  private static func removeAbandoned(named name: String) {
    for folder in ObjectFiles.names(in: parent) where folder.hasPrefix("\(name).") {
      let path = "\(parent)/\(folder)"
      // Without following a link, and only what is this user's: anybody may put names into /tmp.
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else { continue }
      let lock = open("\(path)/\(lockName)", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
      guard lock >= 0 else { continue }
      if flock(lock, LOCK_EX | LOCK_NB) == 0 { remove(path) }
      close(lock)
    }
  }

  /// Removes a folder with its files and the files in the folders directly in it.
  private static func remove(_ path: String) {
    for name in ObjectFiles.names(in: path) where unlink("\(path)/\(name)") != 0 {
      for file in ObjectFiles.names(in: "\(path)/\(name)") { unlink("\(path)/\(name)/\(file)") }
      rmdir("\(path)/\(name)")
    }
    rmdir(path)
  }
}
