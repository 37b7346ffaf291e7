import OfflineEngine
import SupabaseAPI

extension Workspace {
  var photoTables: [PhotoTable] { collections.compactMap(PhotoTable.init) }

  /// The next file that is to be read; nil where there is none.
  func nextPhotoRead() throws -> PhotoJob? { try nextPhotoJob { try $0.nextRead() } }

  /// The next photo that is to be sent, removed or fetched, after what needs no work was settled; nil where there is none.
  func nextPhotoTransfer() throws -> PhotoJob? { try nextPhotoJob { try $0.nextTransfer() } }

  private func nextPhotoJob(_ next: (PhotoSchedule) throws -> PhotoJob?) throws -> PhotoJob? {
    guard gitWork == nil else { return nil }
    for table in photoTables where unscannable[table.settings.folder] == nil {
      let job = try client.transaction { transaction in
        try next(PhotoSchedule(table, transaction, makeID: environment.makeID))
      }
      if let job { return job }
    }
    return nil
  }

  /// When the next of the photos that wait for a time is due.
  public func nextPhotoDue() throws -> WallTime? {
    guard !photoTables.isEmpty else { return nil }
    return try client.read { try PhotoRecords($0).nextDue() }
  }

  /// When the next of the photos that wait to be left alone is to be read, if one is.
  public func nextPhotoReadDue() throws -> WallTime? {
    guard !photoTables.isEmpty, gitWork == nil else { return nil }
    return try client.read { try PhotoRecords($0).nextRead() }
  }

  /// Takes in what became of a job.
  func settle(_ job: PhotoJob, _ outcome: PhotoOutcome) throws -> WorkspaceReport {
    switch job {
    case .read(let record): return try settle(reading: record, outcome)
    case .upload(let upload): return try settle(upload, outcome)
    case .remove(let leftover, _): return try settle(leftover, outcome)
    case .download(let download): return try settle(download, outcome)
    }
  }

  private func table(of folder: String) -> PhotoTable? { photoTables.first { $0.collection.folder == folder } }

  /// Runs `body` with a record as it is now, if the file is still the one that the job was about.
  private func update(
    _ job: PhotoRecord, _ body: (PhotoTable, EngineTransaction, inout PhotoRecord, inout WorkspaceReport) throws -> Void
  ) throws -> WorkspaceReport {
    guard let table = table(of: job.collection) else { return WorkspaceReport() }
    return try client.transaction { transaction in
      var report = WorkspaceReport()
      let records = PhotoRecords(transaction)
      guard var record = try records.record(id: job.id), record.seen == job.seen, record.state == job.state else {
        return report
      }
      try body(table, transaction, &record, &report)
      if try records.record(id: record.id) != nil { try records.save(record) }
      return report
    }
  }

  // MARK: Reading

  private func settle(reading job: PhotoRecord, _ outcome: PhotoOutcome) throws -> WorkspaceReport {
    let report = try update(job) { table, transaction, record, report in
      switch outcome {
      case .read(let content):
        record.content = content
        (record.reason, record.attempts, record.retryAt) = (nil, 0, nil)
        try PhotoReading(table: table, transaction: transaction).settle(&record, &report)
      case .noPhoto(let fault):
        fail(&record, fault.description, &report)
      case .failed(let error):
        fail(&record, "\(error)", &report)
      default:
        // A listing takes its new numbers; until then, or while it is open, it is looked at again.
        record.retryAt = now + PhotoFiling.quiet
        lookAgain(at: record)
      }
    }
    guard case .read = outcome, let table = table(of: job.collection) else { return report }
    return try makeOwner(of: job.id, table, after: report)
  }

  /// Makes the row that a new folder asks for, where the settings say so.
  private func makeOwner(of id: String, _ table: PhotoTable, after report: WorkspaceReport) throws -> WorkspaceReport {
    var report = report
    guard table.settings.newFolders == .add,
      let record = try client.read({ try PhotoRecords($0).record(id: id) }), record.state == .held,
      let path = record.path, let file = table.rowFile(ofPhotoAt: path)
    else { return report }
    if try files.status(file) == nil {
      // Empty: it takes its title from its name, as any file does that a person makes so.
      try put([], at: file, over: .absent)
      try take(file, &report)
    }
    try scanPhotos(of: table.collection, &report)
    return report
  }

  private func fail(_ record: inout PhotoRecord, _ reason: String, _ report: inout WorkspaceReport) {
    if record.reason != reason { report.note(.problem, record.lastPath, reason) }
    (record.state, record.reason, record.retryAt) = (.failed, reason, nil)
  }

  /// Has a step tried again later, a number of times.
  private func retry(_ record: inout PhotoRecord, _ reason: String, _ report: inout WorkspaceReport) {
    record.attempts += 1
    guard record.attempts < PhotoRetry.attemptsMax else {
      fail(&record, "\(reason) (tried \(record.attempts) times)", &report)
      return
    }
    if record.reason != reason { report.note(.note, record.lastPath, reason) }
    record.reason = reason
    record.retryAt = now + PhotoRetry.wait(after: record.attempts)
  }

  // MARK: Sending

  private func settle(_ upload: PhotoUpload, _ outcome: PhotoOutcome) throws -> WorkspaceReport {
    var wasTaken = false
    let report = try update(upload.record) { table, transaction, record, report in
      guard record.uploadKey == upload.key, record.content == upload.content else { return }
      wasTaken = true
      func dropKey() throws {
        try PhotoLeftovers(transaction).add(upload.key, of: record)
        record.uploadKey = nil
      }
      switch outcome {
      case .uploaded(let size, let sent):
        try PhotoReading(table: table, transaction: transaction).sent(&record, upload, sent, size: size, &report)
      case .known(let sha256):
        // Nothing was sent under the key.
        record.uploadKey = nil
        let recognition = PhotoRecognition(table: table, transaction: transaction)
        if let photo = try recognition.photo(for: record, upload.content, sent: sha256) { record = photo }
      case .noPhoto(let fault):
        fail(&record, fault.description, &report)
        record.uploadKey = nil
      case .unsteady:
        lookAgain(at: record)
        (record.state, record.retryAt) = (.unread, now + PhotoFiling.quiet)
      case .keyTaken:
        try dropKey()
      case .unconfirmed:
        retry(
          &record,
          "not confirmed: the server took the upload but shows no such object; its policies must let this user insert "
            + "and select in the bucket", &report)
      case .refused(let refusal):
        if PhotoRefusal.isFinal(refusal) {
          fail(&record, PhotoRefusal.reason(refusal, upload), &report)
          record.uploadKey = nil
        } else {
          retry(&record, "the server refused the upload: \(refusal)", &report)
        }
      case .failed(let error): retry(&record, "\(error)", &report)
      default: return
      }
    }
    if !wasTaken, case .uploaded = outcome {
      // The photo went, or has other bytes, while these were on their way.
      try client.transaction { transaction in
        let record = try PhotoRecords(transaction).record(id: upload.record.id)
        // Under the key that is still the photo's it is found by its content.
        let keys = [record?.object?.key, record?.sent?.key, record?.uploadKey]
        guard !keys.contains(upload.key) else { return }
        try PhotoLeftovers(transaction).add(upload.key, of: upload.record)
      }
    }
    return report
  }

  // MARK: Removing

  private func settle(_ job: PhotoLeftover, _ outcome: PhotoOutcome) throws -> WorkspaceReport {
    var report = WorkspaceReport()
    let reason: String
    switch outcome {
    case .removed:
      try client.transaction { try PhotoLeftovers($0).remove(job.object) }
      return report
    case .notRemoved:
      reason =
        "the bucket's policies do not let this user remove an object that no photo needs: that takes select and delete"
    case .refused(let refusal): reason = "an object that no photo needs was not removed: \(refusal)"
    default: reason = "an object that no photo needs could not be removed"
    }
    var leftover = job
    leftover.attempts += 1
    leftover.reason = reason
    leftover.retryAt = now + PhotoRetry.wait(after: leftover.attempts)
    let isOver = leftover.attempts >= PhotoRetry.attemptsMax
    try client.transaction { transaction in
      let leftovers = PhotoLeftovers(transaction)
      if isOver { try leftovers.remove(job.object) } else { try leftovers.add(leftover) }
    }
    if isOver { report.note(.note, "", "\(reason); it stays in the bucket: \(job.object)") }
    return report
  }

  // MARK: Fetching

  private func settle(_ download: PhotoDownload, _ outcome: PhotoOutcome) throws -> WorkspaceReport {
    switch outcome {
    case .downloaded(let file, let content): return try place(file, content, download)
    case .refused(let refusal):
      return try update(download.record) { _, _, record, report in
        let reason = "the server does not give the photo: \(refusal)"
        if PhotoRefusal.isFinal(refusal), refusal.code != "NoSuchKey" {
          fail(&record, reason, &report)
        } else {
          retry(&record, reason, &report)
        }
      }
    case .otherBytes(let reason):
      return try update(download.record) { _, _, record, report in retry(&record, reason, &report) }
    case .failed(let error):
      return try update(download.record) { _, _, record, report in retry(&record, "\(error)", &report) }
    default: return WorkspaceReport()
    }
  }

  /// Puts a fetched file in place, never over anything but what it is to replace.
  private func place(
    _ file: TemporaryFile, _ content: PhotoContent, _ download: PhotoDownload
  ) throws -> WorkspaceReport {
    var isDone = false
    var report = try update(download.record) { table, transaction, record, report in
      let state = try PhotoRowState(table, record.id, transaction)
      guard let path = record.path, state.row?.object == download.row.object else { return }
      switch try put(file, at: path, over: record.seen) {
      case .placed(let status):
        record.seen = PhotoSighting(status)
        record.content = content
        record.object = PhotoObject(key: download.row.object, sha256: content.sha256, size: content.size)
        record.sent = nil
        // It lies where the row said when its place was made: what the row says since is to be taken in by a move.
        record.row = record.row ?? state.row?.place
        record.owner = record.owner ?? state.row?.place.owner
        isDone = record.row == state.row?.place
        if !isDone { try transaction.touchRow(table.name, RowKey(record.id)) }
        (record.state, record.reason, record.attempts, record.retryAt) = (.stored, nil, 0, nil)
        (record.wasSeen, record.absentSince, record.isHeld) = (false, nil, false)
        record.lastPath = path
        report.filesWritten += 1
        report.note(.written, path, "photo")
      case .inTheWay:
        // Another file has the name meanwhile: this one gets another, and that is for the row to say again.
        if record.seen == nil { record.path = nil } else { lookAgain(at: record) }
        try transaction.touchRow(table.name, RowKey(record.id))
      }
    }
    // What was put in place has another name; what is left here has no use.
    if let left = try files.status(file.path), left.identity == file.status.identity { try files.unlink(file.path) }
    if !isDone, let table = table(of: download.record.collection) {
      try takePhotoRows(of: table.collection, &report)
    }
    return report
  }

  private enum Placing {
    case placed(FileStatus)
    case inTheWay
  }

  private func put(_ file: TemporaryFile, at path: String, over known: PhotoSighting?) throws -> Placing {
    let folder = WorkspacePath.folder(of: path)
    try files.createFolder(folder, isPrivate: false)
    if let known, try files.status(path) != nil {
      try files.exchange(file.path, path)
      guard let out = try files.status(file.path) else { throw FileSystemError.absent(file.path) }
      guard out.identity == known.identity, out.size == known.stamp.size, out.modified == known.stamp.modified else {
        // It is a newer save: back in its place, where a listing finds it.
        try files.exchange(file.path, path)
        return .inTheWay
      }
      try trash.take(file.path, origin: path, reason: "replaced by a newer picture from the server")
    } else {
      do throws(FileSystemError) { try files.moveNoReplace(file.path, path) } catch {
        if case .exists = error { return .inTheWay }
        throw error
      }
    }
    try files.makeNamesDurable([folder])
    guard let status = try files.status(path) else { throw FileSystemError.absent(path) }
    return .placed(status)
  }

  /// Clears away what a process that died has left, but for parts of objects that are still to come; what it may have
  /// taken out of a folder goes to the trash.
  func clearPhotoTransfers() throws -> [TrashEntry] {
    let entries: [FolderEntry]
    do throws(FileSystemError) { entries = try files.list(PhotoTransfers.folder).entries } catch {
      if case .absent = error { return [] }
      throw error
    }
    var kept: [TrashEntry] = []
    let expected = entries.contains { $0.name.hasPrefix(PhotoPart.prefix) } ? try expectedParts() : []
    for entry in entries where entry.status.kind == .file {
      let path = WorkspacePath.joined(PhotoTransfers.folder, entry.name)
      if entry.name.hasPrefix(PhotoPart.prefix) {
        if !expected.contains(where: entry.name.hasPrefix) { try files.unlink(path) }
      } else if entry.name.hasPrefix(PhotoTransfers.passingPrefix) {
        try files.unlink(path)
      } else {
        kept.append(try trash.take(path, origin: path, reason: "found among the program's own files after a crash"))
      }
    }
    return kept
  }

  /// What the parts of the objects begin with that are to come down.
  private func expectedParts() throws -> [String] {
    try client.read { transaction in
      try photoTables.flatMap { table in
        try PhotoRecords(transaction).all(table.collection.folder).filter { $0.state == .remote && $0.isWanted }
          .compactMap { record in
            guard let row = try PhotoRowState(table, record.id, transaction).row else { return nil }
            let place = try? ObjectPath(bucket: table.settings.bucket, key: row.object)
            return place.map(PhotoPart.prefix(of:))
          }
      }
    }
  }
}

/// How often and when a step is tried again.
enum PhotoRetry {
  /// How many tries a photo has before it is left to a person.
  static let attemptsMax = 6
  /// The longest wait between two tries.
  static let longest = Duration.seconds(600)

  /// The wait after so many failures: two seconds, then ever longer.
  static func wait(after attempts: Int) -> Duration { min(.seconds(1 << min(attempts, 20)), longest) }
}
