import OfflineEngine

/// Takes what the server's rows say of photos into the records and folders, within one transaction.
///
/// What it does to files is done before the commit: a process that dies in between finds the file at its new place and
/// the change still to be taken in, and nothing to do.
struct PhotoArrival {
  let table: PhotoTable
  let transaction: EngineTransaction
  let files: any FileSystem
  let trash: Trash
  let makeID: @Sendable () -> String
  let records: PhotoRecords
  var report = WorkspaceReport()
  /// Folders whose names have changed, to be made durable.
  private(set) var folders: Set<String> = []

  init(
    _ table: PhotoTable, _ transaction: EngineTransaction, files: any FileSystem, trash: Trash,
    makeID: @escaping @Sendable () -> String
  ) {
    self.table = table
    self.transaction = transaction
    self.files = files
    self.trash = trash
    self.makeID = makeID
    records = PhotoRecords(transaction)
  }

  /// Takes in one row.
  ///
  /// - Returns: Whether the change is done with; else it is looked at again.
  mutating func take(_ id: String) throws -> Bool {
    let state = try PhotoRowState(table, id, transaction)
    var record = try records.record(id: id)
    try takeRefusals(id, &record)
    // The end of a write that waits is told again.
    if state.isPending { return true }
    if record == nil, let row = state.row {
      record = try PhotoRecognition(table: table, transaction: transaction).takeFile(for: row, id)
      if record == nil { return try expect(row, id) }
    }
    guard var record else { return true }
    let before = record
    if state.row == nil { try takeAbsence(&record, state) }
    // Another file has taken its place, or the row has another one, before its bytes came.
    if record.state == .remote, record.seen == nil, let row = state.row, record.path == nil || record.row != row.place {
      record.path = try newPath(for: row, id)
      record.lastPath = record.path ?? record.lastPath
      (record.row, record.owner) = (row.place, row.place.owner)
    }
    try confirm(&record, state.row)
    if record.seen != nil, record.state == .unread || record.state == .failed, state.row?.object == record.object?.key {
      // What the file says is told when it was read.
      if record != before { try records.save(record) }
      return true
    }
    let steps = decidePhoto(input(record, state))
    if record != before || !steps.isEmpty { try records.save(record) }
    if !steps.isEmpty { report.photosToDo += 1 }
    for step in steps where try !carryOut(step, &record, state) { return false }
    return record.path != nil || record.state != .remote || state.row == nil
  }

  /// What the decision is made from, by the record and the row.
  private func input(_ record: PhotoRecord, _ state: PhotoRowState) -> PhotoInput {
    let place = record.row ?? record.owner.map { PhotoPlace(owner: $0, name: WorkspacePath.name(of: record.lastPath)) }
    let base = record.object.flatMap { object in
      place.map {
        PhotoInput.Base(object: object.key, sha256: record.seen == nil ? nil : object.sha256, place: $0)
      }
    }
    let file: PhotoInput.File =
      if record.seen == nil || record.absentSince != nil { .missing } else if let content = record.content {
        .there(sha256: content.sha256)
      } else { .unread }
    let row: PhotoInput.Row =
      if let row = state.row { .there(object: row.object, sha256: row.sha256, place: row.place) } else if state.isGone {
        .gone
      } else { .none }
    return PhotoInput(
      base: base, file: file, place: record.owner == nil ? nil : place, row: row, isOwnerOnServer: true,
      mayDownload: record.isWanted || record.seen != nil || state.row.map(table.settings.fetches) ?? false)
  }

  /// There is no row, and no write that could make one, of a photo that was to have its first.
  private func takeAbsence(_ record: inout PhotoRecord, _ state: PhotoRowState) throws {
    guard record.object == nil else { return }
    if state.isGone {
      // It came and went before it was seen here what it names: what was sent last, or what was sent before that. Whoever
      // deleted it has removed the one, and nobody else knows of the other.
      if let sent = record.sent { try PhotoLeftovers(transaction).add([sent.key], of: record) }
      (record.object, record.sent) = (record.sent, nil)
    } else if record.seen != nil, record.row != nil {
      record.row = nil
      try table.dropSent(&record, transaction)
    }
  }

  /// The row names what this device has sent: what it named before may go.
  private mutating func confirm(_ record: inout PhotoRecord, _ row: PhotoRow?) throws {
    guard let sent = record.sent, let row, row.object == sent.key else { return }
    if let former = record.object, former.key != sent.key {
      try PhotoLeftovers(transaction).add(former.key, of: record)
    }
    record.object = sent
    record.sent = nil
    // What this device wrote of its place stays the base: the row may say another one already.
    record.row = record.row ?? row.place
    let isRepeated = try transaction.takeRepeatedInsert(table.name, RowKey(record.id))
    guard record.state == .sent else { return }
    (record.state, record.reason, record.attempts) = (.stored, nil, 0)
    guard isRepeated else { return }
    // Whoever deleted the row in between has removed its object, too: looked for, and sent again where it is not there.
    (record.state, record.uploadKey) = (.waiting, sent.key)
    report.photosToDo += 1
  }

  /// What the server refused stays with the one photo.
  private mutating func takeRefusals(_ id: String, _ record: inout PhotoRecord?) throws {
    for refused in try transaction.rejectedMutations(table.name, RowKey(id)) {
      try transaction.dismissRejectedMutation(refused.id)
      let reason = "the server refused the photo's row: \(refused.message)"
      report.note(.refused, record?.lastPath ?? table.settings.folder, reason)
      guard var known = record else { continue }
      if refused.write.operation == .insert {
        known.row = nil
        try table.dropSent(&known, transaction)
      }
      (known.state, known.reason, known.retryAt) = (.failed, reason, nil)
      try records.save(known)
      record = known
    }
    for conflict in try transaction.conflictedMutations(table.name, RowKey(id)) {
      try transaction.dismissConflictedMutation(conflict.id)
    }
  }

  // MARK: Steps

  /// Does what a decision says.
  ///
  /// - Returns: False where the rest must wait: for the file of the row that the photo belongs to, or until a file that
  ///   has changed is read.
  private mutating func carryOut(
    _ step: PhotoStep, _ record: inout PhotoRecord, _ state: PhotoRowState
  ) throws -> Bool {
    switch step {
    case .download:
      record.isWanted = true
      (record.state, record.reason, record.attempts, record.retryAt) = (.remote, nil, 0, nil)
      try records.save(record)
    case .adopt:
      guard let row = state.row else { return true }
      record.object = PhotoObject(key: row.object, sha256: row.sha256, size: row.size)
      // Where it lies is what was agreed on; another place of the row is still to be taken in.
      (record.sent, record.row, record.state, record.reason) = (nil, record.row ?? row.place, .stored, nil)
      try records.save(record)
    case .moveFile(let place): return try moveFile(&record, to: place)
    case .trashFile:
      guard let path = record.path, let status = try files.status(path) else { return true }
      guard status.stamp == record.seen?.stamp else {
        (record.seen, record.content, record.state) = (PhotoSighting(status), nil, .unread)
        (record.reason, record.attempts, record.retryAt) = (nil, 0, nil)
        try records.save(record)
        return false
      }
      try trash.take(path, origin: path, reason: "its row is gone from the server")
      try PhotoLeftovers(transaction).noteTrashed(photo: record.id)
      try removeIfEmpty(WorkspacePath.folder(of: path))
      report.filesRemoved += 1
      report.note(.removed, path, "its row is gone; the photo is in the trash")
    case .forget:
      // No row names what is on its way, or will: what arrives of it, also after a death, goes again. Of a file that a
      // person has removed the object may be the only copy, whoever has deleted the row.
      let former = record.absentSince == nil ? nil : record.object?.key
      try PhotoLeftovers(transaction).add([former, record.sent?.key, record.uploadKey].compactMap(\.self), of: record)
      try records.remove(id: record.id)
    case .makeAnother: try makeAnother(of: &record, state)
    case .upload, .insertRow, .updateObject, .removeObject:
      if record.state == .stored || record.state == .sent { record.state = .waiting }
      try records.save(record)
    case .read, .hold, .awaitOwner, .updatePlace, .deleteRow: break  // A matter of files.
    }
    return true
  }

  /// A folder that held nothing but photos which are gone.
  private func removeIfEmpty(_ folder: String) throws {
    guard folder != table.settings.folder else { return }
    do { try files.removeFolder(folder) } catch {
      switch error {
      case .notEmpty, .absent: return
      default: throw error
      }
    }
  }

  private mutating func moveFile(_ record: inout PhotoRecord, to place: PhotoPlace) throws -> Bool {
    let from = record.path
    guard let target = try newPath(owner: place.owner, name: place.name, record.id, besides: from) else { return false }
    (record.row, record.owner) = (place, place.owner)
    if let from, from != target, record.seen != nil {
      try files.createFolder(WorkspacePath.folder(of: target), isPrivate: false)
      do throws(FileSystemError) { try files.moveNoReplace(from, target) } catch .absent {
        // Moved already, by a process that died before it could note it, or by the person.
      }
      try files.makeNamesDurable([WorkspacePath.folder(of: target)])
      try removeIfEmpty(WorkspacePath.folder(of: from))
      if let status = try files.status(target), status.identity == record.seen?.identity {
        // A rename moves the change time; the bytes are those that were read.
        if status.size == record.seen?.stamp.size, status.modified == record.seen?.stamp.modified {
          record.seen = PhotoSighting(status)
        }
      }
      report.note(.moved, target, "from \(from)")
    }
    (record.path, record.lastPath) = (target, target)
    try records.save(record)
    return true
  }

  /// The file's bytes are nowhere else, and the row is about others: they become a photo of their own.
  private mutating func makeAnother(of record: inout PhotoRecord, _ state: PhotoRowState) throws {
    var another = record
    another.number = 0
    try table.dropSent(&another, transaction)
    another.id = makeID()
    (another.object, another.row) = (nil, nil)
    (another.state, another.reason, another.attempts, another.retryAt) = (.waiting, nil, 0, nil)
    if another.owner == nil { another.state = .held }
    guard state.row != nil, let path = record.path else {
      try records.remove(id: record.id)
      try records.save(another)
      report.note(.added, another.lastPath, "its row is gone, but the picture is another one since: it is a new photo")
      return
    }
    let name = PhotoNames.fileName(for: WorkspacePath.name(of: path), id: another.id) { _ in false }
    let folder = WorkspacePath.folder(of: path)
    let free = try freeName(name, another.id, in: folder, besides: nil)
    let target = WorkspacePath.joined(folder, free)
    try files.moveNoReplace(path, target)
    try files.makeNamesDurable([folder])
    (another.path, another.lastPath) = (target, target)
    if let status = try files.status(target) { another.seen = PhotoSighting(status) }
    (record.seen, record.content, record.sent, record.uploadKey) = (nil, nil, nil, nil)
    try records.save(record)
    try records.save(another)
    report.note(.added, target, "both sides changed this picture: yours is a photo of its own now")
  }

  // MARK: New rows

  /// Makes a place for a photo that is on the server only.
  private mutating func expect(_ row: PhotoRow, _ id: String) throws -> Bool {
    // The first names are chosen when all rows are known, so that they do not depend on the order of arrival.
    guard try transaction.hasBeenSwept(table.name), let path = try newPath(for: row, id) else { return false }
    var record = PhotoRecord(
      id: id, collection: table.collection.folder, owner: row.place.owner, path: path, state: .remote)
    record.row = row.place
    record.isWanted = table.settings.fetches(row)
    try records.save(record)
    report.photosToDo += 1
    return true
  }

  private func newPath(for row: PhotoRow, _ id: String) throws -> String? {
    try newPath(owner: row.place.owner, name: row.place.name, id, besides: nil)
  }

  /// A free path in the folder of a row's photos; nil while the row has no file.
  private func newPath(owner: String, name: String, _ id: String, besides path: String?) throws -> String? {
    guard let entry = try Mirror(transaction).entry(table.collection.folder, keyText: owner) else { return nil }
    let folder = table.settings.path(forFileNamed: WorkspacePath.name(of: entry.path ?? entry.lastPath))
    return WorkspacePath.joined(folder, try freeName(name, id, in: folder, besides: path))
  }

  private func freeName(_ name: String, _ id: String, in folder: String, besides path: String?) throws -> String {
    var taken = Set(try records.names(in: folder, besides: id).map(FileNames.folded))
    for name in try namesOnDisk(folder) where WorkspacePath.joined(folder, name) != path {
      taken.insert(FileNames.folded(name))
    }
    return PhotoNames.fileName(for: name, id: id) { taken.contains($0) }
  }

  private func namesOnDisk(_ folder: String) throws(FileSystemError) -> [String] {
    do { return try files.names(in: folder, prefix: "") } catch {
      if case .absent = error { return [] }
      throw error
    }
  }
}

extension PhotosSettings {
  /// Whether a photo comes down by itself, as far as its row tells.
  func fetches(_ row: PhotoRow) -> Bool {
    switch download {
    case .all: true
    case .none, .newest: false
    case .upTo(let bytes): row.size.map { $0 <= bytes } ?? true
    }
  }
}

extension Workspace {
  /// Takes in what changed in the rows of a collection's photos.
  func takePhotoRows(of collection: Collection, _ report: inout WorkspaceReport) throws {
    guard let table = PhotoTable(collection), gitWork == nil, unscannable[table.settings.folder] == nil else { return }
    var last: String?
    while true {
      let (next, taken) = try client.transaction { transaction -> (String?, WorkspaceReport) in
        var arrival = PhotoArrival(table, transaction, files: files, trash: trash, makeID: environment.makeID)
        let keys = try transaction.changedKeys(table.name, after: last, limit: Self.batchCount)
        for key in keys where try arrival.take(key) { try transaction.clearChange(table.name, key) }
        return (keys.last, arrival.report)
      }
      report.add(taken)
      guard let next else { break }
      last = next
    }
    report.add(try releasePhotos(of: table))
    try chooseNewestPhotos(of: table)
  }

  /// Has photos looked at again whose folders belonged to no row, and belong to one now.
  func lookAgainAtHeldPhotos(of collection: Collection) throws {
    guard let table = PhotoTable(collection) else { return }
    let free = try client.read { transaction in
      let mirror = Mirror(transaction)
      return try PhotoRecords(transaction).held(collection.folder).filter { record in
        try table.rowFile(ofPhotoAt: record.lastPath).map { try mirror.entry(path: $0) != nil } ?? false
      }
    }
    for record in free { lookAgain(at: record) }
  }
}
