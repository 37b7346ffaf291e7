import Hashing
import OfflineEngine
import SupabaseAPI

extension PhotoTransfers {
  /// Fetches an object, from where an earlier fetch of the same content was broken off.
  func fetch(_ download: PhotoDownload) async throws(PhotoEnd) -> PhotoOutcome {
    let place = try Self.place(download.bucket, download.row.object)
    try onDisk { () throws(FileSystemError) in try makeFolder() }
    let sink = PhotoSink(files, place)
    do throws(PhotoEnd) {
      let part = try onDisk { () throws(FileSystemError) -> PhotoPart? in
        try leftPart(of: place, atMost: download.row.size)
      }
      try await receive(download, place, part, sink)
    } catch {
      if !error.leavesPart { removeParts(of: place) }
      throw error
    }
    let (size, sha256) = sink.finish()
    if let trouble = Self.difference(size, sha256, download.row) {
      removeParts(of: place)
      return .otherBytes(trouble)
    }
    guard let written = sink.file else { return .otherBytes("nothing of it came") }
    return try keep(written, size: size, sha256: sha256, download.row)
  }

  private func receive(
    _ download: PhotoDownload, _ place: ObjectPath, _ part: PhotoPart?, _ sink: PhotoSink
  ) async throws(PhotoEnd) {
    let (progress, id, total) = (workspace.photoProgress, download.record.id, download.row.size ?? 0)
    var rest: DownloadRest?
    if let part {
      let file = try onDisk { () throws(FileSystemError) in try files.open(part.path) }
      let digest = Digest(.sha256)
      try await pass(file) { digest.update($0) }
      rest = DownloadRest(etag: part.etag, offset: part.size)
      sink.goOn(try onDisk { () throws(FileSystemError) in try files.append(to: part.path) }, rest, digest, part.size)
      // A process died between the last byte and the next step.
      if part.size == download.row.size { return }
    }
    do throws(PhotoEnd) {
      let offset = rest?.offset ?? 0
      let response = try await onServer { [rest] storage, token throws(SupabaseError) in
        try await storage.download(
          place, fields: rest?.fields ?? [:], accessToken: token,
          HTTPBodies(sink: sink) { progress.note(id, (sink.isGoingOn ? offset : 0) + $0.received, of: total) })
      }
      if response.status == 200 || sink.isGoingOn { return }
    } catch {
      // What is here is longer than what the server has.
      guard case .storage(.refused(let refusal)) = error, refusal.status == 416, rest != nil else { throw error }
    }
    // A part of another content than was asked for: begun anew.
    removeParts(of: place)
    _ = try await onServer { storage, token throws(SupabaseError) in
      try await storage.download(
        place, accessToken: token, HTTPBodies(sink: sink) { progress.note(id, $0.received, of: total) })
    }
  }

  /// The part of an object that can be gone on with; others of the object are removed.
  private func leftPart(of place: ObjectPath, atMost size: Int64?) throws(FileSystemError) -> PhotoPart? {
    var found: PhotoPart?
    for name in try files.names(in: Self.folder, prefix: PhotoPart.prefix(of: place)) {
      let path = WorkspacePath.joined(Self.folder, name)
      guard let status = try files.status(path) else { continue }
      let part = PhotoPart(name: name, path: path, size: status.size)
      let isUsable = status.kind == .file && DownloadRest(etag: part.etag, offset: part.size) != nil
      if found == nil, isUsable, size.map({ part.size <= $0 }) ?? true { found = part } else { try files.unlink(path) }
    }
    return found
  }

  /// Removes what was fetched of an object.
  private func removeParts(of place: ObjectPath) {
    for name in (try? files.names(in: Self.folder, prefix: PhotoPart.prefix(of: place))) ?? [] {
      try? files.unlink(WorkspacePath.joined(Self.folder, name))
    }
  }

  private static func difference(_ size: Int64, _ sha256: String, _ row: PhotoRow) -> String? {
    if let wanted = row.size, wanted != size { return "it has \(size) bytes where its row tells of \(wanted)" }
    if let wanted = row.sha256, wanted != sha256 { return "its bytes are not those that its row tells of" }
    return nil
  }

  private func keep(
    _ written: any WritableFile, size: Int64, sha256: String, _ row: PhotoRow
  ) throws(PhotoEnd) -> PhotoOutcome {
    try onDisk { () throws(FileSystemError) in
      let time = row.takenAt.flatMap(PhotoTime.init)?.fileTime
      var status = try written.finish(modified: time)
      try files.makeDurable([written.path])
      // From here on it may be a person's only copy of something, once it was exchanged.
      let path = WorkspacePath.joined(Self.folder, "whole-\(WorkspacePath.name(of: written.path))")
      try files.rename(written.path, path)
      status = try files.status(path) ?? status
      let content = PhotoContent(
        sha256: sha256, size: size, contentType: row.contentType ?? "application/octet-stream", takenAt: row.takenAt)
      return .downloaded(TemporaryFile(path: path, status: status), content)
    }
  }
}

extension PhotoTransfers.PhotoEnd {
  /// Whether what has come of an object stays for the next try: the connection broke, and nothing is wrong with the bytes.
  fileprivate var leavesPart: Bool {
    guard case .storage(.stopped(let failure, _)) = self else { return false }
    if case .local = failure { return false }
    return true
  }
}

/// Writes the body of an answer into a file and hashes it.
final class PhotoSink: HTTPBodySink, @unchecked Sendable {  // Proof: the exchange makes one call at a time.
  /// Where the bytes go; nil before the first.
  private(set) var file: (any WritableFile)?
  /// Whether the answer is the rest of what was there.
  private(set) var isGoingOn = false
  private let begin: (HTTPResponse) throws -> any WritableFile
  private var rest: DownloadRest?
  private var hash = Digest(.sha256)
  private var size: Int64 = 0
  private var trouble: (any Error)?

  /// Writes whole objects into a new file.
  init(_ file: any WritableFile) { begin = { _ in file } }

  /// Writes an object into a file that tells of which content it is.
  init(_ files: any FileSystem, _ place: ObjectPath) {
    begin = { head in
      for name in try files.names(in: PhotoTransfers.folder, prefix: PhotoPart.prefix(of: place)) {
        try files.unlink(WorkspacePath.joined(PhotoTransfers.folder, name))
      }
      let name = PhotoPart.name(place, etag: head.fields["ETag"] ?? "")
      return try files.append(to: WorkspacePath.joined(PhotoTransfers.folder, name))
    }
  }

  /// Goes on behind bytes that are there, where the answer is the rest of them.
  func goOn(_ file: any WritableFile, _ rest: DownloadRest?, _ hash: Digest, _ size: Int64) {
    (self.file, self.rest, self.hash, self.size) = (file, rest, hash, size)
  }

  func takes(_ head: HTTPResponse) -> Bool {
    if rest?.isAnswered(by: head) == true {
      isGoingOn = true
      return true
    }
    guard head.status == 200 else { return false }
    (rest, hash, size, isGoingOn) = (nil, Digest(.sha256), 0, false)
    do { file = try begin(head) } catch { trouble = error }
    return true
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    if let trouble { throw trouble }
    try file?.write(bytes)
    hash.update(bytes)
    size += Int64(bytes.count)
  }

  func finish() -> (size: Int64, sha256: String) { (size, hash.finish()) }
}
