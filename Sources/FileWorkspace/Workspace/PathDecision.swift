import LosslessJSON
import OfflineEngine

/// What a decision needs of the workspace.
struct DecisionParts: Sendable {
  var files: any FileSystem
  var makeID: @Sendable () -> String
  var now: WallTime
  /// The rows for which a file is being made, by its path.
  var newFileKeys: [PathKey: RowKey]
  /// The paths with problems.
  var troubled: Set<PathKey>
  /// Whether an editor has the file open, by its marker beside it: the marker's name.
  var editorMarker: @Sendable (_ path: String) -> String?
}

/// What decisions came to, for the time after the transaction.
struct DecisionResult: Sendable {
  var report = WorkspaceReport()
  var work: [FileWork] = []
  var trash: [TrashItem] = []
  /// Paths to be decided anew at once.
  var again: [String] = []
  /// Paths to be looked at after one settle time.
  var lookAgain: [String] = []
  /// Files whose rewriting waits for an editor.
  var waiting: [(path: String, marker: String)] = []
  var namesTaken: [String] = []
  var namesFreed: [String] = []
}

/// Decides about paths of one collection within one transaction, and records the decisions.
struct PathDecision {
  let workspace: DecisionParts
  let collection: Collection
  let transaction: EngineTransaction
  let mirror: Mirror
  let sides: SideFiles
  var result = DecisionResult()
  /// Whether the path in hand was saved from an older text than the one that lay there.
  private var isFromOlderText = false
  /// Whether a change of the path in hand waits for an editor.
  private var isWaiting = false

  init(workspace: DecisionParts, collection: Collection, transaction: EngineTransaction) {
    self.workspace = workspace
    self.collection = collection
    self.transaction = transaction
    mirror = Mirror(transaction)
    sides = SideFiles(transaction)
  }

  // MARK: One path

  mutating func decide(_ reading: PathReading) throws {
    if reading.isUnsteady {
      result.lookAgain.append(reading.path)
      return
    }
    if let problem = reading.problem {
      // A known file's row keeps its last good state; the server's changes wait until the file reads again.
      try note(problem)
      return
    }
    result.namesTaken.append(WorkspacePath.name(of: reading.path))
    var reading = reading
    let entry = try mirror.entry(path: reading.path)
    if reading.isEmpty {
      reading.file = .row(FileRow(values: [:], key: nil))
      let before = try entry ?? owner(of: reading, besides: nil)
      guard let known = try valuesOfEmptyFile(reading, before) else { return }
      reading.file = .row(FileRow(values: known, key: nil))
    }
    if try settleMovedSide(reading, entry) { return }
    var current = try learnedEntry(path: reading.path)
    for _ in 0..<4 {
      let steps = try steps(reading, &current)
      if case .takeBackDelete(let key)? = steps.first {
        guard let restored = try takeBackDelete(of: key, reading) else { break }
        current = restored
        continue
      }
      if case .moveFrom(let path)? = steps.first {
        guard var moved = try owner(of: reading, besides: current) else { break }
        result.report.note(.moved, reading.path, "from \(path)")
        if let old = moved.path {
          result.namesFreed.append(WorkspacePath.name(of: old))
          result.again.append(old)  // Another file may lie there, to be judged anew now.
        }
        moved.path = reading.path
        moved.lastPath = reading.path
        moved.absentSince = nil
        moved.isHeld = false
        moved.wasSeen = false
        try mirror.save(moved)
        current = moved
        continue
      }
      try carryOut(steps, reading, &current)
      break
    }
  }

  /// The entry of a path, which knows by now what the server filled in when it took the row made here.
  private func learnedEntry(path: String) throws -> MirrorEntry? {
    guard var entry = try mirror.entry(path: path) else { return nil }
    guard entry.base.version == nil, let made = try transaction.takeMadeRow(collection.table, entry.base.key) else {
      return entry
    }
    entry.base.values = collection.fileValues(made).overlaid(with: entry.base.values)
    entry.base.version = collection.description.version(of: made)
    try mirror.save(entry)
    return entry
  }

  /// What an empty file says: a new one takes its title from its name, one that was always empty says nothing, and one
  /// that has lost its text is a problem.
  private mutating func valuesOfEmptyFile(_ reading: PathReading, _ entry: MirrorEntry?) throws -> JSONObject? {
    guard let entry else {
      return RowFile.valuesOfEmptyFile(named: WorkspacePath.name(of: reading.path), collection.settings)
    }
    if entry.seen?.hash == reading.content?.hash { return [:] }
    try note(
      Problem(
        path: reading.path, message: "the file is empty; its row is kept as it was. Restore it, or remove the file",
        since: workspace.now))
    return nil
  }

  /// Reconciles one path.
  private mutating func steps(_ reading: PathReading, _ entry: inout MirrorEntry?) throws -> [ReconcileStep] {
    var base = entry?.base
    var fileKey: RowKey?
    isFromOlderText = false
    isWaiting = false
    if case .row(let row) = reading.file {
      fileKey = row.key
      if let known = entry, !row.values.isEmpty {
        let chosen = baseOfSave(
          row.values, current: known.base, earlier: try mirror.earlierBases(known, at: workspace.now))
        if chosen != known.base {
          base = chosen
          isFromOlderText = true
          result.report.note(
            .note, reading.path, "saved from an older text; compared with that one, so newer changes of others stay")
          if let bytes = reading.content?.bytes {
            result.trash.append(
              TrashItem(origin: reading.path, bytes: bytes, reason: "saved by an editor that held an older text"))
          }
        }
      }
    }
    let key = base?.key ?? fileKey ?? workspace.newFileKeys[PathKey(reading.path)]
    let otherKey = fileKey.flatMap { $0 == base?.key ? nil : $0 }
    let marker = workspace.editorMarker(reading.path)
    let input = ReconcileInput(
      base: base, file: reading.file, row: try key.map(row) ?? .unknown,
      otherRow: base == nil ? .unknown : try otherKey.map(row) ?? .unknown,
      owner: try keyOwner(reading, besides: entry),
      mayWrite: marker == nil)
    if let base { entry?.base = base }
    let steps = reconcile(input)
    if let marker, reconcile(with(input) { $0.mayWrite = true }) != steps {
      result.waiting.append((reading.path, marker))
      isWaiting = true
    }
    return steps
  }

  private func with(_ input: ReconcileInput, _ change: (inout ReconcileInput) -> Void) -> ReconcileInput {
    var copy = input
    change(&copy)
    return copy
  }

  /// What this device knows of a row.
  ///
  /// While writes are queued the version is the one that the first of them was made against: the queued values may hide
  /// others' changes, which whoever goes on from here has not seen.
  func row(_ key: RowKey) throws -> RowReading {
    let overlaid = try transaction.row(collection.table, key)
    if let values = overlaid.values {
      let version = overlaid.pending.first.map { $0.write.base?.version } ?? overlaid.server?.version
      return .present(values: collection.fileValues(values), version: version)
    }
    if let delete = overlaid.pending.last(where: { $0.write.operation == .delete }) {
      return .deletedHere(mayBeSent: delete.sendCount > 0)
    }
    if let refused = try transaction.rejectedMutations(collection.table, key).last(where: {
      $0.write.operation == .insert
    }) {
      return .refusedInsert(entry: refused.id, values: collection.fileValues(refused.write.values))
    }
    return overlaid.isGone ? .gone : .unknown
  }

  private func keyOwner(_ reading: PathReading, besides entry: MirrorEntry?) throws -> KeyOwner {
    guard let other = try owner(of: reading, besides: entry) else { return .nobody }
    guard let path = other.path else { return .absent(path: other.lastPath) }
    return try isStill(other, at: path, besides: reading) ? .present(path: path) : .absent(path: path)
  }

  /// The entry of another path to which a file belongs: by the key in it; a file without one by its number.
  private func owner(of reading: PathReading, besides entry: MirrorEntry?) throws -> MirrorEntry? {
    guard case .row(let file) = reading.file else { return nil }
    var other: MirrorEntry?
    if let key = file.key {
      other = try mirror.entry(collection.folder, key: key)
    } else if let content = reading.content {
      other = try mirror.entry(collection.folder, file: content)
    }
    guard let other, other.base.key != entry?.base.key, other.path != reading.path else { return nil }
    return other
  }

  /// Whether a row's file still lies at its path, and not another row's that was moved there.
  private func isStill(_ entry: MirrorEntry, at path: String, besides reading: PathReading) throws -> Bool {
    guard let status = try workspace.files.status(path), status.kind == .file else { return false }
    if status.identity == entry.seen?.identity { return true }
    if reading.content?.status.identity == entry.seen?.identity { return false }
    guard let content = try? workspace.files.read(path, bytesMax: RowFile.bytesMax),
      let key = (try? RowFile.read(content.bytes, collection.settings))?.key.map(RowKey.init)
    else { return true }
    return key == entry.base.key || key == entry.base.writtenKey
  }

  /// Takes back the delete of a row whose file has come back before it was sent.
  private mutating func takeBackDelete(of key: RowKey, _ reading: PathReading) throws -> MirrorEntry? {
    let pending = try transaction.row(collection.table, key).pending
    guard let delete = pending.last, delete.write.operation == .delete, delete.sendCount == 0 else { return nil }
    try transaction.discardPendingMutation(delete.id)
    let base = FileBase(
      key: key, values: delete.write.base?.values ?? [:], version: delete.write.base?.version, writtenKey: key)
    var restored = MirrorEntry(
      collection: collection.folder, base: base, path: reading.path, lastPath: reading.path)
    if let content = reading.content { restored.seen = SeenFile(content.status, content.hash, at: workspace.now) }
    restored.wasSeen = true
    try mirror.save(restored)
    result.report.note(.note, reading.path, "is back; its delete was not sent and is taken back")
    return restored
  }

  // MARK: Problems

  private mutating func note(_ problem: Problem) throws {
    if try Problems(transaction).set(problem) {
      let place = problem.line.map { "\($0):\(problem.column ?? 1): " } ?? ""
      result.report.note(.problem, problem.path, place + problem.message)
    }
  }

  mutating func clearProblem(_ path: String) throws {
    if try Problems(transaction).clear(path) { result.report.note(.solved, path, "can be read again") }
  }

  // MARK: Steps

  private mutating func carryOut(
    _ steps: [ReconcileStep], _ reading: PathReading, _ entry: inout MirrorEntry?
  ) throws {
    var hasProblem = false
    var isFileWritten = false
    var waitsForSides: Bool?
    var keepsChange = isWaiting
    for step in steps {
      switch step {
      case .insert(let values, let key): hasProblem = try !insert(values, key, reading, &entry)
      case .update(let columns): hasProblem = try !update(columns, reading, &entry)
      case .delete: keepsChange = true  // Only a complete listing may decide that; the scan does.
      case .holdEdit(let columns): try holdEdit(columns, reading, &entry)
      case .retryInsert(let refused, let values): try retryInsert(refused, values, reading, &entry)
      case .recordBase(let base): try record(base, reading, &entry)
      case .holdDifference(let key, let columns): try holdDifference(key, columns, reading, &entry)
      case .forget:
        if let gone = entry { try mirror.remove(gone) }
        result.namesFreed.append(WorkspacePath.name(of: reading.path))
      case .writeFile(let values, let version):
        waitsForSides = try planSides(reading, entry)
        guard waitsForSides == false else { break }
        isFileWritten = true
        try write(values, version, reading, entry)
      case .trashFile:
        waitsForSides = try planSides(reading, entry)
        guard waitsForSides == false else { break }
        isFileWritten = true
        trashFile(reading, entry)
      case .moveFrom, .takeBackDelete: break
      case .problem(let problem):
        hasProblem = true
        try note(Problem(path: reading.path, message: problem.message, since: workspace.now))
      }
      if hasProblem { return }
    }
    if case .row = reading.file, let known = entry { try remember(reading, known) }
    let waits = try waitsForSides ?? planSides(reading, entry)
    // Whether a file that is to be written has a problem, its writing will tell.
    if !isFileWritten { try clearProblem(reading.path) }
    guard !waits, !isFileWritten else { return }
    guard let known = entry else {
      // A row without a file that needs none.
      if let key = workspace.newFileKeys[PathKey(reading.path)], case .absent = reading.file {
        try transaction.clearChange(collection.table, key.text)
      }
      return
    }
    if steps.contains(where: { if case .update = $0 { true } else { false } }) {
      result.again.append(reading.path)  // The queued edit is part of the row now; others' changes may be, too.
    } else if known.keyDueAt.map({ $0 <= workspace.now }) ?? false {
      try writeKey(reading, known)
    } else if !keepsChange {
      try transaction.clearChange(collection.table, known.base.key.text)
    }
  }

  /// Remembers the file's numbers, so that a scan need not read it again.
  private func remember(_ reading: PathReading, _ entry: MirrorEntry) throws {
    guard let content = reading.content else { return }
    var entry = try mirror.entry(collection.folder, key: entry.base.key) ?? entry
    let seen = SeenFile(content.status, content.hash, at: workspace.now)
    var needsKey = false
    // A draft laid over the file, or a key that was taken out: it is written again, in its time.
    if case .row(let file) = reading.file, file.key == nil, entry.keyDueAt == nil { needsKey = true }
    guard needsKey || entry.seen != seen || entry.absentSince != nil || !entry.wasSeen else { return }
    if needsKey {
      entry.base.writtenKey = nil
      entry.keyDueAt = workspace.now + Workspace.keyDelay
    }
    entry.seen = seen
    entry.wasSeen = true
    entry.absentSince = nil
    entry.isHeld = false
    try mirror.save(entry)
  }

  /// - Returns: Whether the row could be taken.
  private mutating func insert(
    _ values: JSONObject, _ givenKey: RowKey?, _ reading: PathReading, _ entry: inout MirrorEntry?
  ) throws -> Bool {
    guard case .row(let file) = reading.file else { return true }
    do throws(RowFileProblem) {
      try reading.row?.checkNew(values, collection.settings)
    } catch {
      try note(
        Problem(
          path: reading.path, line: error.position.line, column: error.position.column, message: error.message,
          since: workspace.now))
      return false
    }
    let key = givenKey ?? RowKey(workspace.makeID())
    try transaction.enqueue(
      .insert(
        into: collection.table, key: key, values: collection.keyValues(key).overlaid(with: collection.settable(values)))
    )
    var made = MirrorEntry(
      collection: collection.folder,
      base: FileBase(key: key, values: values, version: nil, writtenKey: file.key), path: reading.path,
      lastPath: reading.path)
    if file.key != key {
      // A copy's key is another row's: it must not stay there for long. A person's new file may still be open.
      made.keyDueAt = workspace.now + (file.key == nil ? Workspace.keyDelay : .zero)
      if file.key != nil { result.again.append(reading.path) }
    }
    if let content = reading.content { made.seen = SeenFile(content.status, content.hash, at: workspace.now) }
    made.wasSeen = true
    try mirror.save(made)
    entry = made
    result.report.queued += 1
    result.report.note(.added, reading.path)
    return true
  }

  /// - Returns: Whether the edit could be taken.
  private mutating func update(
    _ columns: JSONObject, _ reading: PathReading, _ entry: inout MirrorEntry?
  ) throws -> Bool {
    guard var known = entry, case .row(let file) = reading.file else { return true }
    let readOnly = collection.readOnly(columns)
    guard readOnly.isEmpty else {
      try note(
        Problem(
          path: reading.path,
          message: "'\(readOnly.joined(separator: "', '"))' is the server's to set; put back the value it had",
          since: workspace.now))
      return false
    }
    try transaction.enqueue(
      .update(
        collection.table, key: known.base.key, values: columns, base: base(of: columns, known.base),
        coalesces: !isFromOlderText))
    advance(&known, to: file, columns)
    try mirror.save(known)
    entry = known
    result.report.queued += 1
    result.report.note(.edited, reading.path, columns.names.joined(separator: ", "))
    return true
  }

  /// What the person saw of the columns before they changed them.
  ///
  /// A column that was not there was null to them.
  private func base(of columns: JSONObject, _ base: FileBase) -> WriteBase {
    var seen = JSONObject()
    for name in columns.names {
      if let value = base.values[name] { seen[name] = value }
    }
    return WriteBase(values: seen, version: base.version)
  }

  /// The base after a person's edit was queued: what the file showed, with the edit.
  private mutating func advance(_ entry: inout MirrorEntry, to file: FileRow, _ columns: JSONObject) {
    entry.base.values = entry.base.values.overlaid(with: file.values)
    if file.key != entry.base.writtenKey {
      entry.base.writtenKey = file.key
      if file.key != nil, file.key != entry.base.key { entry.keyDueAt = workspace.now }
    }
    if entry.keyDueAt != nil, file.key == nil { entry.keyDueAt = workspace.now + Workspace.keyDelay }
    if file.key == entry.base.key { entry.keyDueAt = nil }
  }

  private mutating func holdEdit(
    _ columns: JSONObject, _ reading: PathReading, _ entry: inout MirrorEntry?
  ) throws {
    guard var known = entry, case .row(let file) = reading.file else { return }
    try transaction.park(
      .update(collection.table, key: known.base.key, values: columns, base: base(of: columns, known.base)), server: nil,
      serverVersion: nil, message: "the row is gone from the server, and this file was edited since")
    advance(&known, to: file, columns)
    try mirror.save(known)
    entry = known
    result.report.note(.conflict, reading.path, "its row is gone; your edit is kept beside it")
    result.again.append(reading.path)
  }

  private mutating func retryInsert(
    _ refused: Int64, _ values: JSONObject, _ reading: PathReading, _ entry: inout MirrorEntry?
  ) throws {
    guard case .row(let file) = reading.file,
      let rejected = try transaction.rejectedMutations().first(where: { $0.id == refused })
    else { return }
    let key = rejected.write.key
    try transaction.retryRejectedMutation(
      refused, values: collection.keyValues(key).overlaid(with: collection.settable(values)))
    var known =
      entry
      ?? MirrorEntry(
        collection: collection.folder, base: FileBase(key: key, values: values, version: nil, writtenKey: file.key),
        path: reading.path, lastPath: reading.path)
    advance(&known, to: file, values)
    try mirror.save(known)
    entry = known
    result.report.queued += 1
    result.report.note(.edited, reading.path, "tried again")
  }

  private mutating func record(_ base: FileBase, _ reading: PathReading, _ entry: inout MirrorEntry?) throws {
    var known =
      entry
      ?? MirrorEntry(collection: collection.folder, base: base, path: reading.path, lastPath: reading.path)
    known.base = base
    if let content = reading.content { known.seen = SeenFile(content.status, content.hash, at: workspace.now) }
    if entry == nil { known.wasSeen = true }
    try mirror.save(known)
    entry = known
  }

  private mutating func holdDifference(
    _ key: RowKey, _ columns: JSONObject, _ reading: PathReading, _ entry: inout MirrorEntry?
  ) throws {
    guard case .row(let file) = reading.file, let row = try transaction.cachedRow(collection.table, key) else { return }
    let settable = collection.settable(columns)
    if settable.isEmpty {
      let base = FileBase(
        key: key, values: (row.values.map(collection.fileValues) ?? [:]).overlaid(with: file.values), version: nil,
        writtenKey: file.key)
      try record(base, reading, &entry)
      result.again.append(reading.path)
      return
    }
    try transaction.park(
      .update(
        collection.table, key: key, values: settable,
        base: WriteBase(values: row.values.map(collection.fileValues) ?? [:], version: row.version)),
      server: row.values, serverVersion: row.version,
      message: "the file and the server's row differ, and nothing tells which is newer")
    let values = (row.values.map(collection.fileValues) ?? [:]).overlaid(with: file.values)
    var known = MirrorEntry(
      collection: collection.folder,
      base: FileBase(key: key, values: values, version: nil, writtenKey: file.key), path: reading.path,
      lastPath: reading.path)
    if let content = reading.content { known.seen = SeenFile(content.status, content.hash, at: workspace.now) }
    known.wasSeen = true
    try mirror.save(known)
    entry = known
    result.report.note(.conflict, reading.path, "differs from the server's row")
    result.again.append(reading.path)
  }

  // MARK: Files

  private mutating func write(
    _ values: JSONObject, _ version: String?, _ reading: PathReading, _ entry: MirrorEntry?
  ) throws {
    guard let key = entry?.base.key ?? workspace.newFileKeys[PathKey(reading.path)] else { return }
    let base = FileBase(key: key, values: values, version: version, writtenKey: key)
    let bytes: [UInt8]
    let expected: ExpectedFile
    if let row = reading.row, !reading.isEmpty, let content = reading.content {
      bytes = row.updated(to: collection.keyValues(key).overlaid(with: values), collection.settings)
      expected = .content(content.hash)
    } else if let content = reading.content {
      bytes = RowFile.render(collection.keyValues(key).overlaid(with: values), collection.settings)
      expected = .content(content.hash)
    } else {
      bytes = RowFile.render(collection.keyValues(key).overlaid(with: values), collection.settings)
      expected = .absent
    }
    result.work.append(
      FileWork(
        item: WriteBackItem(
          path: reading.path, expected: expected, change: .write(bytes),
          context: WriteContext.row(collection: collection.folder, base).text)))
  }

  private mutating func writeKey(_ reading: PathReading, _ entry: MirrorEntry) throws {
    if let marker = workspace.editorMarker(reading.path) {
      result.waiting.append((reading.path, marker))
      var later = entry
      later.keyDueAt = workspace.now + Workspace.keyDelay
      try mirror.save(later)
      return
    }
    try write(entry.base.values, entry.base.version, reading, entry)
  }

  private mutating func trashFile(_ reading: PathReading, _ entry: MirrorEntry?) {
    guard let entry, let content = reading.content else { return }
    result.work.append(
      FileWork(
        item: WriteBackItem(
          path: reading.path, expected: .content(content.hash),
          change: .trash(reason: "its row is gone from the server"),
          context: WriteContext.goneRow(collection: collection.folder, key: entry.base.key).text)))
  }
}

extension ReconcileProblem {
  /// What is wrong and what to do.
  var message: String {
    switch self {
    case .foreignKey:
      "the key in this file belongs to no row and no file; put back the key that it had, or take the key out to make a "
        + "new row of a copy of the file"
    case .deletedKey:
      "the row with this key was deleted; take the key out of the file to make a new row of it"
    }
  }
}
