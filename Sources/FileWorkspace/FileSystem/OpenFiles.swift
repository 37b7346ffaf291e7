/// A regular file that is open for reading, piece by piece; it stays the same file wherever its name goes.
public protocol ReadableFile: Sendable {
  /// What the kernel said of it when it was opened.
  var status: FileStatus { get }
  /// A path by which a C library may open the very same file while this one is open; nil where there is none.
  var systemPath: String? { get }
  /// What the kernel says of it now.
  func currentStatus() throws(FileSystemError) -> FileStatus
  /// Reads from a position into a buffer; returns how many bytes, 0 at the end only.
  func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(FileSystemError) -> Int
}

/// A new file that is being written, piece by piece.
public protocol WritableFile: Sendable {
  /// Where it lies.
  var path: String { get }
  /// Puts bytes behind those that are there.
  func write(_ bytes: UnsafeRawBufferPointer) throws(FileSystemError)
  /// Sets the time of its last change where one is given; the bytes are not durable yet.
  ///
  /// - Returns: What the kernel says of it then.
  func finish(modified: FileTime?) throws(FileSystemError) -> FileStatus
}

extension FileSystem {
  /// Opens a regular file for reading; here the whole of it is held in memory.
  public func open(_ path: String) throws(FileSystemError) -> any ReadableFile {
    HeldFile(content: try read(path, bytesMax: .max))
  }

  /// Makes a new file under a name that was free; here none can be made.
  public func create(in folder: String, prefix: String) throws(FileSystemError) -> any WritableFile {
    throw .unsupported(folder, operation: "write a file piece by piece in")
  }

  /// Opens a file for writing behind what is in it; here none can be.
  public func append(to path: String) throws(FileSystemError) -> any WritableFile {
    throw .unsupported(path, operation: "write piece by piece to")
  }
}

/// A file that was read whole.
private struct HeldFile: ReadableFile {
  let content: FileContent

  var status: FileStatus { content.status }
  var systemPath: String? { nil }

  func currentStatus() -> FileStatus { content.status }

  func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let bytes = content.bytes.dropFirst(Int(clamping: position)).prefix(buffer.count)
    buffer.copyBytes(from: bytes)
    return bytes.count
  }
}
