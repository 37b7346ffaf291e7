import SupabaseAPI

/// One bucket of the project's Storage.
///
/// Nothing here is queued: a call does its work now or throws. While network access is off a download is answered from the
/// copy on this device, and every other call that needs the server throws `OfflineError.networkDisabled`.
public struct StorageReference: Sendable {
  let client: OfflineClient
  /// The bucket's id.
  public let bucket: String

  private var storage: StorageClient {
    StorageClient(project: client.configuration.project, http: client.environment.http)
  }

  func objectPath(_ path: String) throws -> ObjectPath {
    do {
      return try ObjectPath(bucket: bucket, key: path)
    } catch {
      throw OfflineError(error)
    }
  }

  /// Sends something as the current user, if network access is on.
  func call<T: Sendable>(
    _ body: (StorageClient, Secret?) async throws(SupabaseError) -> T
  ) async throws -> T {
    try client.checkOpen()
    guard client.network.isEnabled else { throw OfflineError.networkDisabled }
    let storage = storage
    return try await client.withToken { token throws(SupabaseError) in try await body(storage, token) }
  }

  // MARK: Uploading

  /// Stores bytes as an object.
  ///
  /// - Throws: `OfflineError.refused` with the code `KeyAlreadyExists` where there is one and `upsert` is not set. After
  ///   a lost answer that may be this very object.
  @discardableResult
  public func upload(
    _ path: String, data: [UInt8], options: UploadOptions = UploadOptions()
  ) async throws -> UploadedObject {
    let place = try objectPath(path)
    let stored = try await call { storage, token throws(SupabaseError) in
      try await storage.upload(place, .bytes(data), options, accessToken: token)
    }
    try forgetCopies([place])
    return stored
  }

  /// Stores a file as an object, read while it is sent.
  ///
  /// A file of more than 6 MiB goes in pieces, and goes on where it was broken off: after a lost connection, and after
  /// the program began anew. It must not change meanwhile.
  ///
  /// - Throws: `OfflineError.file` where the file cannot be read or was changed while it was sent.
  @discardableResult
  public func upload(
    _ path: String, from file: String, options: UploadOptions = UploadOptions()
  ) async throws -> UploadedObject {
    try await upload(path, from: file, options: options) { _ in }
  }

  /// The same as the events of the transfer.
  public func uploading(
    _ path: String, from file: String, options: UploadOptions = UploadOptions()
  ) -> Transfer<UploadedObject> {
    client.transfer { try await upload(path, from: file, options: options, report: $0) }
  }

  private func upload(
    _ path: String, from file: String, options: UploadOptions, report: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> UploadedObject {
    let place = try objectPath(path)
    let sent = try Self.open(file)
    let stored: UploadedObject
    if sent.size > ResumableClient.pieceBytes {
      let body = ResumableBody(source: sent.whole, mark: sent.mark) { (try? sent.checkUnchanged()) != nil }
      let places = ResumableStore(client.store, user: client.currentUser, place)
      stored = try await ResumableRun(self, places, place, body, options, report: report).run()
    } else {
      stored = try await send(sent, report) { storage, token, progress throws(SupabaseError) in
        try await storage.upload(place, .source(sent.whole), options, accessToken: token, progress: progress)
      }
    }
    try forgetCopies([place])
    return stored
  }

  /// Replaces an object by bytes; its metadata as well.
  @discardableResult
  public func update(
    _ path: String, data: [UInt8], options: UploadOptions = UploadOptions()
  ) async throws -> UploadedObject {
    let place = try objectPath(path)
    let stored = try await call { storage, token throws(SupabaseError) in
      try await storage.upload(place, .bytes(data), options, replaces: true, accessToken: token)
    }
    try forgetCopies([place])
    return stored
  }

  /// Replaces an object by a file; its metadata as well.
  @discardableResult
  public func update(
    _ path: String, from file: String, options: UploadOptions = UploadOptions()
  ) async throws -> UploadedObject {
    var options = options
    options.upsert = true
    return try await upload(path, from: file, options: options)
  }

  private func send<T: Sendable>(
    _ file: SentFile, _ report: @escaping @Sendable (TransferProgress) -> Void,
    _ body: (StorageClient, Secret?, @escaping @Sendable (HTTPProgress) -> Void) async throws(SupabaseError) -> T
  ) async throws -> T {
    let progress = Monotonic(total: file.size, report)
    let result = try await call { storage, token throws(SupabaseError) in
      try await body(storage, token) { progress.note($0.sent) }
    }
    do { try file.checkUnchanged() } catch { throw OfflineError.file(reason: "\(error)") }
    progress.note(file.size)
    return result
  }

  static func open(_ file: String) throws -> SentFile {
    do { return try SentFile(file) } catch { throw OfflineError.file(reason: "\(error)") }
  }

  // MARK: Downloading

  /// Reads an object, at most 64 MiB; while network access is off, from the copy on this device.
  public func download(_ path: String, transform: ImageTransformation? = nil) async throws -> [UInt8] {
    let place = try objectPath(path)
    if try isAnsweredFromCopy(transform) { return try bytesOfCopy(place) }
    return try await call { storage, token throws(SupabaseError) in
      try await storage.download(place, transform: transform, accessToken: token).body
    }
  }

  // MARK: Looking

  /// Whether there is an object that the current user may read.
  ///
  /// - Throws: Where that is not known; a bucket that is not there is an error.
  public func exists(_ path: String) async throws -> Bool {
    do {
      _ = try await info(path)
      return true
    } catch OfflineError.refused(let error) where error.code == "NoSuchKey" {
      return false
    }
  }

  /// What the server knows of an object.
  public func info(_ path: String) async throws -> ObjectInfo {
    let place = try objectPath(path)
    return try await call { storage, token throws(SupabaseError) in
      try await storage.info(place, accessToken: token)
    }
  }

  /// The objects and folders in a folder; an empty text is the bucket itself.
  ///
  /// Empty, too, for a bucket that is not there or whose objects the user may not see.
  public func list(_ folder: String = "", options: ListOptions = ListOptions()) async throws -> [ListedObject] {
    try await call { storage, token throws(SupabaseError) in
      try await storage.list(bucket, folder: folder, options, accessToken: token)
    }
  }

  // MARK: Moving, copying, removing

  /// Gives an object another key; its id and its metadata stay.
  public func move(from path: String, to other: String) async throws {
    let (source, target) = (try objectPath(path), try objectPath(other))
    try await call { storage, token throws(SupabaseError) in
      try await storage.move(source, to: target, accessToken: token)
    }
    try forgetCopies([source, target])
  }

  /// Stores an object under a second key.
  @discardableResult
  public func copy(from path: String, to other: String, upsert: Bool = false) async throws -> UploadedObject {
    let (source, target) = (try objectPath(path), try objectPath(other))
    let stored = try await call { storage, token throws(SupabaseError) in
      try await storage.copy(source, to: target, upserts: upsert, accessToken: token)
    }
    try forgetCopies([target])
    return stored
  }

  /// Removes objects.
  ///
  /// - Returns: The keys that were removed; others were not there, or the user may not remove them.
  @discardableResult
  public func remove(_ paths: [String]) async throws -> [String] {
    guard !paths.isEmpty else { return [] }
    let places = try paths.map(objectPath)
    let removed = try await call { storage, token throws(SupabaseError) in
      try await storage.remove(bucket, places, accessToken: token)
    }
    try forgetCopies(places)
    return removed
  }

  // MARK: URLs

  /// The URL of an object in a public bucket; needs no network.
  public func publicURL(
    _ path: String, transform: ImageTransformation? = nil, download: String? = nil
  ) throws -> String {
    storage.publicURL(try objectPath(path), transform: transform, download: download)
  }

  /// The URL of an object that a request with the user's token opens; needs no network.
  public func authenticatedURL(_ path: String, transform: ImageTransformation? = nil) throws -> String {
    storage.authenticatedURL(try objectPath(path), transform: transform)
  }

  /// Makes a URL that opens an object for anybody for so many seconds.
  public func createSignedURL(
    _ path: String, expiresIn seconds: Int, transform: ImageTransformation? = nil, download: String? = nil
  ) async throws -> String {
    let place = try objectPath(path)
    return try await call { storage, token throws(SupabaseError) in
      try await storage.createSignedURL(
        place, expiresIn: seconds, transform: transform, download: download, accessToken: token)
    }
  }

  /// Makes such URLs of several objects; one that cannot be made says so by itself.
  public func createSignedURLs(
    _ paths: [String], expiresIn seconds: Int, download: String? = nil
  ) async throws -> [SignedPath] {
    let places = try paths.map(objectPath)
    guard !places.isEmpty else { return [] }
    return try await call { storage, token throws(SupabaseError) in
      try await storage.createSignedURLs(
        bucket, places, expiresIn: seconds, download: download, accessToken: token)
    }
  }

  /// Makes leave to upload one object without a session.
  public func createSignedUploadURL(_ path: String, upsert: Bool = false) async throws -> SignedUpload {
    let place = try objectPath(path)
    return try await call { storage, token throws(SupabaseError) in
      try await storage.createSignedUploadURL(place, upserts: upsert, accessToken: token)
    }
  }

  /// Uploads bytes with such leave.
  @discardableResult
  public func uploadToSignedURL(
    _ path: String, token leave: Secret, data: [UInt8], options: UploadOptions = UploadOptions()
  ) async throws -> UploadedObject {
    let place = try objectPath(path)
    return try await call { storage, _ throws(SupabaseError) in
      try await storage.uploadToSignedURL(place, token: leave, .bytes(data), options)
    }
  }

  /// Uploads a file with such leave.
  @discardableResult
  public func uploadToSignedURL(
    _ path: String, token leave: Secret, from file: String, options: UploadOptions = UploadOptions()
  ) async throws -> UploadedObject {
    let place = try objectPath(path)
    let sent = try Self.open(file)
    let unfollowed: @Sendable (TransferProgress) -> Void = { _ in }
    return try await send(sent, unfollowed) { storage, _, progress throws(SupabaseError) in
      try await storage.uploadToSignedURL(place, token: leave, .source(sent.whole), options, progress: progress)
    }
  }
}

extension OfflineClient {
  /// A bucket of the project's Storage.
  public func storage(_ bucket: String) -> StorageReference { StorageReference(client: self, bucket: bucket) }
}

/// An object that was read into a file.
public struct DownloadedObject: Sendable, Hashable {
  /// The media type.
  public var contentType: String?
  /// Changes with every write of other bytes; with its quotes.
  public var etag: String?

  init(contentType: String?, etag: String?) {
    self.contentType = contentType
    self.etag = etag
  }

  init(_ response: HTTPResponse) {
    self.init(contentType: response.fields["Content-Type"], etag: response.fields["ETag"])
  }
}
