import LosslessJSON
import OfflineEngine

/// What each step of a decision does: to the queue and the mirror at once, to the disk afterwards.
extension PathDecision {
  /// - Returns: Whether an edit was queued: it is part of the row now, others' changes may be, too, and the path is to be
  ///   decided once more.
  mutating func carryOut(
    _ steps: [ReconcileStep], _ reading: PathReading, _ entry: inout MirrorEntry?
  ) throws -> Bool {
    var hasProblem = false
    var isFileWritten = false
    var waitsForSides: Bool?
    var keepsChange = isWaiting || waitsForAnswer
    closesSide = false
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
        let message = problem.message(isKeyMakeable: collection.makeableKey != nil)
        try note(Problem(path: reading.path, message: message, since: workspace.now))
      }
      if hasProblem { return false }
    }
    if case .row = reading.file, let known = entry { try remember(reading, known) }
    let waits = try waitsForSides ?? planSides(reading, entry)
    let isUpdated = steps.contains { if case .update = $0 { true } else { false } }
    // A file that is gone gets no key: its absence is the scan's to judge.
    let isThere = if case .row = reading.file { true } else { false }
    let mayTakeKey = isThere && !waits && !isUpdated && !waitsForAnswer
    let isKeyDue = mayTakeKey && (entry?.keyDueAt.map { $0 <= workspace.now } ?? false)
    // Whether a file that is to be written has a problem, its writing will tell.
    if !isFileWritten, !isKeyDue { try clearProblem(reading.path) }
    guard !waits, !isFileWritten else { return false }
    guard let known = entry else {
      // A row without a file that needs none.
      if let key = workspace.newFileKeys[PathKey(reading.path)], case .absent = reading.file, !closesSide {
        try transaction.clearChange(collection.table, key.text)
      }
      return false
    }
    if isUpdated { return true }
    if isKeyDue {
      try writeKey(reading, known)
    } else if !keepsChange, !closesSide {
      try transaction.clearChange(collection.table, known.base.key.text)
    }
    return false
  }

  /// Remembers the file's numbers, so that a scan need not read it again.
  private func remember(_ reading: PathReading, _ entry: MirrorEntry) throws {
    guard let content = reading.content else { return }
    var entry = try mirror.entry(collection.folder, key: entry.base.key) ?? entry
    let seen = SeenFile(content.status, content.hash, at: workspace.now)
    var needsKey = false
    var delay = Workspace.keyDelay
    // A draft laid over the file, or a key that was taken out: it is written again, in its time. Another row's key must not
    // stay there for long: were that row's file gone, this one would be taken for it.
    if case .row(let file) = reading.file, file.key != entry.base.key || isCopyOverOriginal, entry.keyDueAt == nil {
      needsKey = true
      if file.key != nil { delay = .zero }
    }
    let isKnown = entry.seen?.covers(seen) ?? false
    guard needsKey || !isKnown || entry.absentSince != nil || !entry.wasSeen else { return }
    if needsKey {
      entry.base.writtenKey = nil
      entry.keyDueAt = workspace.now + delay
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
    let key: RowKey
    do throws(RowFileProblem) {
      try reading.row?.checkNew(values, collection.settings)
      key = try newKey(givenKey, file, reading)
    } catch {
      try note(
        Problem(
          path: reading.path, line: error.position.line, column: error.position.column, message: error.message,
          since: workspace.now))
      return false
    }
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
      result.newRows.append((key, file.key))
    }
    if let content = reading.content { made.seen = SeenFile(content.status, content.hash, at: workspace.now) }
    made.wasSeen = true
    try mirror.save(made)
    entry = made
    result.report.queued += 1
    result.report.note(.added, reading.path)
    return true
  }

  /// The key of a new row: the one in its file, or a new one where this device makes them.
  private func newKey(_ given: RowKey?, _ file: FileRow, _ reading: PathReading) throws(RowFileProblem) -> RowKey {
    if let given { return given }
    if collection.makeableKey != nil { return RowKey(workspace.makeID()) }
    let names = collection.settings.key.map { "'\($0)'" }.joined(separator: ", ")
    let why = "no keys are made here for table '\(collection.table)'"
    let message =
      file.key == nil
      ? "a new row needs its key, that is \(names): \(why)"
      : "the key (\(names)) is that of another file, of which this is a copy; give it one of its own: \(why)"
    guard let document = reading.row?.document else { throw RowFileProblem(wholeFile: message) }
    throw RowFileProblem(document.error(message, at: []))
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
    guard mayTake(columns, known.base.values, at: reading.path) else { return false }
    let edit = RowEdit(
      path: PathKey(reading.path), columns: columns, base: known.base.values, at: workspace.now)
    result.edits.append(edit)
    guard !workspace.changeBacks.holds(edit) else {
      try note(
        Problem(
          path: reading.path,
          message: "keeps changing back: '\(columns.names.joined(separator: "', '"))' was changed here and elsewhere "
            + "\(ChangeBacks.roundsMax) times within a minute. Find the program that does it, a formatter for instance; "
            + "then save the file again",
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

  /// Whether an edit is taken now: one that blanks a column waits for those that come with it.
  private mutating func mayTake(_ columns: JSONObject, _ before: JSONObject, at path: String) -> Bool {
    guard let free = workspace.mayBlank, !free.contains(PathKey(path)),
      workspace.deliberateTexts[PathKey(path)] == nil
    else { return true }
    let blanked = columns.names.filter { BlankingEdit.isBlank(columns[$0]) && !BlankingEdit.isBlank(before[$0]) }
    guard !blanked.isEmpty else { return true }
    result.blanking.append(BlankingEdit(path: path, columns: blanked, since: workspace.now))
    return false
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
    mayHaveSides = true
    try transaction.park(
      .update(collection.table, key: known.base.key, values: columns, base: base(of: columns, known.base)), server: nil,
      serverVersion: nil, message: "the row is gone from the server, and this file was edited since")
    advance(&known, to: file, columns)
    try mirror.save(known)
    entry = known
    result.again.append(reading.path)
    guard try !settleGone(reading, &entry) else { return }
    result.report.note(.conflict, reading.path, "its row is gone; your edit is kept beside it")
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
    let shown = row.values.map(collection.fileValues) ?? [:]
    let write = Write.update(
      collection.table, key: key, values: settable, base: WriteBase(values: shown, version: row.version))
    switch workspace.adoptsAs {
    case .mine:
      try transaction.enqueue(write)
      result.report.queued += 1
      result.report.note(.edited, reading.path, settable.names.joined(separator: ", "))
    case .theirs:
      let bytes = reading.content?.bytes ?? []
      result.trash.append(
        TrashItem(origin: reading.path, bytes: bytes, reason: "differed from its row, and the server's were chosen"))
    case .each:
      mayHaveSides = true
      try transaction.park(
        write, server: row.values, serverVersion: row.version,
        message: "the file and the server's row differ, and nothing tells which is newer")
      result.report.note(.conflict, reading.path, "differs from the server's row")
    }
    let base = FileBase(key: key, values: shown.overlaid(with: file.values), version: nil, writtenKey: file.key)
    try record(base, reading, &entry)
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
  func message(isKeyMakeable: Bool) -> String {
    switch (self, isKeyMakeable) {
    case (.foreignKey, true):
      "the key in this file belongs to no row and no file; put back the key that it had, or take the key out to make a "
        + "new row of a copy of the file"
    case (.foreignKey, false):
      "the key in this file belongs to no row and no file; put back the key that it had: a row keeps its key, and another "
        + "row is another file"
    case (.deletedKey, true):
      "the row with this key was deleted; take the key out of the file to make a new row of it, or run 'tidemark restore' "
        + "with this file's name to make it again under its key"
    case (.deletedKey, false):
      "the row with this key was deleted; run 'tidemark restore' with this file's name to make it again"
    }
  }
}
