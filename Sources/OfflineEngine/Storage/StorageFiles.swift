import Glibc
import SupabaseAPI

/// What the disk refused, in the system's words and without a path.
struct FileTrouble: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }

  /// The last call's.
  init() { description = String(cString: strerror(errno)) }
}

/// A file that is sent, opened once, so that what is sent is one file whatever its name comes to mean.
final class SentFile: Sendable {
  private let descriptor: Int32
  private let path: String
  /// In bytes, when it was opened.
  let size: Int64
  /// Tells the file and its content from others: a file that was changed has another one.
  let mark: String

  init(_ path: String) throws(FileTrouble) {
    self.path = path
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileTrouble() }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      let trouble = FileTrouble()
      close(descriptor)
      throw trouble
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw FileTrouble("it is no file")
    }
    size = Int64(status.st_size)
    mark = Self.mark(status, path)
  }

  deinit { close(descriptor) }

  private static func mark(_ status: stat, _ path: String) -> String {
    let modified = status.st_mtim
    return "\(status.st_size) \(modified.tv_sec).\(modified.tv_nsec) \(status.st_dev).\(status.st_ino) \(path)"
  }

  /// - Throws: Where it is not the file any more that was opened, or not with the content.
  func checkUnchanged() throws(FileTrouble) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileTrouble() }
    guard Self.mark(status, path) == mark else { throw FileTrouble("it was changed while it was sent") }
  }

  /// A part of it as a body.
  func part(from start: Int64, count: Int64) -> Part { Part(file: self, start: start, count: count) }

  /// All of it as a body.
  var whole: Part { part(from: 0, count: size) }

  /// A part of the file.
  struct Part: HTTPBodySource {
    let file: SentFile
    let start: Int64
    let count: Int64

    func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
      let room = Int(min(Int64(buffer.count), count - position))
      guard room > 0 else { return 0 }
      let read = pread(file.descriptor, buffer.baseAddress, room, off_t(start + position))
      guard read >= 0 else { throw FileTrouble() }
      return read
    }
  }
}

/// A file that is received: it has its name only when it is whole and durable.
final class ReceivedFile: HTTPBodySink {
  private let descriptor: Int32
  private let path: String
  private let temporary: String

  /// Begins beside the place that it will have.
  init(_ path: String, id: String) throws(FileTrouble) {
    self.path = path
    temporary = "\(path).\(id).part"
    descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw FileTrouble() }
  }

  deinit {
    close(descriptor)
    // Without an effect once it has its name.
    unlink(temporary)
  }

  func takes(_ head: HTTPResponse) -> Bool { head.status == 200 }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    var written = 0
    while written < bytes.count {
      let count = Glibc.write(descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw FileTrouble() }
      written += count
    }
  }

  /// Gives it its name.
  func finish() throws(FileTrouble) {
    guard fdatasync(descriptor) == 0, rename(temporary, path) == 0 else { throw FileTrouble() }
    let folder = path.lastIndex(of: "/").map { path[..<$0] } ?? "."
    let opened = open(folder.isEmpty ? "/" : String(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard opened >= 0 else { throw FileTrouble() }
    defer { close(opened) }
    guard fsync(opened) == 0 else { throw FileTrouble() }
  }
}
