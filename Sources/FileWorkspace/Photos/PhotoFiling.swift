import LosslessJSON
import OfflineEngine

/// Takes what lies in the photos' folders into the records, and a person's changes into the queue, in one transaction.
struct PhotoFiling {
  let table: PhotoTable
  let transaction: EngineTransaction
  let makeID: @Sendable () -> String
  let now: WallTime
  let records: PhotoRecords
  var report = WorkspaceReport()
  /// Tells what lies at a path that a listing does not cover.
  private let identity: (_ path: String) throws -> FileIdentity?
  private var owners: [String: String?] = [:]

  /// How long a file must have been left alone before it is read: copies come in bursts.
  static let quiet = Duration.milliseconds(500)

  init(
    _ table: PhotoTable, _ transaction: EngineTransaction, makeID: @escaping @Sendable () -> String,
    identity: @escaping (_ path: String) throws -> FileIdentity? = { _ in nil }
  ) {
    self.identity = identity
    self.table = table
    self.transaction = transaction
    self.makeID = makeID
    now = transaction.now
    records = PhotoRecords(transaction)
  }

  private var folder: String { table.collection.folder }

  // MARK: Files

  /// Compares a listing with the records.
  ///
  /// - Returns: The records whose files it does not show.
  mutating func take(_ listing: PhotoListing) throws -> [PhotoRecord] {
    let known =
      try listing.names.map { try records.records(folder, below: table.settings.folder, names: $0) }
      ?? records.all(folder)
    let byPath = Dictionary(known.compactMap { one in one.path.map { (PathKey($0), one) } }) { first, _ in first }
    let byIdentity = Dictionary(known.compactMap { one in one.seen.map { ($0.identity, one) } }) { first, _ in first }
    let present = Dictionary(uniqueKeysWithValues: listing.files.map { (PathKey($0.path), $0.status.identity) })
    var found: Set<String> = []
    // What was only moved comes first: then nothing that lies at its old place is taken for it.
    var rest: [PhotoListing.Found] = []
    for file in listing.files {
      let identity = file.status.identity
      // A photo may have come from a folder that was not looked at.
      let from =
        try byIdentity[identity]
        ?? (listing.names == nil
          ? nil : records.records(folder, inode: identity.inode).first { $0.seen?.identity == identity })
      guard let moved = from, !Self.isAt(file.path, moved), Self.isSame(file.status, moved),
        try !isStillAt(moved, identity, present, listing), found.insert(moved.id).inserted
      else {
        rest.append(file)
        continue
      }
      try move(moved, to: file)
    }
    for file in rest {
      if let record = byPath[PathKey(file.path)], record.seen != nil, !found.contains(record.id) {
        found.insert(record.id)
        try look(at: record, file)
      } else {
        try add(file)
      }
    }
    // What is still to come to a place that is taken now needs another.
    for one in known where one.seen == nil && one.path.map({ present[PathKey($0)] != nil }) ?? false {
      try transaction.touchRow(table.name, RowKey(one.id))
    }
    try setProblems(listing)
    // As they are now: one that another was moved over has no path any more.
    return try known.filter { $0.seen != nil && !found.contains($0.id) }.compactMap { try records.record(id: $0.id) }
  }

  /// Whether a file that also lies elsewhere still lies where it was: then it has two names.
  private func isStillAt(
    _ record: PhotoRecord, _ identity: FileIdentity, _ present: [PathKey: FileIdentity], _ listing: PhotoListing
  ) throws -> Bool {
    guard let path = record.path else { return false }
    return try (listing.covers(path, table.settings) ? present[PathKey(path)] : self.identity(path)) == identity
  }

  private static func isAt(_ path: String, _ record: PhotoRecord) -> Bool {
    record.path.map { PathKey($0) == PathKey(path) } ?? false
  }

  /// A file system that keeps no birth times uses numbers again unnoticed; there size and time must be the same, too.
  private static func isSame(_ status: FileStatus, _ record: PhotoRecord) -> Bool {
    guard status.born == nil, let stamp = record.seen?.stamp else { return true }
    return stamp.size == status.size && stamp.modified == status.modified
  }

  private mutating func add(_ file: PhotoListing.Found) throws {
    var record = PhotoRecord(
      id: makeID(), collection: folder, owner: try owner(ofFolder: file.folder), path: file.path, state: .unread)
    record.wasSeen = true
    try see(file.status, &record)
    try records.save(record)
    report.note(.added, file.path, "photo")
  }

  /// A file at its own path.
  private mutating func look(at known: PhotoRecord, _ file: PhotoListing.Found) throws {
    var record = known
    (record.wasSeen, record.absentSince, record.isHeld) = (true, nil, false)
    if known.seen?.stamp != file.status.stamp { try see(file.status, &record) }
    try place(&record, file)
    if record != known { try records.save(record) }
  }

  private mutating func move(_ known: PhotoRecord, to file: PhotoListing.Found) throws {
    var record = known
    (record.wasSeen, record.absentSince, record.isHeld) = (true, nil, false)
    record.path = file.path
    if known.seen?.stamp != file.status.stamp { try see(file.status, &record) }
    try place(&record, file)
    record.lastPath = file.path
    // Where it waits for what has another name now.
    if record.state == .held { table.hold(&record, &report) }
    try records.save(record)
    if known.lastPath != file.path { report.note(.moved, file.path, "from \(known.lastPath)") }
  }

  /// Takes a file's numbers, which say that it is to be read.
  private mutating func see(_ status: FileStatus, _ record: inout PhotoRecord) throws {
    report.photosToDo += 1
    // What was sent of other bytes, or is being sent, is no photo's; a file that only moved is still the same.
    if let key = record.uploadKey, let seen = record.seen,
      seen.identity != status.identity || seen.stamp.size != status.size || seen.stamp.modified != status.modified
    {
      try PhotoLeftovers(transaction).add(key, of: record)
      record.uploadKey = nil
    }
    record.seen = PhotoSighting(status)
    record.content = nil
    record.state = .unread
    (record.reason, record.attempts) = (nil, 0)
    let due = WallTime(nanoseconds: status.changed.nanoseconds) + Self.quiet
    // A time far ahead is another clock's, and nothing to wait for.
    record.retryAt = due > now && due <= now + Self.quiet ? due : nil
  }

  /// Takes over where a file lies: whose it is and what it is called.
  private mutating func place(_ record: inout PhotoRecord, _ file: PhotoListing.Found) throws {
    let isRenamed = WorkspacePath.name(of: record.lastPath) != file.name
    let owner = try owner(ofFolder: file.folder)
    guard let owner else {
      // It belongs to whom it belonged to, but is called as its file is.
      guard isRenamed, let row = record.row else { return }
      return try setPlace(PhotoPlace(owner: row.owner, name: FileNames.composed(file.name)), of: &record)
    }
    if record.state == .held {
      (record.state, record.reason) = (.waiting, nil)
      report.photosToDo += 1
    }
    let name = isRenamed ? FileNames.composed(file.name) : record.row?.name ?? FileNames.composed(file.name)
    record.owner = owner
    try setPlace(PhotoPlace(owner: owner, name: name), of: &record)
  }

  /// Has the row say where the file lies, if there is a row and it does not.
  mutating func setPlace(_ place: PhotoPlace, of record: inout PhotoRecord) throws {
    guard let before = record.row, before != place else { return }
    record.row = place
    let state = try PhotoRowState(table, record.id, transaction)
    guard let row = state.row, row.place != place, let base = state.base else { return }
    let (values, old) = (table.values(of: place), table.values(of: row.place))
    let changed = JSONObject(values.members.filter { old[$0.name] != $0.value })
    try transaction.enqueue(
      .update(
        table.name, key: RowKey(record.id), values: changed,
        base: WriteBase(values: base.values, version: base.version), coalesces: true))
    report.queued += 1
    report.note(.edited, record.path ?? record.lastPath, changed.names.joined(separator: ", "))
  }

  /// The key of the row whose photos lie in a folder.
  private mutating func owner(ofFolder name: String?) throws -> String? {
    guard let name else { return nil }
    if let known = owners[name] { return known }
    let path = WorkspacePath.joined(table.collection.folder, name + ".json")
    let mirror = Mirror(transaction)
    // A file that is gone keeps its photos until its row is.
    let owner = try mirror.entry(path: path) ?? mirror.absentEntries(folder).first { $0.lastPath == path }
    owners[name] = .some(owner?.base.key.text)
    return owner?.base.key.text
  }

  private mutating func setProblems(_ listing: PhotoListing) throws {
    let problems = Problems(transaction)
    var found = listing.problems
    // One that is nobody's is held with the same words.
    for file in listing.files where file.folder == nil {
      if try records.record(path: file.path)?.owner != nil { found.append((file.path, table.looseHint)) }
    }
    let paths = Set(found.map { PathKey($0.path) })
    for path in try problems.paths()
    where table.settings.holds(path) && listing.covers(path, table.settings) && !paths.contains(PathKey(path)) {
      _ = try problems.clear(path)
      report.note(.solved, path)
    }
    for (path, message) in found {
      guard try problems.set(Problem(path: path, message: message, since: now)) else { continue }
      report.note(.problem, path, message)
    }
  }
}
