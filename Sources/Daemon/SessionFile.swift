import Glibc
import LosslessJSON
import OfflineEngine
import SupabaseAPI

/// The session on disk: one file, readable by its owner only, replaced as a whole.
public struct SessionFile: SessionStorage {
  /// The file's absolute path.
  public let path: String

  /// The session kept at `path`.
  public init(path: String) { self.path = path }

  /// The stored session, or `nil` when there is none.
  public func load() throws -> Session? {
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
      if count < 0 { throw failure() }
      if count == 0 { break }
      bytes += chunk[..<count]
    }
    do {
      return try Session(json: JSONValue(parsing: bytes))
    } catch {
      throw DaemonError.file(path: path, reason: "this is no stored session; sign in again with 'tidemark login'")
    }
  }

  /// Keeps a session; when this returns it survives a power cut.
  public func save(_ session: Session) throws {
    let temporary = "\(path).new"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure() }
    defer { close(descriptor) }
    fchmod(descriptor, 0o600)
    let bytes = Array(session.json.serialized(.pretty).utf8) + [10]
    guard write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0, rename(temporary, path) == 0
    else {
      throw failure()
    }
    let folder = open(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw failure() }
    defer { close(folder) }
    guard fsync(folder) == 0 else { throw failure() }
  }

  /// Forgets the session.
  public func clear() throws {
    if unlink(path) != 0, errno != ENOENT { throw failure() }
  }

  private func failure() -> DaemonError { .file(path: path, reason: String(cString: strerror(errno))) }
}
