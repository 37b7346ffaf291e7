import Glibc

extension LiveFileSystem {
  /// Opens a regular file for reading.
  public func open(_ path: String) throws(FileSystemError) -> any ReadableFile {
    let place = try place(of: path)
    let file = try system(path, "open") { () throws(SystemError) in
      try Descriptor.open(in: place.folder, place.name, O_RDONLY)
    }
    let status = try system(path, "look at") { () throws(SystemError) in try Self.status(in: file, "") }
    guard status.kind == .file else { throw .wrongKind(path, found: status.kind, expected: .file) }
    return LiveReadableFile(file, path: path, status: status)
  }

  /// Makes a new file under a name that was free, starting with `prefix`.
  public func create(in folder: String, prefix: String) throws(FileSystemError) -> any WritableFile {
    let made = try makeTemporary([], in: folder, prefix: prefix, like: nil)
    let place = try place(of: made.path)
    let file = try system(made.path, "write") { () throws(SystemError) in
      try Descriptor.open(in: place.folder, place.name, O_WRONLY)
    }
    return LiveWritableFile(file, path: made.path)
  }

  /// Opens a file of our own for writing behind what is in it.
  public func append(to path: String) throws(FileSystemError) -> any WritableFile {
    let place = try place(of: path)
    let file = try system(path, "write") { () throws(SystemError) in
      try Descriptor.open(in: place.folder, place.name, O_WRONLY | O_APPEND | O_CREAT, mode: 0o600)
    }
    let status = try system(path, "look at") { () throws(SystemError) in try Self.status(in: file, "") }
    guard status.kind == .file else { throw .wrongKind(path, found: status.kind, expected: .file) }
    return LiveWritableFile(file, path: path)
  }
}

private final class LiveReadableFile: ReadableFile {
  let status: FileStatus
  private let file: Descriptor
  private let path: String

  init(_ file: consuming Descriptor, path: String, status: FileStatus) {
    self.file = file
    self.path = path
    self.status = status
  }

  /// The kernel's own name of the open file: no link can be put in its way.
  var systemPath: String? { "/proc/self/fd/\(file.number)" }

  func currentStatus() throws(FileSystemError) -> FileStatus {
    do { return try LiveFileSystem.status(ofOpen: file.number) } catch { throw .from(error.code, path, "look at") }
  }

  func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(FileSystemError) -> Int {
    do {
      return try call { pread(file.number, buffer.baseAddress, buffer.count, off_t(position)) }
    } catch {
      throw .from(error.code, path, "read")
    }
  }
}

private final class LiveWritableFile: WritableFile {
  let path: String
  private let file: Descriptor

  init(_ file: consuming Descriptor, path: String) {
    self.file = file
    self.path = path
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(FileSystemError) {
    do {
      var written = 0
      while written < bytes.count {
        written += try call {
          Glibc.write(file.number, bytes.baseAddress?.advanced(by: written), bytes.count - written)
        }
      }
    } catch {
      throw .from(error.code, path, "write")
    }
  }

  func finish(modified: FileTime?) throws(FileSystemError) -> FileStatus {
    do throws(SystemError) {
      if let modified {
        let (seconds, rest) = modified.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        // A time before 1970 has a negative rest, which the kernel takes for another word.
        let time = timespec(
          tv_sec: Int(rest < 0 ? seconds - 1 : seconds), tv_nsec: Int(rest < 0 ? rest + 1_000_000_000 : rest))
        let times = [time, time]
        try call { futimens(file.number, times) }
      }
      return try LiveFileSystem.status(ofOpen: file.number)
    } catch {
      throw .from(error.code, path, "set the time of")
    }
  }
}
