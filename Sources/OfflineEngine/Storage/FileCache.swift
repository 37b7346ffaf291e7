import Glibc
import SQLite
import SupabaseAPI
import Synchronization

/// A copy of an object on this device.
public struct CachedFile: Sendable, Hashable {
  /// Where it lies.
  ///
  /// The cache may let it go: open or copy it now.
  public var path: String
  /// When the server last said that it is the current content.
  public var fetchedAt: WallTime
  /// In bytes.
  public var sizeBytes: Int64
  /// Which content it is; with its quotes.
  public var etag: String
  /// The media type.
  public var contentType: String?
}

/// The objects that this device has copies of, user by user: a row for each, and a file under an id of its own.
///
/// A file is durable before its row, and its row goes before it; what has no row is removed at the first use.
final class FileCache: Sendable {
  private let store: EngineStore
  private let folder: String
  private let bytesMax: Int64
  private let isPrepared = Mutex(false)

  init(_ store: EngineStore, folder: String, bytesMax: Int64) {
    self.store = store
    self.folder = folder
    self.bytesMax = bytesMax
  }

  /// Makes the folder, and removes what a process that died has left there.
  private func prepare() throws {
    try isPrepared.withLock { isPrepared in
      guard !isPrepared else { return }
      guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw OfflineError.file(reason: "\(FileTrouble())") }
      let kept = try used("") { database in
        Set(try database.rows("SELECT file_id FROM cached_file").compactMap { $0.text("file_id") })
      }
      for name in Self.names(in: folder) where !kept.contains(name) { unlink("\(folder)/\(name)") }
      isPrepared = true
    }
  }

  private static func names(in folder: String) -> [String] {
    guard let listing = opendir(folder) else { return [] }
    defer { closedir(listing) }
    var found: [String] = []
    while let entry = readdir(listing) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { found.append(name) }
    }
    return found
  }

  // MARK: Looking

  /// The copy that is there, which counts as a use of it.
  func file(of path: ObjectPath, user: String) throws -> CachedFile? {
    try prepare()
    let found = try used(user) { database -> (CachedFile, id: String)? in
      guard let row = try database.first("SELECT * FROM cached_file \(Self.isKey)", Self.key(user, path)),
        let id = row.text("file_id")
      else { return nil }
      try Self.touch(user, path, self.store.clock.now(), in: database)
      return (self.file(row, id), id)
    }
    // Somebody has emptied the folder.
    guard let found, access(found.0.path, R_OK) == 0 else {
      if found != nil { try forget(path, user: user) }
      return nil
    }
    return found.0
  }

  private func file(_ row: SQLiteRow, _ id: String) -> CachedFile {
    CachedFile(
      path: "\(folder)/\(id)", fetchedAt: WallTime(nanoseconds: row.integer("fetched_at") ?? 0),
      sizeBytes: row.integer("size") ?? 0, etag: row.text("etag") ?? "", contentType: row.text("content_type"))
  }

  // MARK: Filling

  /// A file for a content on its way in.
  func begin(_ id: String) throws -> ReceivedFile {
    try prepare()
    do { return try ReceivedFile("\(folder)/\(id)", id: "new") } catch { throw OfflineError.file(reason: "\(error)") }
  }

  /// Makes a content that is in its file the copy of an object, and lets the least used copies go where it is too much.
  func keep(_ id: String, _ response: HTTPResponse, of path: ObjectPath, user: String) throws -> CachedFile {
    let place = "\(folder)/\(id)"
    var status = stat()
    guard stat(place, &status) == 0 else { throw OfflineError.file(reason: "\(FileTrouble())") }
    let now = store.clock.now()
    let file = CachedFile(
      path: place, fetchedAt: now, sizeBytes: Int64(status.st_size), etag: response.fields["ETag"] ?? "",
      contentType: response.fields["Content-Type"])
    let (kept, gone) = try used(user) { database -> (CachedFile, [String]) in
      let old = try database.first("SELECT * FROM cached_file \(Self.isKey)", Self.key(user, path))
      // Somebody else has fetched the same content meanwhile, and may be using it.
      if let old, let oldID = old.text("file_id"), old.text("etag") == file.etag, !file.etag.isEmpty {
        try Self.note(user, path, now, in: database)
        var same = self.file(old, oldID)
        same.fetchedAt = now
        return (same, [id])
      }
      try database.execute(
        """
        INSERT OR REPLACE INTO cached_file
          (user_id, bucket, object_key, file_id, etag, content_type, size, fetched_at, used_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        Self.key(user, path) + [
          .text(id), .text(file.etag), .optional(file.contentType), .integer(file.sizeBytes),
          .integer(now.nanoseconds), .integer(now.nanoseconds),
        ])
      return (file, [old?.text("file_id")].compactMap(\.self) + (try self.evict(keeping: id, in: database)))
    }
    remove(gone)
    return kept
  }

  /// The files of the least used copies beyond the limit, of all users, whose rows are gone with this.
  private func evict(keeping id: String, in database: Database) throws -> [String] {
    var total = try database.first("SELECT coalesce(sum(size), 0) AS n FROM cached_file")?.integer("n") ?? 0
    guard total > bytesMax else { return [] }
    var gone: [String] = []
    for row in try database.rows(
      "SELECT file_id, size FROM cached_file WHERE file_id <> ? ORDER BY used_at", [.text(id)])
    {
      guard total > bytesMax else { break }
      guard let other = row.text("file_id") else { continue }
      try database.execute("DELETE FROM cached_file WHERE file_id = ?", [.text(other)])
      gone.append(other)
      total -= row.integer("size") ?? 0
    }
    return gone
  }

  /// The server says that the copy is the current content.
  func confirm(_ path: ObjectPath, user: String) throws -> CachedFile? {
    let now = store.clock.now()
    try used(user) { try Self.note(user, path, now, in: $0) }
    return try file(of: path, user: user)
  }

  // MARK: Letting go

  /// Drops the copy of an object that has another content now, or none.
  func forget(_ path: ObjectPath, user: String) throws {
    let gone = try used(user) { database in
      try database.rows("DELETE FROM cached_file \(Self.isKey) RETURNING file_id", Self.key(user, path))
        .compactMap { $0.text("file_id") }
    }
    remove(gone)
  }

  /// Removes every file whose row is gone.
  func sweep() throws {
    isPrepared.withLock { $0 = false }
    try prepare()
  }

  private func remove(_ ids: [String]) {
    for id in ids { unlink("\(folder)/\(id)") }
  }

  // MARK: Rows

  private static let isKey = "WHERE user_id = ? AND bucket = ? AND object_key = ?"

  private static func key(_ user: String, _ path: ObjectPath) -> [SQLiteValue] {
    [.text(user), .text(path.bucket), .text(path.key)]
  }

  private static func touch(_ user: String, _ path: ObjectPath, _ now: WallTime, in database: Database) throws {
    try database.execute(
      "UPDATE cached_file SET used_at = ? \(isKey)", [.integer(now.nanoseconds)] + key(user, path))
  }

  private static func note(_ user: String, _ path: ObjectPath, _ now: WallTime, in database: Database) throws {
    try database.execute(
      "UPDATE cached_file SET fetched_at = ? \(isKey)", [.integer(now.nanoseconds)] + key(user, path))
  }

  private func used<T: Sendable>(_ user: String, _ body: (Database) throws -> T) throws -> T {
    do { return try store.transaction(user: user) { try body($0.database) } } catch {
      throw OfflineError(storing: error)
    }
  }
}
