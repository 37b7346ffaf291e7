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
  let workspace: Workspace
  let client: UserEngine
  let files: any FileSystem
  private let inspect: PhotoInspector

  /// Where objects are written before they have their place.
  static let folder = ".tidemark/photos"
  /// What a file begins with that is of no use to a later process.
  static let passingPrefix = "passing"
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

  func onServer<T: Sendable>(
    _ body: (StorageClient, Secret?) async throws(SupabaseError) -> T
  ) async throws(PhotoEnd) -> T {
    do { return try await client.storage(body) } catch { throw .storage(error) }
  }

  static func place(_ bucket: String, _ key: String) throws(PhotoEnd) -> ObjectPath {
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

  func hash(_ file: any ReadableFile, _ algorithm: Digest.Algorithm = .sha256) async throws(PhotoEnd) -> String {
    let hash = Digest(algorithm)
    try await pass(file) { hash.update($0) }
    return hash.finish()
  }

  /// Reads a file from its beginning to its end, piece by piece.
  func pass(_ file: any ReadableFile, to body: (UnsafeRawBufferPointer) -> Void) async throws(PhotoEnd) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 16)
    defer { buffer.deallocate() }
    var position: Int64 = 0
    while true {
      let count = try onDisk { () throws(FileSystemError) in try file.read(at: position, into: buffer) }
      if count == 0 { return }
      body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      position += Int64(count)
      // A large file is not to keep others from the threads that all share.
      await Task.yield()
    }
  }

  // MARK: Removing

  private func remove(_ leftover: PhotoLeftover, _ bucket: String) async throws(PhotoEnd) -> PhotoOutcome {
    let place = try Self.place(bucket, leftover.object)
    // Of an upload that never came to its end the server keeps what it has.
    do { try await client.abandonUpload(place) } catch { throw .storage(error) }
    if let origin = leftover.removedFrom { try await keepCopy(of: place, from: origin) }
    let removed = try await onServer { storage, token throws(SupabaseError) in
      try await storage.remove(bucket, [place], accessToken: token)
    }
    if removed.contains(place.key) { return .removed }
    return try await object(at: place) == nil ? .removed : .notRemoved
  }

  /// Puts the bytes of an object into the trash.
  ///
  /// A process that dies before the object is gone does so once more: rather two copies than none.
  private func keepCopy(of place: ObjectPath, from origin: String) async throws(PhotoEnd) {
    let written = try makePassing()
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

  /// A file that nobody needs any more once this process is gone.
  func makePassing() throws(PhotoEnd) -> any WritableFile {
    try onDisk { () throws(FileSystemError) in
      try makeFolder()
      return try files.create(in: Self.folder, prefix: Self.passingPrefix)
    }
  }

  func makeFolder() throws(FileSystemError) {
    try StateFolder.create(in: files)
    try files.createFolder(Self.folder, isPrivate: true)
  }
}
