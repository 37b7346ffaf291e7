import LosslessJSON
import OfflineEngine

/// What one transaction decided about one path, still to be done on the disk.
struct FileWork: Sendable {
  var item: WriteBackItem
  /// A side file must be durable before its row's file is touched.
  var isSide = false
  /// Whether it takes away a side file that is settled.
  var closesSide = false
}

extension Workspace {
  /// How many files one transaction takes (DESIGN section 6).
  static let batchCount = 256
  /// How often one call decides anew about a path, for instance after its side file is durable.
  private static let roundsMax = 4

  /// Reads the paths, decides about each, commits the decisions, and does what they ask of the disk.
  func reconcile(
    _ paths: [String], _ collection: Collection, batchCount: Int = Workspace.batchCount,
    _ report: inout WorkspaceReport
  ) throws {
    // Everything is looked at once its files are adopted.
    guard adoptions[collection.folder] == nil else { return }
    try watchGit()
    if gitWork != nil {
      for path in paths { lookAgain.insert(PathKey(path)) }
      return
    }
    var rest = paths
    for _ in 0..<Self.roundsMax where !rest.isEmpty {
      var again: [String] = []
      var start = 0
      while start < rest.count {
        let batch = rest[start..<min(start + batchCount, rest.count)]
        start += batchCount
        let readings = files.withFoldersOpen { batch.map { read($0, collection) } }
        try reconcile(batch: readings, collection, &report, again: &again)
      }
      rest = again
    }
    for path in rest { lookAgain.insert(PathKey(path)) }
  }

  private func reconcile(
    batch: [PathReading], _ collection: Collection, _ report: inout WorkspaceReport, again: inout [String]
  ) throws {
    guard let decided = try decide(batch, collection, &report) else { return }
    perform(decided.sideWork, &report, again: &again)
    perform(decided.otherWork, &report, again: &again)
    again += decided.again
  }

  /// Decides about paths and commits the decisions; what they ask of the disk is still to be done.
  ///
  /// - Returns: `nil` where the paths are to be looked at later instead.
  func decide(
    _ batch: [PathReading], _ collection: Collection, _ report: inout WorkspaceReport
  ) throws -> DecisionResult? {
    let decided: DecisionResult
    do {
      decided = try client.transaction { transaction in
        var decision = try PathDecision(
          workspace: parts(for: collection, transaction, pathCount: batch.count), collection: collection,
          transaction: transaction)
        for reading in batch { try decision.decide(reading) }
        // Before the commit: a decision that drops a text stands only once the text is safe.
        try keep(decision.result.trash)
        movePhotos(&decision.result)
        return decision.result
      }
    } catch let error as FileSystemError {
      if let first = batch.first { note(problem: "\(error)", at: first.path, &report) }
      for reading in batch { lookAgain.insert(PathKey(reading.path)) }
      return nil
    }
    report.add(decided.report)
    for edit in decided.edits { changeBacks.note(edit) }
    for row in decided.newRows { recentRows.note(row.key, copyOf: row.copyOf, at: now) }
    if decided.report.queued > 0 { noteWrites(decided.report.queued, of: collection) }
    try noteBlanks(decided.blanking, among: batch.map(\.path), collection)
    for reading in batch { waitingForEditor[PathKey(reading.path)] = nil }
    for (path, marker) in decided.waiting { waitingForEditor[PathKey(path)] = marker }
    for path in decided.lookAgain { lookAgain.insert(PathKey(path)) }
    for name in decided.namesFreed { takenNames[collection.folder]?.remove(name) }
    for name in decided.namesTaken { takenNames[collection.folder]?.insert(name) }
    return decided
  }

  /// Renames folders of photos before the rows' new paths are committed, so that a crash leaves the rename to be done.
  private func movePhotos(_ result: inout DecisionResult) {
    for (from, to) in result.photoMoves {
      do {
        try files.moveFolder(from, to)
        try files.makeNamesDurable([WorkspacePath.folder(of: to)])
        result.report.note(.moved, to, "from \(from)")
      } catch .absent {
        // There are none, or the person has moved them already.
      } catch {
        result.report.note(.note, from, "these photos could not follow to \(to): \(error)")
      }
    }
  }

  func perform(_ work: [FileWork], _ report: inout WorkspaceReport, again: inout [String]) {
    guard !work.isEmpty else { return }
    count(writeBack.apply(work.map(\.item)), of: work, &report, again: &again)
  }

  /// Books how work on files has ended.
  func count(
    _ outcomes: [WriteBackOutcome], of work: [FileWork], _ report: inout WorkspaceReport, again: inout [String]
  ) {
    let troubled = Set(((try? client.read { try Problems($0).paths() }) ?? work.map(\.item.path)).map(PathKey.init))
    for (one, outcome) in zip(work, outcomes) {
      if case .written = outcome, troubled.contains(PathKey(one.item.path)) { clear(problemAt: one.item.path, &report) }
      count(outcome, path: one.item.path, context: one.item.context, &report)
      switch outcome {
      case .written where one.isSide, .removed where one.closesSide: again.append(mainPath(of: one.item.path))
      default: break
      }
    }
  }

  func mainPath(of path: String) -> String {
    guard case .sideFile(_, let main) = FileNames.kind(of: WorkspacePath.name(of: path)) else { return path }
    return WorkspacePath.joined(WorkspacePath.folder(of: path), main)
  }

  /// Books one outcome: what happened for the log, and what to look at again.
  func count(_ outcome: WriteBackOutcome, _ intent: WriteBackIntent, _ report: inout WorkspaceReport) {
    if case .written = outcome { clear(problemAt: intent.path, &report) }
    count(outcome, path: intent.path, context: intent.context, &report)
  }

  private func count(_ outcome: WriteBackOutcome, path: String, context: String, _ report: inout WorkspaceReport) {
    switch outcome {
    case .written:
      report.filesWritten += 1
      if WriteContext.isSide(text: context) {
        noteSide(path, &report)
      } else {
        report.note(.written, path)
      }
    case .removed:
      report.filesRemoved += 1
      takenNames[WorkspacePath.folder(of: path)]?.remove(WorkspacePath.name(of: path))
      if case .settledSide = WriteContext(text: context) {
        report.note(.settled, path, "closed; its text is in the trash")
      } else {
        report.note(.removed, path, "its row is gone; the text is in the trash")
      }
    case .newerSave, .exists:
      lookAgain.insert(PathKey(mainPath(of: path)))
      if case .exists = outcome, WriteContext.isSide(text: context) {
        note(problem: "a file is in the way of the side file that belongs here; move it away", at: path, &report)
      }
    case .unsettled(let error):
      hasUnsettled = true
      note(problem: "\(error)", at: path, &report)
    case .failed(let error):
      note(problem: "\(error)", at: path, &report)
    }
  }

  private func noteSide(_ path: String, _ report: inout WorkspaceReport) {
    let name = WorkspacePath.name(of: path)
    guard case .sideFile(let kind, let main) = FileNames.kind(of: name) else { return }
    switch kind {
    case .mine: report.note(.conflict, path, "your version of \(main)")
    case .deleted: report.note(.conflict, path, "stands for your delete of \(main)")
    case .refused: report.note(.refused, path, "says what was refused of \(main), and why")
    }
  }

  private func clear(problemAt path: String, _ report: inout WorkspaceReport) {
    let wasThere = try? client.transaction { try Problems($0).clear(path) }
    if wasThere == true { report.note(.solved, path, "could be written") }
  }

  func note(problem message: String, at path: String, _ report: inout WorkspaceReport) {
    let problem = Problem(path: path, message: message, since: now)
    if (try? client.transaction { try Problems($0).set(problem) }) ?? true {
      report.note(.problem, path, message)
    }
  }

  /// Puts texts into the trash.
  ///
  /// What a transaction decided to drop is kept before its file is touched.
  func keep(_ items: [TrashItem]) throws {
    guard !items.isEmpty else { return }
    try trash.keep(items)
    sweepTrash()
  }

  /// Lets go of texts that the trash has kept long enough, from time to time.
  func sweepTrash() {
    guard nextTrashSweep.map({ $0 <= now }) ?? true else { return }
    nextTrashSweep = now + Self.trashSweepInterval
    // What cannot be removed now is tried again; it is in nobody's way.
    _ = try? trash.sweep()
  }

  private static let trashSweepInterval = Duration.seconds(3600)
}
