import LosslessJSON
import OfflineEngine

extension PathDecision {
  // MARK: Making and closing

  /// Brings the side files of the row at a path in line with the engine's lists.
  ///
  /// - Returns: Whether the row's own file must wait until a side file is durable.
  mutating func planSides(_ reading: PathReading, _ entry: MirrorEntry?) throws -> Bool {
    guard mayHaveSides || !workspace.troubled.isEmpty else { return false }
    guard let key = try entry?.base.key ?? workspace.newFileKeys[PathKey(reading.path)] ?? keyOfSides(reading.path)
    else {
      return false
    }
    try clearOldProblems(reading.path, key)
    for side in try sides.of(collection.folder, key) { try check(side) }
    let existing = try sides.of(collection.folder, key)
    let conflicted = try closeEqual(try transaction.conflictedMutations(collection.table, key), key)
    let rejected = try transaction.rejectedMutations(collection.table, key)
    if existing.isEmpty, conflicted.isEmpty, rejected.isEmpty { return false }
    var waits = false
    for kind in SideFileKind.allCases {
      let wanted =
        switch kind {
        case .mine: conflicted.filter { $0.write.operation != .delete }.map(SideEntry.init)
        case .deleted: conflicted.filter { $0.write.operation == .delete }.map(SideEntry.init)
        case .refused: rejected.map(SideEntry.init)
        }
      let side = existing.first { $0.kind == kind }
      if wanted.isEmpty {
        if let side { try close(side) }
      } else if side.map({ $0.entries != wanted.map(\.id) || !$0.isDurable }) ?? true {
        try write(kind, wanted, side, reading, entry, key)
        waits = true
      }
    }
    return waits
  }

  /// The row whose side files lie beside a path at which there is no file.
  private func keyOfSides(_ path: String) throws -> RowKey? {
    try SideFileKind.allCases.compactMap { try sides.at(sidePath($0, of: path))?.key }.first
  }

  func sidePath(_ kind: SideFileKind, of path: String) -> String {
    WorkspacePath.joined(collection.folder, FileNames.sideFile(kind, of: WorkspacePath.name(of: path)))
  }

  /// Forgets troubles with side files; one that is still to be written says so again.
  private mutating func clearOldProblems(_ path: String, _ key: RowKey) throws {
    for kind in SideFileKind.allCases where workspace.troubled.contains(PathKey(sidePath(kind, of: path))) {
      let isWanted =
        switch kind {
        case .mine, .deleted: try !transaction.conflictedMutations(collection.table, key).isEmpty
        case .refused: try !transaction.rejectedMutations(collection.table, key).isEmpty
        }
      if !isWanted { try clearProblem(sidePath(kind, of: path)) }
    }
  }

  /// Drops parked changes that the row holds by now, whoever made them.
  private mutating func closeEqual(_ conflicted: [ConflictedMutation], _ key: RowKey) throws -> [ConflictedMutation] {
    guard !conflicted.isEmpty, let values = try transaction.row(collection.table, key).values else { return conflicted }
    let (equal, open) = conflicted.partitioned { conflict in
      conflict.write.operation != .delete && conflict.write.values.members.allSatisfy { values[$0.name] == $0.value }
    }
    for conflict in equal { try transaction.dismissConflictedMutation(conflict.id) }
    return open
  }

  private mutating func close(_ side: SideFile) throws {
    guard let content = readSide(side.path) else {
      try sides.remove(side.path)
      return
    }
    closesSide = true
    result.work.append(
      FileWork(
        item: WriteBackItem(
          path: side.path, expected: .content(content.hash), change: .trash(reason: "its conflict is settled"),
          context: WriteContext.settledSide(path: side.path).text), closesSide: true))
  }

  func readSide(_ path: String) -> FileContent? {
    try? workspace.files.read(path, bytesMax: RowFile.bytesMax)
  }

  /// Records a side file with its text, and has it written.
  ///
  /// The record comes first: nothing is lost if the write fails.
  private mutating func write(
    _ kind: SideFileKind, _ wanted: [SideEntry], _ existing: SideFile?, _ reading: PathReading, _ entry: MirrorEntry?,
    _ key: RowKey
  ) throws {
    let path = existing?.path ?? sidePath(kind, of: reading.path)
    if let other = try sides.at(path), other.key != key {
      try note(
        Problem(
          path: path, message: "another row's side file has the place of one that belongs here; settle that first",
          since: workspace.now))
      result.lookAgain.append(reading.path)
      return
    }
    let found = readSide(path)
    // Another file that a person put there is in the way, and stays.
    let isOurs = existing.map { $0.isDurable || $0.identity == found?.status.identity } ?? false
    let onDisk = isOurs ? found : nil
    if let existing, let onDisk, existing.entries == wanted.map(\.id), onDisk.hash == ContentHash(of: existing.text) {
      try sides.setDurable(path, onDisk.status)
      return
    }
    let new = wanted.filter { entry in !(existing?.entries.contains(entry.id) ?? false) }
    let shown = (entry?.base.values ?? [:]).overlaid(with: new.reduce(JSONObject()) { $0.overlaid(with: $1.base) })
    var base = existing?.base ?? shown
    for entry in new { for (column, value) in entry.base.members where base[column] == nil { base[column] = value } }
    let values = new.reduce(existing == nil ? shown : [:]) { $0.overlaid(with: $1.values) }
    let text = sideText(kind, values, wanted, existing: onDisk?.bytes ?? existing?.text, reading, key)
    if let existing, existing.text != text {
      let before = onDisk?.bytes ?? existing.text
      result.trash.append(TrashItem(origin: path, bytes: before, reason: "a further change joined it"))
    }
    try sides.save(
      SideFile(
        path: path, collection: collection.folder, key: key, kind: kind, entries: wanted.map(\.id), base: base,
        // What lies there until the new text does is ours, also for a process that finds it after this one died.
        text: text, identity: onDisk?.status.identity))
    result.work.append(
      FileWork(
        item: WriteBackItem(
          path: path, expected: onDisk.map { .content($0.hash) } ?? .absent,
          change: .write(text), context: WriteContext.side(path: path).text), isSide: true))
    if let latest = new.last {
      result.report.note(kind == .refused ? .refused : .conflict, reading.path, latest.message)
    }
  }

  /// The person's whole file as they had it, with the values that wait.
  private func sideText(
    _ kind: SideFileKind, _ values: JSONObject, _ entries: [SideEntry], existing: [UInt8]?, _ reading: PathReading,
    _ key: RowKey
  ) -> [UInt8] {
    let whole = collection.keyValues(key).overlaid(with: values)
    var bytes: [UInt8]
    if kind == .refused, entries.allSatisfy({ $0.operation != .update }) {
      bytes = Array("{}\n".utf8)  // The file itself stays as it was typed, or comes back; beside it stands only why.
    } else if let existing, let row = try? RowFile.read(existing, collection.settings) {
      bytes = row.updated(to: whole, collection.settings, adding: .nothing)
    } else if kind != .deleted, let row = reading.row, !reading.isEmpty {
      bytes = row.updated(to: whole, collection.settings)
    } else {
      bytes = RowFile.render(whole, collection.settings)
    }
    if kind == .refused, let entry = entries.last, let document = try? JSONDocument(parsing: bytes) {
      bytes = document.setting(Self.problemMember, to: .object(entry.problem), after: document.members.last?.name).bytes
    }
    return bytes
  }

  /// The member of a refused side file that holds the server's answer.
  static let problemMember = "$problem"

  // MARK: Settling by files

  /// A side file that lies over the row's own file is the person's word: keep mine (DESIGN section 4).
  ///
  /// - Returns: Whether the path was settled so.
  mutating func settleMovedSide(_ reading: PathReading, _ entry: MirrorEntry?) throws -> Bool {
    guard mayHaveSides, case .row(let file) = reading.file, let content = reading.content else { return false }
    if let problem = try misplacedSide(reading, content, entry) {
      try note(problem)
      return true
    }
    for side in try sidesSettled(by: reading, file, entry) {
      let isThere = try workspace.files.status(side.path) != nil
      // The answer that a refused side file carries shows it even after it was edited.
      let carriesAnswer = side.kind == .refused && reading.row?.notes[Self.problemMember] != nil
      guard carriesAnswer || isLaidOver(side, isThere: isThere, file, content, entry) else { continue }
      if let message = Self.keyProblem(file.key, of: side) {
        try note(Problem(path: reading.path, message: message, since: workspace.now))
        return true
      }
      try settleMine(side, isThere: isThere, file, content, reading, entry)
      return true
    }
    return false
  }

  /// Whether a file is the side file, moved or copied over the row's own: the same inode, the same text, or a text that
  /// is nearer to it than to what the row's file showed.
  private func isLaidOver(
    _ side: SideFile, isThere: Bool, _ file: FileRow, _ content: FileContent, _ entry: MirrorEntry?
  ) -> Bool {
    if !isThere, content.status.identity == side.identity { return true }
    guard content.hash != entry?.seen?.hash else { return false }
    if content.hash == ContentHash(of: side.text) { return true }
    guard !isThere, let entry, let mine = try? RowFile.read(side.text, collection.settings) else { return false }
    let (fromMine, fromShown) = (edit(file.values, from: mine.values), edit(file.values, from: entry.base.values))
    // With another row's key it may be that row's file; with the very values it is the side file, and its key is wrong.
    guard file.key == nil || file.key == side.key else { return fromMine.isEmpty && !fromShown.isEmpty }
    return fromMine.count < fromShown.count
  }

  private mutating func settleMine(
    _ side: SideFile, isThere: Bool, _ file: FileRow, _ content: FileContent, _ reading: PathReading,
    _ entry: MirrorEntry?
  ) throws {
    let columns = edit(file.values, from: side.base)
    let key = side.key
    var known = (entry?.base.values ?? side.base).overlaid(with: file.values)
    switch side.kind {
    case .mine:
      let conflicts = try transaction.conflictedMutations(collection.table, key).filter { side.entries.contains($0.id) }
      for older in conflicts.dropLast() { try transaction.dismissConflictedMutation(older.id) }
      if let newest = conflicts.last {
        keepUnshown(newest.server, overwrittenBy: columns, reading.path, entry)
        // The row's file was removed, and is here again before its delete was sent.
        let pending = try transaction.row(collection.table, key).pending
        if let delete = pending.last, delete.write.operation == .delete, delete.sendCount == 0 {
          try transaction.discardPendingMutation(delete.id)
        }
        let row = try transaction.row(collection.table, key)
        let isBack = row.values != nil
        if newest.server == nil, isBack, !columns.isEmpty {
          try transaction.dismissConflictedMutation(newest.id)
          let seen = JSONObject(side.base.members.filter { columns[$0.name] != nil })
          try transaction.enqueue(
            .update(collection.table, key: key, values: columns, base: WriteBase(values: seen, version: nil)))
        } else if !isBack, row.pending.isEmpty {
          try transaction.dismissConflictedMutation(newest.id)
          known = side.base.overlaid(with: file.values)
          try transaction.enqueue(
            .insert(
              into: collection.table, key: key,
              values: collection.keyValues(key).overlaid(with: collection.settable(known))))
        } else if columns.isEmpty {
          try transaction.dismissConflictedMutation(newest.id)
        } else {
          try transaction.resolveConflictedMutation(newest.id, .apply(columns))
        }
      }
    case .refused:
      let refused = try transaction.rejectedMutations(collection.table, key).filter { side.entries.contains($0.id) }
      for older in refused.dropLast() { try transaction.dismissRejectedMutation(older.id) }
      if let newest = refused.last { try retry(newest, columns, key) }
    case .deleted:
      // The row was kept; only what was typed into the text since is an edit.
      let conflicts = try transaction.conflictedMutations(collection.table, key).filter { side.entries.contains($0.id) }
      for conflict in conflicts { try transaction.dismissConflictedMutation(conflict.id) }
      if let newest = conflicts.last, !columns.isEmpty {
        let seen = JSONObject((newest.server ?? [:]).members.filter { columns[$0.name] != nil })
        try transaction.enqueue(
          .update(
            collection.table, key: key, values: columns,
            base: WriteBase(values: seen, version: newest.serverVersion)))
      }
    }
    if isThere {
      if let still = readSide(side.path) {
        result.work.append(
          FileWork(
            item: WriteBackItem(
              path: side.path, expected: .content(still.hash), change: .trash(reason: "settled: yours is kept"),
              context: WriteContext.settledSide(path: side.path).text)))
      }
    } else {
      try sides.remove(side.path)
    }
    // The file's other columns may be older than the row that the conflict saw: no version fits all of them.
    let base = FileBase(key: key, values: known, version: nil, writtenKey: file.key)
    var settled =
      entry ?? MirrorEntry(collection: collection.folder, base: base, path: reading.path, lastPath: reading.path)
    settled.base = base
    settled.seen = SeenFile(content.status, content.hash, at: workspace.now)
    settled.wasSeen = true
    settled.absentSince = nil
    // The server's answer, which the side file carried, does not belong into the row's file.
    if side.kind == .refused || file.key != key { settled.keyDueAt = workspace.now }
    try mirror.save(settled)
    result.trash.append(TrashItem(origin: side.path, bytes: side.text, reason: "settled: yours is kept"))
    result.report.queued += 1
    result.report.note(.settled, reading.path, side.kind == .deleted ? "the row is kept as it is" : "yours is kept")
    result.again.append(reading.path)
  }

  /// Keeps the server's version where a person's is put over it before the file has shown it to anybody.
  private mutating func keepUnshown(
    _ server: JSONObject?, overwrittenBy columns: JSONObject, _ path: String, _ entry: MirrorEntry?
  ) {
    guard let server, let entry,
      columns.names.contains(where: { server[$0] != nil && server[$0] != entry.base.values[$0] })
    else { return }
    let text = RowFile.render(
      collection.keyValues(entry.base.key).overlaid(with: collection.fileValues(server)), collection.settings)
    result.trash.append(TrashItem(origin: path, bytes: text, reason: "settled: yours is kept over this version"))
  }

  private mutating func retry(_ refused: RejectedMutation, _ columns: JSONObject, _ key: RowKey) throws {
    switch refused.write.operation {
    case .insert, .upsert:
      let values = refused.write.values.overlaid(with: columns)
      try transaction.retryRejectedMutation(refused.id, values: values)
    case .delete:
      try transaction.dismissRejectedMutation(refused.id)
    case .update:
      try transaction.dismissRejectedMutation(refused.id)
      guard !columns.isEmpty else { return }
      let row = try transaction.row(collection.table, key)
      let seen = (row.values ?? [:]).members.filter { columns[$0.name] != nil }
      try transaction.enqueue(
        .update(
          collection.table, key: key, values: columns,
          base: WriteBase(values: JSONObject(seen), version: row.server?.version), coalesces: true))
    }
  }

  /// A side file that a person has removed: theirs is kept, or the refusal is accepted (DESIGN section 4).
  mutating func settleDroppedSide(_ side: SideFile) throws {
    switch side.kind {
    case .mine, .deleted:
      for conflict in try transaction.conflictedMutations(collection.table, side.key)
      where side.entries.contains(conflict.id) {
        try transaction.dismissConflictedMutation(conflict.id)
      }
    case .refused:
      for refused in try transaction.rejectedMutations(collection.table, side.key)
      where side.entries.contains(refused.id) {
        try transaction.dismissRejectedMutation(refused.id)
      }
    }
    try sides.remove(side.path)
    result.trash.append(TrashItem(origin: side.path, bytes: side.text, reason: "settled: the server's is kept"))
    let main = WorkspacePath.name(of: side.path)
    result.report.note(
      .settled, side.path, side.kind == .refused ? "the refusal is accepted" : "the server's version is kept (\(main))")
  }
}

/// One entry of the engine's lists as a side file shows it.
struct SideEntry: Sendable {
  var id: Int64
  var operation: MutationOperation
  /// The columns that the person set.
  var values: JSONObject
  /// What they had been before.
  var base: JSONObject
  var message: String
  /// The server's answer as a member of a refused side file.
  var problem: JSONObject

  init(_ conflict: ConflictedMutation) {
    id = conflict.id
    operation = conflict.write.operation
    values = conflict.write.values
    base = conflict.write.base?.values ?? [:]
    message = conflict.message
    problem = [:]
  }

  init(_ refused: RejectedMutation) {
    id = refused.id
    operation = refused.write.operation
    values = refused.write.values
    base = refused.write.base?.values ?? [:]
    message = refused.message
    problem = (refused.serverError?.json ?? ["message": .string(refused.message)])
      .overlaid(with: ["time": .string(refused.rejectedAt.text)])
  }
}

extension Array {
  /// The elements for which `condition` holds, and the rest, both in order.
  func partitioned(by condition: (Element) -> Bool) -> (matching: [Element], rest: [Element]) {
    (filter(condition), filter { !condition($0) })
  }
}
