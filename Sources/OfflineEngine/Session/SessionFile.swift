import Glibc
import LosslessJSON
import SupabaseAPI

/// Why the session file cannot be read, written or removed.
public enum SessionFileError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The system refused; the text is its reason.
  case file(path: String, reason: String)
  /// The file holds something else than a session.
  case notASession(path: String)

  /// What happened, where, and what to do.
  public var description: String {
    switch self {
    case .file(let path, let reason): "'\(path)': \(reason)"
    case .notASession(let path): "'\(path)': this is no stored session; sign in again"
    }
  }
}

/// The session on disk: one file, readable by its owner only, replaced as a whole.
public struct SessionFile: SessionStorage {
  /// The file's path.
  public let path: String

  /// The session kept at `path`.
  public init(path: String) { self.path = path }

  /// The stored session, or `nil` when there is none.
  public func load() throws(SessionFileError) -> Session? {
    guard let contents = try contents() else { return nil }
    do { return try Session(json: contents) } catch { throw .notASession(path: path) }
  }

  /// What the file holds, or `nil` when there is none: a session, or what its keeper put in a session's place.
  public func contents() throws(SessionFileError) -> JSONValue? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    if descriptor < 0 {
      if errno == ENOENT { return nil }
      throw failure()
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw failure()
      }
      if count == 0 { break }
      bytes += chunk[..<count]
    }
    do {
      return try JSONValue(parsing: bytes)
    } catch {
      throw .notASession(path: path)
    }
  }

  /// Keeps a session; when this returns it survives a power cut.
  public func save(_ session: Session) throws(SessionFileError) { try save(contents: session.json) }

  /// Keeps something in a session's place; when this returns it survives a power cut.
  public func save(contents: JSONValue) throws(SessionFileError) {
    do throws(SessionFileError) {
      try write(Array(contents.serialized(.pretty).utf8) + [10])
      guard rename(temporary, path) == 0 else { throw failure() }
    } catch {
      unlink(temporary)  // Half a session must not lie about, and the one before is still in place.
      throw error
    }
    try keepNames()
  }

  /// Forgets the session; when this returns a power cut does not bring it back.
  public func clear() throws(SessionFileError) {
    for path in [temporary, path] where unlink(path) != 0 && errno != ENOENT { throw failure() }
    try keepNames()
  }

  private var temporary: String { "\(path).new" }

  /// The folder that the file is in.
  private var folder: String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private func write(_ bytes: [UInt8]) throws(SessionFileError) {
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure() }
    defer { close(descriptor) }
    // One left by a process that died may be anybody's to read.
    guard fchmod(descriptor, 0o600) == 0,
      Self.writeAll(bytes, by: { Glibc.write(descriptor, $0.baseAddress, $0.count) }),
      fsync(descriptor) == 0
    else { throw failure() }
  }

  /// Makes the names in the folder durable.
  private func keepNames() throws(SessionFileError) {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure() }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure() }
  }

  /// Writes every byte, in as many calls as the system wants, and again after a signal.
  ///
  /// - Parameter write: Writes some of the bytes as `write(2)` does.
  /// - Returns: False when it failed; `errno` has the reason.
  static func writeAll(_ bytes: [UInt8], by write: (UnsafeRawBufferPointer) -> Int) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count {
        let count = write(UnsafeRawBufferPointer(rebasing: bytes[done...]))
        if count > 0 {
          done += count
        } else if count == 0 || errno != EINTR {
          if count == 0 { errno = EIO }
          return false
        }
      }
      return true
    }
  }

  private func failure() -> SessionFileError { .file(path: path, reason: String(cString: strerror(errno))) }
}
