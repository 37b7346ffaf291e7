import SQLite
import SupabaseAPI

/// One upload in pieces, from the place that an earlier run has left or from the beginning.
struct ResumableRun {
  private let reference: StorageReference
  private let path: ObjectPath
  private let file: SentFile
  private let options: UploadOptions
  private let progress: Monotonic

  /// How often in a row a piece may fail before the upload does.
  private static let failureCountMax = 4

  init(
    _ reference: StorageReference, _ path: ObjectPath, _ file: SentFile, _ options: UploadOptions,
    report: @escaping @Sendable (TransferProgress) -> Void
  ) {
    self.reference = reference
    self.path = path
    self.file = file
    self.options = options
    progress = Monotonic(total: file.size, report)
  }

  private var client: OfflineClient { reference.client }

  func run() async throws -> UploadedObject {
    let user = client.currentUser
    let store = ResumableStore(client.store, user: user, path)
    var place = try store.place(of: file.mark)
    var offset: Int64 = 0
    if let kept = place {
      let found = try await self.offset(kept)
      // The server forgets an upload after a day, and once it is an object.
      if let found, found <= file.size { offset = found } else { place = nil }
    }
    var failureCount = 0
    while true {
      let current: String
      if let place {
        current = place
      } else {
        current = try await create()
        try store.keep(current, of: file.mark)
        (place, offset) = (current, 0)
      }
      progress.note(offset)
      if offset == file.size { break }
      do {
        offset = try await send(current, from: offset)
        failureCount = 0
      } catch OfflineError.refused(let error) where error.isResumable && error.status == 404 || error.status == 410 {
        failureCount += 1
        guard failureCount < Self.failureCountMax else { throw OfflineError.refused(error) }
        place = nil
      } catch let error as OfflineError where error.asksForOffset {
        failureCount += 1
        guard failureCount < Self.failureCountMax else { throw error }
        try await client.environment.clock.sleep(for: .seconds(failureCount))
        guard let found = try await self.offset(current) else {
          place = nil
          continue
        }
        // The server has what it wants and still refuses the last piece: the object was made by somebody else.
        if found == offset, case .refused(let refusal) = error, refusal.message.contains("already exists") {
          throw OfflineError.refused(
            ServerError(status: 409, code: "KeyAlreadyExists", message: refusal.message))
        }
        offset = min(found, file.size)
      }
    }
    try store.forget()
    return UploadedObject(id: nil, path: path.key)
  }

  private func check() throws {
    do { try file.checkUnchanged() } catch { throw OfflineError.file(reason: "\(error)") }
  }

  private func call<T: Sendable>(
    _ body: (ResumableClient, Secret?) async throws(SupabaseError) -> T
  ) async throws -> T {
    try await reference.call { storage, token throws(SupabaseError) in
      try await body(ResumableClient(project: storage.project, http: client.environment.http), token)
    }
  }

  private func create() async throws -> String {
    do {
      return try await call { resumable, token throws(SupabaseError) in
        try await resumable.create(path, length: file.size, options, accessToken: token)
      }
    } catch OfflineError.refused(let error) where error.isResumable {
      throw OfflineError.refused(error.namedByStatus)
    }
  }

  private func offset(_ place: String) async throws -> Int64? {
    try await call { resumable, token throws(SupabaseError) in
      try await resumable.offset(place, accessToken: token)
    }
  }

  private func send(_ place: String, from offset: Int64) async throws -> Int64 {
    try check()
    let part = file.part(from: offset, count: min(ResumableClient.pieceBytes, file.size - offset))
    let sent = try await call { resumable, token throws(SupabaseError) in
      try await resumable.send(place, from: offset, part, upserts: options.upsert, accessToken: token) {
        progress.note(offset + $0.sent)
      }
    }
    try check()
    return sent
  }
}

extension OfflineError {
  /// Whether the server may know better how far an upload is.
  fileprivate var asksForOffset: Bool {
    switch self {
    case .refused(let error): error.isResumable && [400, 409, 423].contains(error.status)
    case .unavailable: true
    default: false
    }
  }
}

extension ServerError {
  /// Whether it came as a plain text of the protocol of resumable uploads.
  fileprivate var isResumable: Bool { code == "Resumable" }

  /// The error under the name that the other routes have for it.
  fileprivate var namedByStatus: ServerError {
    let names = [
      403: "AccessDenied", 404: "NoSuchBucket", 409: "KeyAlreadyExists", 413: "EntityTooLarge", 415: "InvalidMimeType",
    ]
    return ServerError(status: status, code: names[status] ?? code, message: message)
  }
}

/// Where uploads in pieces were broken off, kept with the rest of the engine's state.
struct ResumableStore {
  private let store: EngineStore
  private let user: String
  private let path: ObjectPath

  init(_ store: EngineStore, user: String, _ path: ObjectPath) {
    self.store = store
    self.user = user
    self.path = path
  }

  private var key: [SQLiteValue] { [.text(user), .text(path.bucket), .text(path.key)] }

  /// The place of an upload of this very file; `nil` for none, and for one of another content.
  func place(of mark: String) throws -> String? {
    try used { database in
      try database.first(
        "SELECT place FROM resumable_upload WHERE user_id = ? AND bucket = ? AND object_key = ? AND file_mark = ?",
        key + [.text(mark)])?.text("place")
    }
  }

  func keep(_ place: String, of mark: String) throws {
    try used { database in
      try database.execute(
        "INSERT OR REPLACE INTO resumable_upload (user_id, bucket, object_key, file_mark, place) VALUES (?, ?, ?, ?, ?)",
        key + [.text(mark), .text(place)])
    }
  }

  func forget() throws {
    try used { database in
      try database.execute(
        "DELETE FROM resumable_upload WHERE user_id = ? AND bucket = ? AND object_key = ?", key)
    }
  }

  private func used<T: Sendable>(_ body: (Database) throws -> T) throws -> T {
    do { return try store.transaction(user: user) { try body($0.database) } } catch {
      throw OfflineError(storing: error)
    }
  }
}
