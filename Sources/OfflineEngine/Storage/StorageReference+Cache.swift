import SupabaseAPI

extension StorageReference {
  private var cache: FileCache {
    get throws {
      guard let cache = client.files else {
        throw OfflineError.configuration(reason: "'fileCacheFolder' names no folder")
      }
      return cache
    }
  }

  /// The copy of an object that this device has, without asking the server; `nil` where it has none.
  public func cachedFile(_ path: String) throws -> CachedFile? {
    try client.checkOpen()
    return try cache.file(of: try objectPath(path), user: client.currentUser)
  }

  /// A copy of an object's current content, fetched only where the one on this device is another.
  ///
  /// Without a connection, and while network access is off, the copy that is there is given, however old: `fetchedAt`
  /// says when it was current.
  ///
  /// - Throws: `OfflineError.networkDisabled` and `.connectivity` where there is no copy.
  public func ensureCachedFile(_ path: String) async throws -> CachedFile {
    try client.checkOpen()
    let (place, user, cache) = (try objectPath(path), client.currentUser, try cache)
    let old = try cache.file(of: place, user: user)
    do {
      return try await fetch(place, user, cache, old)
    } catch let error as OfflineError where error.isConnectivity {
      guard let old else { throw error }
      return old
    } catch OfflineError.refused(let error) where error.code == "NoSuchKey" {
      try cache.forget(place, user: user)
      throw OfflineError.refused(error)
    }
  }

  private func fetch(
    _ place: ObjectPath, _ user: String, _ cache: FileCache, _ old: CachedFile?
  ) async throws -> CachedFile {
    let id = client.environment.makeID()
    let received = try cache.begin(id)
    let response = try await call { storage, token throws(SupabaseError) in
      var conditions: HTTPFields = [:]
      if let old, !old.etag.isEmpty { conditions.add("If-None-Match", old.etag) }
      return try await storage.download(
        place, fields: conditions, accessToken: token, HTTPBodies(sink: received))
    }
    if response.status == 304, let same = try cache.confirm(place, user: user) { return same }
    guard response.status == 200 else {
      throw OfflineError.notAnAnswer(
        .notAnAnswer(status: response.status, reason: "a part that was not asked for", retryAfter: nil))
    }
    do { try received.finish() } catch { throw OfflineError.file(reason: "\(error)") }
    // Somebody else signed in meanwhile: what was fetched is still the first user's.
    return try cache.keep(id, response, of: place, user: user)
  }

  /// Whether a download is answered from this device; another form of an image is never there.
  func isAnsweredFromCopy(_ transform: ImageTransformation?) throws -> Bool {
    try client.checkOpen()
    return transform == nil && !client.network.isEnabled
  }

  /// The bytes of the copy on this device, for a download while network access is off.
  func bytesOfCopy(_ path: ObjectPath) throws -> [UInt8] {
    guard let copy = try client.files?.file(of: path, user: client.currentUser) else {
      throw OfflineError.networkDisabled
    }
    let file = try Self.open(copy.path)
    do {
      return try [UInt8](unsafeUninitializedCapacity: Int(file.size)) { buffer, count in
        while count < buffer.count {
          let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
          let read = try file.whole.read(at: Int64(count), into: rest)
          if read == 0 { break }
          count += read
        }
      }
    } catch {
      throw OfflineError.file(reason: "\(error)")
    }
  }

  /// Writes the copy on this device into a file, for the same.
  func writeCopy(_ path: ObjectPath, to file: String) throws -> DownloadedObject {
    guard let copy = try client.files?.file(of: path, user: client.currentUser) else {
      throw OfflineError.networkDisabled
    }
    do {
      let (source, target) = (try Self.open(copy.path), try ReceivedFile(file, id: client.environment.makeID()))
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
      defer { buffer.deallocate() }
      var place: Int64 = 0
      while true {
        let count = try source.whole.read(at: place, into: buffer)
        if count == 0 { break }
        try target.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        place += Int64(count)
      }
      try target.finish()
    } catch let trouble as FileTrouble {
      throw OfflineError.file(reason: "\(trouble)")
    }
    return DownloadedObject(contentType: copy.contentType, etag: copy.etag)
  }

  /// Drops copies whose objects have another content now, or none.
  func forgetCopies(_ paths: [ObjectPath]) throws {
    for path in paths { try client.files?.forget(path, user: client.currentUser) }
  }
}
