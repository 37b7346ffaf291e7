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
  /// Texts that were put in place with the newest known, by path.
  var deliberateTexts: [PathKey: ContentHash] = [:]
  /// The rows that are changed back and forth.
  var changeBacks = ChangeBacks()
  /// The rows of files that were new a moment ago.
  var recentRows = RecentRows()
  /// What becomes of a file of which nothing is known and that differs from its row.
  var adoptsAs = AdoptionChoice.each
  /// Files whose edits may blank columns at once; `nil` for all.
  var mayBlank: Set<PathKey>?
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
  /// Edits of rows' files that were queued or held.
  var edits: [RowEdit] = []
  /// New files that became rows: those that named another's key, and those that named none.
  var newRows: [(key: RowKey, copyOf: RowKey?)] = []
  /// Files whose rewriting waits for an editor.
  var waiting: [(path: String, marker: String)] = []
  var namesTaken: [String] = []
  var namesFreed: [String] = []
  /// Whether rows are to be written into files that are not there.
  var hasRowsToWrite = false
  /// Edits that were not taken, since they would blank columns.
  var blanking: [BlankingEdit] = []
  /// Folders of photos that follow their rows' files.
  var photoMoves: [(from: String, to: String)] = []

  /// The work on side files, to be durable before any row's file is touched.
  var sideWork: [FileWork] { work.filter(\.isSide) }
  /// The work on rows' files, and on side files that go.
  var otherWork: [FileWork] { work.filter { !$0.isSide } }
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
  var isFromOlderText = false
  /// What the path in hand says where it was saved from an older text: told once it is decided, not at each look at a file
  /// with a problem.
  private var olderText: TrashItem?
  /// Whether the path in hand has a problem.
  private var hasProblem = false
  /// Whether a change of the path in hand waits for an editor.
  var isWaiting = false
  /// Whether what the path in hand says is settled only once an edit of its row is answered: until then nothing is written
  /// over it.
  var waitsForAnswer = false
  /// Whether the file in hand was its own row's copy until it was moved here, so that it says the copy's key.
  var isCopyOverOriginal = false
  /// Whether the file in hand was a new one without a key until it was moved here.
  private var isNewOverKnown = false
  /// The files of the folder, where one was looked for.
  private var numbers: Set<FileIdentity>?
  /// Whether a side file of the path in hand is to go: until it has gone its row counts as changed, so that a process that
  /// dies before finds it again.
  var closesSide = false
  /// Whether the collection has side files or listed writes at all; where not, no path is asked for them.
  var mayHaveSides: Bool

  init(workspace: DecisionParts, collection: Collection, transaction: EngineTransaction) throws {
    self.workspace = workspace
    self.collection = collection
    self.transaction = transaction
    mirror = Mirror(transaction)
    sides = SideFiles(transaction)
    mayHaveSides = try sides.hasAny(collection.folder) || transaction.hasListedMutations(collection.table)
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
    isCopyOverOriginal = false
    (olderText, hasProblem) = (nil, false)
    let entry = try reading.newRow == nil ? mirror.entry(path: reading.path) : nil
    if let entry, case .row(var file) = reading.file, let key = file.key,
      workspace.recentRows.isCopy(key, of: entry.base.key, at: workspace.now)
    {
      // It lay beside the file that it takes the place of: a program's new text, which was to be looked at only here.
      file.key = entry.base.key
      reading.file = .row(file)
      isCopyOverOriginal = true
    }
    isNewOverKnown = try entry.map { try takeNewFile(reading, over: $0) } ?? false
    if reading.isEmpty {
      reading.file = .row(FileRow(values: [:], key: nil))
      let before = try entry ?? owner(of: reading, besides: nil)
      guard let known = try valuesOfEmptyFile(reading, before) else { return }
      reading.file = .row(FileRow(values: known, key: nil))
    }
    if try settleMovedSide(reading, entry) { return }
    var current = try learned(entry)
    if current == nil, try isOwnerUnclear(reading) {
      result.lookAgain.append(reading.path)
      return
    }
    _ = try settleGone(reading, &current)
    for _ in 0..<6 {
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
          followWithPhotos(from: old, to: reading.path)
          result.again.append(old)  // Another file may lie there, to be judged anew now.
        }
        moved.path = reading.path
        moved.lastPath = reading.path
        moved.absentSince = nil
        moved.isHeld = false
        moved.wasSeen = false
        try mirror.save(moved)
        current = try learned(moved)
        continue
      }
      guard try carryOut(steps, reading, &current) else { break }
    }
    guard let olderText, !hasProblem else { return }
    result.report.note(
      .note, reading.path, "saved from an older text; compared with that one, so newer changes of others stay")
    result.trash.append(olderText)
  }

  /// Has the photos of a row's file go with it to another name.
  private mutating func followWithPhotos(from old: String, to new: String) {
    guard let photos = collection.settings.photos else { return }
    result.photoMoves.append(
      (
        photos.path(forFileNamed: WorkspacePath.name(of: old)), photos.path(forFileNamed: WorkspacePath.name(of: new))
      ))
  }

  /// The entry of a path with what the server answered when it took the writes made here on its base.
  private func learned(_ known: MirrorEntry?) throws -> MirrorEntry? {
    guard var entry = known else { return nil }
    guard
      let answer = try transaction.takeTakenWrite(collection.table, entry.base.key, at: entry.base.version),
      let version = collection.description.version(of: answer)
    else { return entry }
    entry.base.values = collection.fileValues(answer).overlaid(with: entry.base.values)
    entry.base.version = version
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
      let isDeliberate = workspace.deliberateTexts[PathKey(reading.path)].map { $0 == reading.content?.hash } ?? false
      if let known = entry, !row.values.isEmpty, !isDeliberate {
        let chosen = baseOfSave(
          row.values, current: known.base, earlier: try mirror.earlierBases(known, at: workspace.now))
        if chosen != known.base {
          base = chosen
          isFromOlderText = true
          olderText = TrashItem(
            origin: reading.path, bytes: reading.content?.bytes ?? [],
            reason: "saved by an editor that held an older text")
        }
      }
    }
    let key = base?.key ?? fileKey ?? workspace.newFileKeys[PathKey(reading.path)]
    let otherKey = fileKey.flatMap { $0 == base?.key ? nil : $0 }
    let input = ReconcileInput(
      base: base, file: reading.file, row: try key.map { try row($0, reading.newRow) } ?? .unknown,
      otherRow: base == nil ? .unknown : try otherKey.map { try row($0) } ?? .unknown,
      owner: try keyOwner(reading, besides: entry),
      mayWrite: true)
    if let base { entry?.base = base }
    waitsForAnswer = input.row == .goneUnanswered
    let steps = reconcile(input)
    // Whether an editor has the file open is looked up only where it makes a difference.
    let careful = reconcile(with(input) { $0.mayWrite = false })
    guard careful != steps, let marker = workspace.editorMarker(reading.path) else { return steps }
    result.waiting.append((reading.path, marker))
    isWaiting = true
    return careful
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
  ///
  /// - Parameter known: The row, where it has been read.
  func row(_ key: RowKey, _ known: OverlaidRow? = nil) throws -> RowReading {
    let overlaid = try known ?? transaction.row(collection.table, key)
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
    guard overlaid.isGone else { return .unknown }
    return overlaid.pending.isEmpty ? .gone : .goneUnanswered
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
    } else if let content = reading.content, !isNewOverKnown {
      other = try mirror.entry(collection.folder, file: content)
    }
    guard let other, other.base.key != entry?.base.key, other.path != reading.path else { return nil }
    return other
  }

  /// Takes a file without a key that was taken for a new one just now, and has been moved over a known one, for a program's
  /// new text of that, which was to be looked at only here.
  ///
  /// - Returns: Whether it is one.
  private mutating func takeNewFile(_ reading: PathReading, over known: MirrorEntry) throws -> Bool {
    isNewOverKnown = false
    guard case .row(let file) = reading.file, file.key == nil, var maker = try owner(of: reading, besides: known),
      workspace.recentRows.isNew(maker.base.key, at: workspace.now), let seen = known.seen
    else { return false }
    if seen.identity != reading.content?.status.identity {
      // Where the known file was moved away first, the new one only takes its name.
      let found = try numbers ?? Set(workspace.files.list(collection.folder).entries.map(\.status.identity))
      numbers = found
      if found.contains(seen.identity) { return false }
    }
    // By its number it would be taken for the new one's file that was moved, once that is not so new any more.
    maker.seen = nil
    try mirror.save(maker)
    return true
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

  /// Whether another path's file cannot tell whether it is still the row's that this new file names.
  ///
  /// A file that was laid there and is only half written reads as nothing: taken for the row's own, it would make this one
  /// a copy, and leave the row without a file once it is whole.
  private func isOwnerUnclear(_ reading: PathReading) throws -> Bool {
    guard let owner = try owner(of: reading, besides: nil), let path = owner.path,
      let content = try? workspace.files.read(path, bytesMax: RowFile.bytesMax),
      content.status.identity != owner.seen?.identity, reading.content?.status.identity != owner.seen?.identity
    else { return false }
    return (try? RowFile.read(content.bytes, collection.settings)) == nil
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

  mutating func note(_ problem: Problem) throws {
    hasProblem = true
    // What may be a save in several steps is told when it has lasted.
    let isTold = !FileNames.isRowFile(WorkspacePath.name(of: problem.path))
    if try Problems(transaction).set(problem, isTold: isTold), isTold { result.report.note(problem) }
  }

  mutating func clearProblem(_ path: String) throws {
    guard try Problems(transaction).clear(path) else { return }
    result.report.note(.solved, path, try workspace.files.status(path) == nil ? "is gone" : "can be read again")
  }
}
