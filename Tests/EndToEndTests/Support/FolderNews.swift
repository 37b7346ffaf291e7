import Foundation
import Glibc

/// The kernel's news of names that come into folders, for a thread that waits for what a program does there.
final class FolderNews {
  private let descriptor: Int32

  /// Watches from now on.
  init(of folders: [String]) throws {
    descriptor = inotify_init1(Int32(IN_CLOEXEC))
    for folder in folders {
      guard inotify_add_watch(descriptor, folder, UInt32(IN_CREATE | IN_MOVED_TO)) >= 0 else {
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
      }
    }
  }

  deinit { close(descriptor) }

  /// Blocks until a name has come since the last call, or since the beginning.
  func wait() {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while read(descriptor, &buffer, buffer.count) < 0, errno == EINTR {}
  }
}
