import LosslessJSON
import OfflineEngine
import SupabaseAPI

extension PhotoTransfers {
  /// The name of the hash that goes along with each upload as metadata of its object.
  private static let hashName = "sha256"

  func send(_ upload: PhotoUpload) async throws(PhotoEnd) -> PhotoOutcome {
    let place = try Self.place(upload.bucket, upload.key)
    let file = try onDisk { () throws(FileSystemError) in try files.open(upload.path) }
    guard file.status.stamp == upload.record.seen?.stamp else { return .unsteady }
    let copy = try await prepared(upload, file)
    defer { if let path = copy?.path { try? files.unlink(path) } }
    let (body, content) = (copy?.file ?? file, copy?.content ?? upload.content)
    if copy != nil, upload.known.contains(content.sha256) { return .known(sha256: content.sha256) }
    if upload.mayHaveArrived {
      switch try await arrived(at: place) {
      case .shown(let found): return try await outcome(found, content, body)
      case .refused: return .unconfirmed
      case .none: break
      }
    }
    try await checkBucket(upload.bucket, takes: content)
    do throws(PhotoEnd) {
      try await send(upload, body, content, to: place, from: file)
    } catch {
      // Whatever the server said of bytes that moved, it said of others.
      guard isUnchanged(file) else { return .unsteady }
      guard case .storage(.refused(let refusal)) = error, refusal.code == "KeyAlreadyExists" else { throw error }
      guard case .shown(let found) = try await arrived(at: place) else { return .unconfirmed }
      return try await outcome(found, content, body)
    }
    guard isUnchanged(file) else { return .unsteady }
    guard case .shown(let found) = try await arrived(at: place) else { return .unconfirmed }
    return .uploaded(size: found.sizeBytes, sent: content)
  }

  /// What the server says of an object that it may have.
  private enum Arrival {
    case shown(ObjectInfo)
    /// It has none, or shows none to this user.
    case none
    /// That it does not tell is no word on the photo, which may have arrived.
    case refused
  }

  private func arrived(at place: ObjectPath) async throws(PhotoEnd) -> Arrival {
    do throws(PhotoEnd) { return try await object(at: place).map(Arrival.shown) ?? .none } catch {
      if case .storage(.refused) = error { return .refused }
      throw error
    }
  }

  private func isUnchanged(_ file: any ReadableFile) -> Bool {
    (try? file.currentStatus().stamp) == file.status.stamp
  }

  /// Sends the bytes: in pieces, which a later process can go on with, where they are many.
  private func send(
    _ upload: PhotoUpload, _ body: any ReadableFile, _ content: PhotoContent, to place: ObjectPath,
    from file: any ReadableFile
  ) async throws(PhotoEnd) {
    let options = UploadOptions(
      contentType: content.contentType, userMetadata: [Self.hashName: .string(content.sha256)])
    let (progress, id, total) = (workspace.photoProgress, upload.record.id, content.size)
    let source = PhotoSource(file: body, count: total)
    guard total > ResumableClient.pieceBytes else {
      _ = try await onServer { storage, token throws(SupabaseError) in
        try await storage.upload(place, .source(source), options, accessToken: token) {
          progress.note(id, $0.sent, of: total)
        }
      }
      return
    }
    let stamp = file.status.stamp
    // With the file's numbers: bytes that were read while it was another one are no part of this.
    let mark = "\(content.sha256) \(total) \(stamp.inode) \(stamp.size) \(stamp.modified.nanoseconds)"
    let pieces = ResumableBody(source: source, mark: mark) { isUnchanged(file) }
    do {
      try await client.uploadInPieces(place, pieces, options) { progress.note(id, $0.bytes, of: total) }
    } catch {
      throw .storage(error)
    }
  }

  /// What an object means that lies under the key of an upload.
  ///
  /// It is the upload's own by the hash that went along with it, or by an ETag that is the MD5 of its bytes; an equal size
  /// alone says nothing. Of an object that says neither it is not known, and the photo gets another key.
  private func outcome(
    _ found: ObjectInfo, _ content: PhotoContent, _ body: any ReadableFile
  ) async throws(PhotoEnd) -> PhotoOutcome {
    if let sha256 = found.userMetadata[Self.hashName]?.stringValue {
      return sha256 == content.sha256 ? .uploaded(size: found.sizeBytes, sent: content) : .keyTaken
    }
    guard found.sizeBytes == content.size, let etag = found.etag else { return .keyTaken }
    let isSame = try await "\"\(hash(body, .md5))\"" == etag
    return isSame ? .uploaded(size: found.sizeBytes, sent: content) : .keyTaken
  }

  /// What the server knows of an object; nil where it shows none.
  func object(at place: ObjectPath) async throws(PhotoEnd) -> ObjectInfo? {
    do throws(PhotoEnd) {
      return try await onServer { storage, token throws(SupabaseError) in
        try await storage.info(place, accessToken: token)
      }
    } catch {
      if case .storage(.refused(let refusal)) = error, refusal.code == "NoSuchKey" { return nil }
      throw error
    }
  }

  /// Refuses what the bucket would refuse, before a byte is sent: an answer in the middle of a body can get lost.
  private func checkBucket(_ bucket: String, takes content: PhotoContent) async throws(PhotoEnd) {
    guard let info = try await info(ofBucket: bucket) else { return }
    if let most = info.fileSizeBytesMax, content.size > most {
      throw .storage(
        .refused(ServerError(status: 413, code: "EntityTooLarge", message: "it takes at most \(most) bytes")))
    }
    if !info.takes(content.contentType), let types = info.allowedContentTypes {
      throw .storage(
        .refused(
          ServerError(status: 415, code: "InvalidMimeType", message: "it takes \(types.joined(separator: ", "))")))
    }
  }

  private func info(ofBucket bucket: String) async throws(PhotoEnd) -> BucketInfo? {
    let (known, now) = (workspace.knownBuckets, workspace.environment.clock.now())
    if let info = known.info(bucket, at: now) { return info }
    var info: BucketInfo?
    do throws(PhotoEnd) {
      info = try await onServer { storage, token throws(SupabaseError) in
        try await storage.bucket(bucket, accessToken: token)
      }
    } catch {
      switch error {
      // Where no policy shows buckets to users, an upload finds out by itself.
      case .storage(.refused), .storage(.stopped(.notAnAnswer, _)): break
      default: throw error
      }
    }
    known.note(info, of: bucket, at: now)
    return info
  }
}

/// The bytes of an open file as the body of a request.
private struct PhotoSource: HTTPBodySource {
  let file: any ReadableFile
  let count: Int64

  func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let room = Int(min(Int64(buffer.count), count - position))
    guard room > 0 else { return 0 }
    return try file.read(at: position, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<room]))
  }
}
