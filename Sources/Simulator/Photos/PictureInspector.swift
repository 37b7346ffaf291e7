import FileWorkspace
import Glibc

/// Looks at pictures of a simulated disk as the program looks at those of a real one.
///
/// The library that reads images opens files by their paths. So the bytes are put into a file without a name.
enum PictureInspector {
  static let inspect: PhotoInspector = { file throws(PhotoFault) in
    var bytes = [UInt8](repeating: 0, count: Int(file.status.size))
    do {
      let count = try bytes.withUnsafeMutableBytes { try file.read(at: 0, into: $0) }
      bytes.removeLast(bytes.count - count)
    } catch {
      throw PhotoFault("\(error)")
    }
    return try PhotoFacts.inspect(NamelessFile(bytes, like: file))
  }

  private final class NamelessFile: ReadableFile {
    private let file: any ReadableFile
    private let descriptor: Int32

    init(_ bytes: [UInt8], like file: any ReadableFile) throws(PhotoFault) {
      self.file = file
      let stream = tmpfile()
      defer { if let stream { fclose(stream) } }
      guard let stream, fwrite(bytes, 1, bytes.count, stream) == bytes.count, fflush(stream) == 0 else {
        throw PhotoFault("no temporary file could be written: \(String(cString: strerror(errno)))")
      }
      descriptor = fcntl(fileno(stream), F_DUPFD_CLOEXEC, 0)
      guard descriptor >= 0 else { throw PhotoFault("no descriptor is left") }
    }

    deinit { close(descriptor) }

    var status: FileStatus { file.status }
    var systemPath: String? { "/proc/self/fd/\(descriptor)" }
    func currentStatus() throws(FileSystemError) -> FileStatus { try file.currentStatus() }
    func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(FileSystemError) -> Int {
      try file.read(at: position, into: buffer)
    }
  }
}
