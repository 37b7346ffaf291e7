import Glibc

/// A file that a command makes where there is none.
enum NewFile {
  /// Writes the bytes into a file that is not there yet; `errno` says why it could not be done.
  ///
  /// - Parameter mode: Who may read and write it, as far as the process's mask lets it.
  static func write(_ bytes: [UInt8], to path: String, mode: mode_t) -> Bool {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
    guard descriptor >= 0 else { return false }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      rest = rest.dropFirst(count)
    }
    let reason = errno
    let isClosed = close(descriptor) == 0
    if !rest.isEmpty { errno = reason }
    return isClosed && rest.isEmpty
  }
}
