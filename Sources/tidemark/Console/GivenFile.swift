import FileWorkspace
import Glibc

/// A file that a person names on the command line.
enum GivenFile {
  /// The bytes of a file, `-` being standard input; `nil` where it cannot be read, and `errno` says why.
  ///
  /// More than a row's file may have is not read to its end: what was read shows that there is too much.
  static func bytes(at path: String) -> [UInt8]? {
    let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { if path != "-" { close(descriptor) } }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while bytes.count <= RowFile.bytesMax {
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      if count < 0 { return nil }
      if count == 0 { break }
      bytes += chunk[..<count]
    }
    return bytes
  }
}
