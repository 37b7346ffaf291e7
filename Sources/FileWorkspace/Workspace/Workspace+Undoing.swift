import LosslessJSON
import OfflineEngine

extension UndoReport {
  /// What an undo would do now; nothing is changed.
  public static func plan(
    _ transaction: EngineTransaction, _ settings: WorkspaceSettings, files: any FileSystem, isAddedToo: Bool
  ) throws -> UndoReport {
    guard let round = try SyncRecord(transaction).next(isAddedToo: isAddedToo) else { return UndoReport() }
    let plan = UndoPlan(
      transaction: transaction, collections: settings.collections.map(Collection.init), files: files,
      isAddedToo: isAddedToo)
    return UndoReport(at: round.at, files: try plan.items(of: round).compactMap(\.outcome))
  }
}

extension Workspace {
  /// Puts the files back as they were before the last sync that changed them.
  ///
  /// Each becomes an ordinary edit of the person, guarded by the newest version that this device knows. The sync is
  /// forgotten then, so that another undo goes one further back.
  ///
  /// - Parameter isAddedToo: Whether files that came new go to the trash; then their rows are deleted as by `rm`.
  public func undo(isAddedToo: Bool = false) throws -> UndoReport {
    guard let round = try client.read({ try SyncRecord($0).next(isAddedToo: isAddedToo) }) else { return UndoReport() }
    // What is put back must be taken at once, as the edit of the newest version that it is.
    try checkGit()
    var undone = UndoReport(at: round.at)
    // What a person saved just now is an edit of its own, and a file that was moved is found where it lies.
    try lookAtAll(round, &undone.report)
    let items = try client.read { transaction in
      try UndoPlan(transaction: transaction, collections: collections, files: files, isAddedToo: isAddedToo)
        .items(of: round)
    }
    var outcomes = items.map(\.outcome)
    try keepFormer(items)
    try putBack(items, &outcomes, &undone.report)
    for (index, item) in items.enumerated() {
      guard case .restore(let bytes) = item.step, let collection = collection(of: item.path) else { continue }
      try restore(bytes, item, collection, &outcomes[index], &undone.report)
    }
    removeAdded(items, &outcomes, &undone.report)
    try client.transaction { transaction in
      let record = SyncRecord(transaction)
      var isOver = true
      for (item, outcome) in zip(items, outcomes) {
        switch outcome?.fate {
        case .stays?: continue
        case .waits?: isOver = false
        default: try record.forget(item.file)
        }
        if outcome?.fate == .putBack, case .putBack(let bytes, _) = item.step, let former = item.file.former {
          try record.follow(item.file.path, from: ContentHash(of: former), to: ContentHash(of: bytes))
        }
      }
      if isOver { try record.setUndone(round) }
    }
    undone.files = outcomes.compactMap { $0 }
    for file in undone.files where file.fate != .stays {
      let words = ["undo: \(file.fate.rawValue)", file.detail].filter { !$0.isEmpty }
      undone.report.note(.note, file.path, words.joined(separator: "; "))
    }
    return undone
  }

  private func lookAtAll(_ round: SyncRound, _ report: inout WorkspaceReport) throws {
    let synced = try client.read { transaction in
      try SyncRecord(transaction).files(of: round).map { file in
        (file, path: try Mirror(transaction).entry(file.collection, keyText: file.keyText)?.path ?? file.path)
      }
    }
    let there = try synced.filter { try files.status($0.path) != nil }
    report.add(try look(at: distinctPaths(there.map(\.path))))
    // What is not where it was may lie elsewhere by now.
    let known = Set(there.map { PathKey($0.path) })
    let moved = synced.filter { file, path in file.written != nil && !known.contains(PathKey(path)) }
    for collection in collections where moved.contains(where: { $0.0.collection == collection.folder }) {
      try scan(collection, deleteAfter: nil, &report)
    }
    report.add(try writeRows())
  }

  /// Keeps in the trash what the undo takes away, and the former texts of files that it leaves alone.
  private func keepFormer(_ items: [UndoItem]) throws {
    try keep(
      items.compactMap { item in
        switch item.step {
        case .putBack(_, let current):
          TrashItem(origin: item.path, bytes: current, reason: "replaced by 'tidemark undo'")
        case .left(_, let former?):
          TrashItem(origin: item.file.path, bytes: former, reason: "what it said before a sync that was undone")
        default: nil
        }
      })
  }

  private func putBack(
    _ items: [UndoItem], _ outcomes: inout [UndoReport.File?], _ report: inout WorkspaceReport
  ) throws {
    var places: [Int] = []
    var work: [WriteBackItem] = []
    for (index, item) in items.enumerated() {
      guard case .putBack(let bytes, let current) = item.step else { continue }
      places.append(index)
      work.append(
        WriteBackItem(path: item.path, expected: .content(ContentHash(of: current)), change: .write(bytes)))
    }
    defer { deliberateTexts = [:] }
    var written: [String] = []
    for (index, (item, outcome)) in zip(places, zip(work, writeBack.apply(work))) {
      if let trouble = trouble(outcome) {
        outcomes[index] = UndoReport.File(path: item.path, fate: .waits, detail: trouble)
      } else if case .write(let bytes) = item.change {
        deliberateTexts[PathKey(item.path)] = ContentHash(of: bytes)
        written.append(item.path)
      }
    }
    report.add(try look(at: written))
    report.add(try writeRows())
  }

  private func restore(
    _ bytes: [UInt8], _ item: UndoItem, _ collection: Collection, _ outcome: inout UndoReport.File?,
    _ report: inout WorkspaceReport
  ) throws {
    do {
      let change = try bringBack(bytes, named: item.path, item.path, collection)
      report.add(change.report)
      outcome = UndoReport.File(path: change.path, fate: .restored, detail: change.message)
    } catch WorkspaceRequestError.unreadable(_, let reason) {
      outcome = UndoReport.File(path: item.path, fate: .left, detail: "\(reason); its text is in the trash")
    } catch let error as WorkspaceRequestError {
      outcome = UndoReport.File(path: item.path, fate: .waits, detail: "\(error)")
    }
  }

  /// Removes files that came new, as a person does with `rm`: whether that deletes their rows the next listings decide.
  private func removeAdded(
    _ items: [UndoItem], _ outcomes: inout [UndoReport.File?], _ report: inout WorkspaceReport
  ) {
    var places: [Int] = []
    var work: [WriteBackItem] = []
    for (index, item) in items.enumerated() {
      guard case .remove(let hash) = item.step else { continue }
      places.append(index)
      work.append(
        WriteBackItem(path: item.path, expected: .content(hash), change: .trash(reason: "removed by 'tidemark undo'")))
    }
    for (index, (item, outcome)) in zip(places, zip(work, writeBack.apply(work))) {
      if let trouble = trouble(outcome) {
        outcomes[index] = UndoReport.File(path: item.path, fate: .waits, detail: trouble)
      } else {
        report.filesRemoved += 1
      }
    }
  }

  private func trouble(_ outcome: WriteBackOutcome) -> String? {
    switch outcome {
    case .written, .removed: nil
    case .newerSave, .exists: "it was saved at this moment; undo again"
    case .failed(let error), .unsettled(let error): "\(error)"
    }
  }
}
