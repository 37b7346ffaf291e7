import Hashing
import OfflineEngine
import SupabaseAPI

/// What a round of transfers came to.
public struct PhotoRun: Sendable {
  /// What was done, for the log; `queued` counts rows' writes that are to be sent now.
  public var report = WorkspaceReport()
  /// Why it ended before all was done.
  public var failure: SyncFailure?
  /// How many seconds the server asked to be left alone.
  public var retryAfter: Int?

  /// A round that has done nothing yet.
  public init() {}
}

/// Reads, sends, fetches and removes photos, one at a time, beside the workspace.
///
/// Bytes pass in pieces: memory does not grow with a photo. What is decided stands in the database before and after each
/// step, so a process may die between any two.
public struct PhotoTransfers: Sendable {
  private let workspace: Workspace
  private let client: UserEngine
  let files: any FileSystem
  private let inspect: PhotoInspector

  /// Where objects are written before they have their place.
  static let folder = ".tidemark/photos"
  /// What an object is called while it is being fetched.
  static let partialPrefix = "partial"
  private static let pieceBytes = 1 << 18

  /// The transfers of a workspace.
  public init(_ workspace: Workspace) {
    self.workspace = workspace
    client = workspace.client
    files = workspace.files
    inspect = workspace.inspectPhoto
  }

  /// Does what is due.
  ///
  /// - Parameters:
  ///   - isOnline: Whether the server may be asked; else files are read, and nothing more.
  ///   - report: Told what each piece of work came to, as soon as that is on record.
  public func run(
    isOnline: Bool, report: @Sendable (WorkspaceReport) -> Void = { _ in }
  ) async throws -> PhotoRun {
    var run = PhotoRun()
    while true {
      // The next file is read while one is on its way: neither waits for the other.
      let reading = try await workspace.nextPhotoRead()
      let transfer = try await isOnline && run.failure == nil ? workspace.nextPhotoTransfer() : nil
      if reading == nil, transfer == nil { return run }
      async let read = carryOut(reading, report)
      async let transferred = carryOut(transfer, report)
      let (ofRead, ofTransfer) = await (read, transferred)
      run.report.add(ofRead.report)
      run.report.add(ofTransfer.report)
      if let (failure, retryAfter) = ofTransfer.stop { (run.failure, run.retryAfter) = (failure, retryAfter) }
      if let (failure, _) = ofRead.stop {
        run.failure = failure  // What this device could not note it would read again and again.
        return run
      }
    }
  }

  /// Does a piece of work; what ends a round is told apart from what became of one photo.
  private func carryOut(
    _ job: PhotoJob?, _ report: @Sendable (WorkspaceReport) -> Void
  ) async -> (report: WorkspaceReport, stop: (failure: SyncFailure, retryAfter: Int?)?) {
    guard let job else { return (WorkspaceReport(), nil) }
    do throws(StorageFailure) {
      let settled = try await settled(job, try await perform(job))
      report(settled)
      return (settled, nil)
    } catch {
      guard case .stopped(let failure, let retryAfter) = error else { return (WorkspaceReport(), nil) }
      return (WorkspaceReport(), (failure, retryAfter))
    }
  }

  private func settled(_ job: PhotoJob, _ outcome: PhotoOutcome) async throws(StorageFailure) -> WorkspaceReport {
    do { return try await workspace.settle(job, outcome) } catch {
      throw .stopped(.local(reason: "\(error)"), retryAfter: nil)
    }
  }

  private func perform(_ job: PhotoJob) async throws(StorageFailure) -> PhotoOutcome {
    do throws(PhotoEnd) {
      switch job {
      case .read(let record): return try await read(record)
      case .upload(let upload):
        workspace.photoProgress.begin(upload.record.id)
        defer { workspace.photoProgress.end() }
        return try await send(upload)
      case .remove(let leftover, let bucket): return try await remove(leftover, bucket)
      case .download(let download):
        workspace.photoProgress.begin(download.record.id)
        defer { workspace.photoProgress.end() }
        return try await fetch(download)
      }
    } catch {
      switch error {
      case .storage(.refused(let refusal)): return .refused(refusal)
      case .storage(let failure): throw failure
      case .fault(let fault): return .noPhoto(fault)
      case .file(.absent), .file(.changedWhileReading): return .unsteady
      case .file(let failure): return .failed(failure)
      }
    }
  }

  /// What ends a job.
  enum PhotoEnd: Error {
    /// The file is no photo, or none that may be sent.
    case fault(PhotoFault)
    case storage(StorageFailure)
    case file(FileSystemError)
  }

  func onDisk<T>(_ body: () throws(FileSystemError) -> T) throws(PhotoEnd) -> T {
    do { return try body() } catch { throw .file(error) }
  }

  private func onServer<T: Sendable>(
    _ body: (StorageClient, Secret?) async throws(SupabaseError) -> T
  ) async throws(PhotoEnd) -> T {
    do { return try await client.storage(body) } catch { throw .storage(error) }
  }

  private static func place(_ bucket: String, _ key: String) throws(PhotoEnd) -> ObjectPath {
    do { return try ObjectPath(bucket: bucket, key: key) } catch {
      guard case .refused(let refusal) = error else {
        throw .storage(.stopped(.local(reason: "\(error)"), retryAfter: nil))
      }
      throw .storage(.refused(refusal))
    }
  }

  // MARK: Reading

  private func read(_ record: PhotoRecord) async throws(PhotoEnd) -> PhotoOutcome {
    guard let path = record.path, let stamp = record.seen?.stamp else { return .unsteady }
    let file = try onDisk { () throws(FileSystemError) in try files.open(path) }
    guard file.status.stamp == stamp else { return .unsteady }
    if file.status.isMarkedUnfinished {
      return .noPhoto(
        PhotoFault(
          "this file is still being copied, or its copy was interrupted: its time is 1970, by which copy tools mark a "
            + "file that is not whole. Copy it again, or 'touch' it to take it as it is"))
    }
    if case .yes = try onDisk({ () throws(FileSystemError) in try files.isOpenElsewhere(path) }) { return .unsteady }
    let facts: PhotoFacts
    do throws(PhotoFault) { facts = try inspect(file) } catch {
      // What was wrong with a file that has changed since says nothing.
      guard try onDisk({ () throws(FileSystemError) in try file.currentStatus() }).stamp == stamp else {
        return .unsteady
      }
      return .noPhoto(error)
    }
    let sha256 = try await hash(file)
    guard try onDisk({ () throws(FileSystemError) in try file.currentStatus() }).stamp == stamp else {
      return .unsteady
    }
    return .read(
      PhotoContent(
        sha256: sha256, size: stamp.size, contentType: facts.contentType, width: facts.width, height: facts.height,
        takenAt: facts.takenAt))
  }

  func hash(_ file: any ReadableFile) async throws(PhotoEnd) -> String {
    let hash = Digest(.sha256)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 16)
    defer { buffer.deallocate() }
    var position: Int64 = 0
    while true {
      let count = try onDisk { () throws(FileSystemError) in try file.read(at: position, into: buffer) }
      if count == 0 { return hash.finish() }
      hash.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      position += Int64(count)
      // A large file is not to keep others from the threads that all share.
      await Task.yield()
    }
  }

  // MARK: Sending

  private func send(_ upload: PhotoUpload) async throws(PhotoEnd) -> PhotoOutcome {
    let place = try Self.place(upload.bucket, upload.key)
    let file = try onDisk { () throws(FileSystemError) in try files.open(upload.path) }
    guard file.status.stamp == upload.record.seen?.stamp else { return .unsteady }
    let copy = try await prepared(upload, file)
    defer { if let path = copy?.path { try? files.unlink(path) } }
    let (body, content) = (copy?.file ?? file, copy?.content ?? upload.content)
    if upload.mayHaveArrived, let size = try await size(of: place), size == content.size {
      return .uploaded(size: size, sent: content)
    }
    let options = UploadOptions(contentType: content.contentType)
    let (progress, id, total) = (workspace.photoProgress, upload.record.id, content.size)
    do throws(PhotoEnd) {
      _ = try await onServer { storage, token throws(SupabaseError) in
        try await storage.upload(
          place, .source(PhotoSource(file: body, count: total)), options, accessToken: token
        ) { progress.note(id, $0.sent, of: total) }
      }
    } catch {
      // Whatever the server said of bytes that moved, it said of others.
      guard try onDisk({ () throws(FileSystemError) in try file.currentStatus() }).stamp == file.status.stamp else {
        return .unsteady
      }
      guard case .storage(.refused(let refusal)) = error, refusal.code == "KeyAlreadyExists" else { throw error }
      guard let size = try await size(of: place) else { return .unconfirmed }
      return size == total ? .uploaded(size: size, sent: content) : .keyTaken
    }
    guard try onDisk({ () throws(FileSystemError) in try file.currentStatus() }).stamp == file.status.stamp else {
      return .unsteady
    }
    guard let size = try await size(of: place) else { return .unconfirmed }
    return .uploaded(size: size, sent: content)
  }

  /// How many bytes an object has; nil where the server shows none.
  private func size(of place: ObjectPath) async throws(PhotoEnd) -> Int64? {
    do throws(PhotoEnd) {
      return try await onServer { storage, token throws(SupabaseError) in
        try await storage.info(place, accessToken: token).sizeBytes
      }
    } catch {
      if case .storage(.refused(let refusal)) = error, refusal.code == "NoSuchKey" { return nil }
      throw error
    }
  }

  // MARK: Removing

  private func remove(_ leftover: PhotoLeftover, _ bucket: String) async throws(PhotoEnd) -> PhotoOutcome {
    let place = try Self.place(bucket, leftover.object)
    if let origin = leftover.removedFrom { try await keepCopy(of: place, from: origin) }
    let removed = try await onServer { storage, token throws(SupabaseError) in
      try await storage.remove(bucket, [place], accessToken: token)
    }
    if removed.contains(place.key) { return .removed }
    return try await size(of: place) == nil ? .removed : .notRemoved
  }

  /// Puts the bytes of an object into the trash.
  ///
  /// A process that dies before the object is gone does so once more: rather two copies than none.
  private func keepCopy(of place: ObjectPath, from origin: String) async throws(PhotoEnd) {
    let written = try makePartial()
    do throws(PhotoEnd) {
      let sink = PhotoSink(written)
      _ = try await onServer { storage, token throws(SupabaseError) in
        try await storage.download(place, accessToken: token, HTTPBodies(sink: sink))
      }
      try onDisk { () throws(FileSystemError) in
        _ = try written.finish(modified: nil)
        try files.makeDurable([written.path])
        _ = try workspace.trash.take(written.path, origin: origin, reason: "the photo was removed")
      }
    } catch {
      try? files.unlink(written.path)
      if case .storage(.refused(let refusal)) = error, refusal.code == "NoSuchKey" { return }
      throw error
    }
  }

  private func makePartial() throws(PhotoEnd) -> any WritableFile {
    try onDisk { () throws(FileSystemError) in
      try StateFolder.create(in: files)
      try files.createFolder(Self.folder, isPrivate: true)
      return try files.create(in: Self.folder, prefix: Self.partialPrefix)
    }
  }

  // MARK: Fetching

  private func fetch(_ download: PhotoDownload) async throws(PhotoEnd) -> PhotoOutcome {
    let place = try Self.place(download.bucket, download.row.object)
    let written = try makePartial()
    do throws(PhotoEnd) {
      let sink = PhotoSink(written)
      let (progress, id, total) = (workspace.photoProgress, download.record.id, download.row.size ?? 0)
      _ = try await onServer { storage, token throws(SupabaseError) in
        try await storage.download(
          place, accessToken: token, HTTPBodies(sink: sink) { progress.note(id, $0.received, of: total) })
      }
      let (size, sha256) = sink.finish()
      if let trouble = Self.difference(size, sha256, download.row) {
        try? files.unlink(written.path)
        return .otherBytes(trouble)
      }
      return try keep(written, size: size, sha256: sha256, download.row)
    } catch {
      try? files.unlink(written.path)
      throw error
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

/// Writes the body of an answer into a file and hashes it.
private final class PhotoSink: HTTPBodySink, @unchecked Sendable {  // Proof: the exchange makes one call at a time.
  private let file: any WritableFile
  private let hash = Digest(.sha256)
  private var size: Int64 = 0

  init(_ file: any WritableFile) { self.file = file }

  func takes(_ head: HTTPResponse) -> Bool { head.status == 200 && size == 0 }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    try file.write(bytes)
    hash.update(bytes)
    size += Int64(bytes.count)
  }

  func finish() -> (size: Int64, sha256: String) { (size, hash.finish()) }
}
