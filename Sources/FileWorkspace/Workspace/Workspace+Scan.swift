import LosslessJSON
import OfflineEngine

extension Workspace {
  /// Lists one collection's folder completely, looks at what moved, and decides about what is gone.
  ///
  /// - Parameters:
  ///   - deleteAfter: How long a file must be gone before its row is deleted; the settings' time when `nil`.
  ///   - isConfirmed: Whether a person has said that files missing in large numbers are really gone.
  func scan(
    _ collection: Collection, deleteAfter: Duration?, isConfirmed: Bool = false, _ report: inout WorkspaceReport
  ) throws {
    guard adoptions[collection.folder] == nil else {
      _ = try isAdopted(collection, &report)
      return
    }
    try watchGit()
    guard gitWork == nil else { return }
    try watchClock()
    let startedAt = now
    listedAt[collection.folder] = startedAt
    let known: [PathKey: KnownFile]
    let found: FolderScan
    do throws(ScanError) {
      known = try knownFiles(collection)
      found = try scanner.scan(collection.folder, known: known, identity: folderIdentities[collection.folder])
    } catch {
      if unscannable.updateValue(error, forKey: collection.folder) != error {
        report.note(.held, collection.folder, "\(error)")
      }
      return
    }
    folderIdentities[collection.folder] = found.identity
    unscannable[collection.folder] = nil
    takenNames[collection.folder] = nil
    findProblemNotes(found.names, collection)
    let unreadable = found.unreadableNames.map { WorkspacePath.joined(collection.folder, Self.printable($0)) }
    let same = try filesReadAgain(found, known, collection)
    try reconcile(try pathsToRead(found, known, besides: same, unreadable, collection), collection, &report)
    try settleBlanks(collection, after: .zero, &report)
    for path in unreadable {
      note(problem: "the name is not UTF-8; it is left alone until the file is renamed", at: path, &report)
    }
    guard found.isSteady else {
      for path in found.absent { lookAgain.insert(PathKey(path)) }
      return
    }
    try settleAbsences(
      found, startedAt, collection,
      after: max(deleteAfter ?? settings.deleteAfter, isConfirmed ? .zero : Self.absenceProof),
      isConfirmed: isConfirmed, &report)
  }

  /// Lists the folders once more and notes the files that lie there as they were written.
  ///
  /// A file that nobody has seen since it was written cannot be missed: only from here on may its absence be a delete.
  public func seeWrittenFiles() throws {
    try seeWrittenPhotos()
    for collection in collections where try client.read({ try Mirror($0).hasUnseen(collection.folder) }) {
      let unseen = try client.read { try Mirror($0).unseenFiles(collection.folder) }
      let identity = folderIdentities[collection.folder]
      guard let found = try? scanner.scan(collection.folder, known: unseen, identity: identity) else { continue }
      try client.transaction { transaction in
        let mirror = Mirror(transaction)
        let seen = found.files.filter { unseen[PathKey($0.path)]?.stamp == $0.status.stamp }
        if seen.count == unseen.count {
          try mirror.setAllSeen(collection.folder)
        } else {
          for file in seen { try mirror.setSeen(collection.folder, path: file.path) }
        }
      }
    }
  }

  private func knownFiles(_ collection: Collection) throws(ScanError) -> [PathKey: KnownFile] {
    do {
      return try client.read { try Mirror($0).knownFiles(collection.folder) }
    } catch {
      throw .files(.failed(collection.folder, operation: "read what is known of its files: \(error)", errno: 0))
    }
  }

  /// A name with the bytes escaped that are no UTF-8, so that a person can find it.
  static func printable(_ name: [UInt8]) -> String {
    name.map { (0x20..<0x7F).contains($0) ? String(UnicodeScalar($0)) : "\\x" + String($0, radix: 16) }.joined()
  }

  /// Reads the files again whose numbers are those of the last reading but too fresh to be sure, and remembers those
  /// that say what they said: nothing is to be decided about them.
  ///
  /// - Returns: The paths of these.
  private func filesReadAgain(
    _ found: FolderScan, _ known: [PathKey: KnownFile], _ collection: Collection
  ) throws -> Set<PathKey> {
    let doubtful = found.files.filter { $0.change == .changed && known[PathKey($0.path)]?.stamp == $0.status.stamp }
    var same: Set<PathKey> = []
    for piece in stride(from: 0, to: doubtful.count, by: Self.batchCount) {
      let readAt = now
      let batch = files.withFoldersOpen {
        doubtful[piece..<min(piece + Self.batchCount, doubtful.count)].filter { file in
          guard let hash = known[PathKey(file.path)]?.hash,
            let content = try? files.read(file.path, bytesMax: RowFile.bytesMax)
          else { return false }
          return content.status.stamp == file.status.stamp && content.hash == hash
        }
      }
      same.formUnion(batch.map { PathKey($0.path) })
      try client.transaction { transaction in
        let mirror = Mirror(transaction)
        for file in batch { try mirror.setRead(collection.folder, path: file.path, file.status.stamp, at: readAt) }
      }
    }
    return same
  }

  private func pathsToRead(
    _ found: FolderScan, _ known: [PathKey: KnownFile], besides same: Set<PathKey>, _ unreadable: [String],
    _ collection: Collection
  ) throws -> [String] {
    let troubled = try client.read { try Problems($0).paths() }.filter {
      WorkspacePath.folder(of: $0) == collection.folder && !unreadable.contains($0)
    }
    let changed =
      found.files.filter { $0.change == .changed && !same.contains(PathKey($0.path)) }.map(\.path)
      + found.notFiles.map(\.path)
    // Of several new files with one key the oldest is the row and the others are its copies.
    let new = found.files.filter { $0.change == .new }.sorted {
      ($0.status.born?.nanoseconds ?? .max) < ($1.status.born?.nanoseconds ?? .max)
    }
    // What was only moved comes first: then nothing that lies at its old place is taken for it.
    let inodes = new.isEmpty ? [] : Set(known.values.map(\.stamp.inode))
    let (moved, fresh) = new.partitioned { inodes.contains($0.status.inode) }
    return distinctPaths(moved.map(\.path) + changed + fresh.map(\.path) + troubled.map(mainPath))
  }

  /// Finds out which names a new file may not take, unless that is known.
  ///
  /// Only when a name is to be chosen: most runs choose none.
  func loadNames(_ collection: Collection, _ transaction: EngineTransaction) throws {
    guard takenNames[collection.folder] == nil else { return }
    var taken = TakenNames()
    for name in try files.names(in: collection.folder, prefix: "") { taken.insert(name) }
    for path in try Mirror(transaction).paths(collection.folder) { taken.insert(WorkspacePath.name(of: path)) }
    takenNames[collection.folder] = taken
  }

  // MARK: What is gone

  private func settleAbsences(
    _ found: FolderScan, _ startedAt: WallTime, _ collection: Collection, after: Duration, isConfirmed: Bool,
    _ report: inout WorkspaceReport
  ) throws {
    let former = formerFolders[collection.folder]
    let isSameFolder = found.isSameFolder && (former.map { $0 == found.identity.file } ?? true)
    let isFolderDoubtful =
      !isConfirmed && !isSameFolder && found.absent.count * 2 > found.files.count + found.absent.count
    if former != found.identity.file, !isFolderDoubtful {
      try client.transaction { try $0.setNote(Self.folderNote(collection), found.identity.file.text) }
      formerFolders[collection.folder] = found.identity.file
    }
    let settled: DecisionResult
    do {
      settled = try client.transaction { transaction in
        var absences = AbsenceDecision(
          decision: try PathDecision(
            workspace: parts(for: collection, transaction), collection: collection, transaction: transaction),
          startedAt: startedAt, after: after, isConfirmed: isConfirmed, unsettled: lookAgain,
          hasGitWorked: hasGitWorked(at: startedAt),
          writesOfCheckout: writesOfCheckout(collection, at: startedAt))
        try absences.decide(found, isFolderDoubtful: isFolderDoubtful)
        try keep(absences.decision.result.trash)
        return absences.decision.result
      }
    } catch let error as FileSystemError {
      note(problem: "\(error)", at: collection.folder, &report)
      return
    }
    report.add(settled.report)
    for name in settled.namesFreed { takenNames[collection.folder]?.remove(name) }
    for path in settled.lookAgain { lookAgain.insert(PathKey(path)) }
    if !settled.again.isEmpty { try reconcile(settled.again, collection, &report) }
    if settled.hasRowsToWrite { try writeRows(of: collection, &report) }
  }

  /// Lets everything go that waits for a person's word: files missing in large numbers are deleted on the server.
  public func confirm() throws -> WorkspaceReport {
    var report = WorkspaceReport()
    mayBlank = nil
    defer { mayBlank = [] }
    for collection in collections {
      _ = try chooseAdoption(.each, collection, &report)
      try scan(collection, deleteAfter: .zero, isConfirmed: true, &report)
      try scanPhotos(of: collection, deleteAfter: .zero, isConfirmed: true, &report)
    }
    return report
  }
}

/// Decides which absent files are deletes (DESIGN section 8, "A delete needs its proof").
struct AbsenceDecision {
  var decision: PathDecision
  /// When the listing began.
  let startedAt: WallTime
  /// How long a file must have been gone.
  let after: Duration
  let isConfirmed: Bool
  /// Files that were being written when they were looked at.
  let unsettled: Set<PathKey>
  /// Whether git has just changed files.
  let hasGitWorked: Bool
  /// How many edits and new files came with a move of HEAD just now.
  let writesOfCheckout: Int

  /// This many side files gone at once are an accident or git, not a choice.
  private static let sidesAtOnce = 3
  /// Files that go within this time go together.
  static let accidentSpan = Duration.seconds(10)

  mutating func decide(_ found: FolderScan, isFolderDoubtful: Bool) throws {
    let (collection, mirror) = (decision.collection, decision.mirror)
    // Of a file that is there, was seen and was never missed a listing says nothing new.
    var presences = try mirror.openPresences(collection.folder)
    let open = Set(presences.map(\.keyText))
    presences += try found.absent.compactMap { try mirror.presence(collection.folder, path: $0) }
      .filter { !open.contains($0.keyText) }
    try decideSides(found)
    guard !presences.isEmpty else { return }
    let present = Dictionary(uniqueKeysWithValues: found.files.map { (PathKey($0.path), $0.status) })
    var absent: [MirrorEntry] = []
    for presence in presences {
      if let path = presence.path, let status = present[PathKey(path)] {
        try mirror.setPresent(collection.folder, presence, isSeen: presence.stamp == status.stamp)
      } else if let entry = try mirror.entry(collection.folder, keyText: presence.keyText) {
        absent.append(entry)
      }
    }
    guard !absent.isEmpty else { return }
    // A file that cannot be read may be any of those that are missing.
    let unread = decision.workspace.troubled.union(unsettled).union(
      try Problems(decision.transaction).paths().map(PathKey.init))
    let isBlocked = try unread.contains { path in
      guard present[path] != nil else { return false }
      return try mirror.entry(path: path.text) == nil
    }
    let waiting = absent.filter { !$0.isHeld }
    // One that follows others into a hold belongs to the same accident.
    let together = absent.filter { !$0.isHeld || startedAt - ($0.absentSince ?? startedAt) < Self.accidentSpan }
    // What is held already is not there any more to be the larger part of.
    let total = try mirror.count(collection.folder) - (absent.count - together.count)
    let isAccident =
      !isConfirmed && (isFolderDoubtful || VanishingBrake.holds(together.count + writesOfCheckout, of: total))
    if isAccident, !waiting.isEmpty {
      decision.result.report.note(
        .held, collection.folder,
        "\(waiting.count) of \(total) files are missing\(writesOfCheckout > 0 ? " after a checkout" : ""); nothing is deleted "
          + "until 'tidemark confirm', or they come back"
      )
    }
    for var entry in absent {
      let since = entry.absentSince ?? startedAt
      entry.absentSince = since
      if isAccident { entry.isHeld = true }
      if !isConfirmed, entry.isHeld || isBlocked || startedAt - since < after {
        try mirror.save(entry)
      } else {
        try settle(entry)
      }
    }
  }

  private mutating func settle(_ entry: MirrorEntry) throws {
    let collection = decision.collection
    try decision.mirror.remove(entry)
    if let path = entry.path { decision.result.namesFreed.append(WorkspacePath.name(of: path)) }
    switch try decision.row(entry.base.key) {
    case .gone, .goneUnanswered, .deletedHere, .unknown: break
    case .refusedInsert(let refused, _):
      try decision.transaction.dismissRejectedMutation(refused)
    case .present(let values, let version):
      guard entry.wasSeen || isConfirmed else {
        // Nobody has seen the file since it was written: it is made again rather than its row deleted.
        try decision.transaction.touchRow(collection.table, entry.base.key)
        decision.result.hasRowsToWrite = true
        decision.result.report.note(
          .note, entry.lastPath,
          "was removed while it was being written here, so nobody can have meant that text; it comes back, and removing it "
            + "again deletes its row")
        return
      }
      try decision.transaction.enqueue(
        .delete(
          from: collection.table, key: entry.base.key,
          // The row moved on, by the person's own edit perhaps, but shows what its file showed: that is what they removed.
          base: WriteBase(
            values: entry.base.values, version: values == entry.base.values ? version : entry.base.version),
          coalesces: true))
      decision.result.report.queued += 1
      decision.result.report.note(.deleted, entry.lastPath)
      try leavePhotos(of: entry.base.key)
      let text = RowFile.render(
        collection.keyValues(entry.base.key).overlaid(with: entry.base.values), collection.settings)
      decision.result.trash.append(TrashItem(origin: entry.lastPath, bytes: text, reason: "the file was removed"))
    }
  }

  /// The row's photos go with it, their objects once its delete was accepted.
  private func leavePhotos(of key: RowKey) throws {
    guard let table = PhotoTable(decision.collection) else { return }
    let filing = PhotoFiling(table, decision.transaction, makeID: decision.workspace.makeID)
    for record in try filing.records.records(table.collection.folder, owner: key.text) {
      try filing.leave(record, waitingForOwner: true)
    }
  }

  /// Side files that are gone settle their entries, one by one.
  private mutating func decideSides(_ found: FolderScan) throws {
    let sides = decision.sides
    let all = try sides.all(decision.collection.folder)
    guard !all.isEmpty else { return }
    let names = Set(found.names)
    let problems = Set(try Problems(decision.transaction).paths().map(PathKey.init))
    let missing = try all.filter { side in
      try side.isDurable && !names.contains(WorkspacePath.name(of: side.path)) && decision.mayBeSettled(side, problems)
    }
    for var side in all where side.isDurable || side.absentSince != nil {
      guard names.contains(WorkspacePath.name(of: side.path)) else {
        // What was wrong with it there is told where it lies now.
        try decision.clearProblem(side.path)
        continue
      }
      if side.absentSince != nil {
        side.absentSince = nil
        try sides.save(side)
      }
      try decision.check(side)
    }
    if missing.count >= Self.sidesAtOnce || (hasGitWorked && !missing.isEmpty) {
      for var side in missing {
        side.isDurable = false
        side.absentSince = nil
        try sides.save(side)
        decision.result.again.append(decision.mainPath(of: side))
      }
      return
    }
    for var side in missing {
      if let moved = try movedPath(of: side, among: found.names, known: all) {
        try sides.remove(side.path)
        side.absentSince = nil
        let row = try decision.mirror.entry(decision.collection.folder, key: side.key)
        if row?.path == decision.mainPath(ofSide: moved) {
          side.path = moved  // Renamed together with its row's file.
          try sides.save(side)
        } else {
          side.isDurable = false  // Under that name it stands for nothing: it is written again at its place.
          try sides.save(side)
        }
        decision.result.again.append(decision.mainPath(of: side))
        continue
      }
      guard let since = side.absentSince, startedAt - since >= Workspace.absenceProof else {
        side.absentSince = side.absentSince ?? startedAt
        try sides.save(side)
        continue
      }
      try decision.settleDroppedSide(side)
      decision.result.again.append(decision.mainPath(of: side))
    }
  }
}

extension AbsenceDecision {
  /// Where a side file lies now that is missing at its path: under another name of a side file.
  private func movedPath(of side: SideFile, among names: [String], known: [SideFile]) throws -> String? {
    let folder = decision.collection.folder
    let taken = Set(known.map { PathKey($0.path) })
    return try names.lazy.filter { name in
      if case .sideFile(let kind, _) = FileNames.kind(of: name) { kind == side.kind } else { false }
    }
    .map { WorkspacePath.joined(folder, $0) }
    .first { path in
      try !taken.contains(PathKey(path)) && decision.workspace.files.status(path)?.identity == side.identity
    }
  }
}

extension PathDecision {
  func mainPath(of side: SideFile) -> String { mainPath(ofSide: side.path) }

  func mainPath(ofSide path: String) -> String {
    guard case .sideFile(_, let main) = FileNames.kind(of: WorkspacePath.name(of: path)) else { return path }
    return WorkspacePath.joined(collection.folder, main)
  }
}

/// The paths without repeats, by their bytes.
func distinctPaths(_ paths: [String]) -> [String] {
  var seen: Set<PathKey> = []
  return paths.filter { seen.insert(PathKey($0)).inserted }
}
