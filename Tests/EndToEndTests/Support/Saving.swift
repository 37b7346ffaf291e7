import Foundation
import Testing

/// Writes a file in place, as an editor that keeps the inode does, and leaves it open to nobody.
///
/// Foundation's own writing lets a process that another test starts meanwhile inherit the open file, which then counts as
/// still being written for as long as that process runs.
func save(_ data: Data, to path: String) throws {
  let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
  try #require(descriptor >= 0, "\(path): \(String(cString: strerror(errno)))")
  let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  try handle.write(contentsOf: data)
  try handle.close()
}
