import LosslessJSON
import OfflineEngine

extension Workspace {
  /// Writes what changed in the engine's rows of one collection into its files.
  func writeRows(of collection: Collection, _ report: inout WorkspaceReport) throws {
    guard adoptions[collection.folder] == nil else {
      _ = try isAdopted(collection, &report)
      return
    }
    try watchGit()
    guard gitWork == nil, unscannable[collection.folder] == nil else { return }
    var line = NewFileLine(writeBack)
    do {
      try writeRows(of: collection, through: &line, &report)
    } catch {
      // What is on its way comes to its end all the same.
      try? count(line.finish(), of: collection, &report)
      throw error
    }
    try count(line.finish(), of: collection, &report)
    newFileKeys = [:]
  }

  private func writeRows(
    of collection: Collection, through line: inout NewFileLine, _ report: inout WorkspaceReport
  ) throws {
    var seen: Set<String> = []
    // From key to key, since what has to wait stays on the list; what joined it before the last key comes in another round.
    var last: String?
    var hasNew = false
    while true {
      let (paths, free, next) = try client.transaction { transaction -> ([String], [PathReading], String?) in
        let mirror = Mirror(transaction)
        var sideNames = SideNames(try SideFiles(transaction).all(collection.folder), mainPath: mainPath)
        let mayComeBack = try mirror.hasFormerPaths(collection.folder)
        var unreadable: [[UInt8]]?
        var (paths, free): ([String], [PathReading]) = ([], [])
        let changed = try transaction.changedKeys(collection.table, after: last, limit: rowBatchCount)
        for keyText in changed where seen.insert(keyText).inserted {
          hasNew = true
          if let entry = try mirror.entry(collection.folder, keyText: keyText) {
            if let path = entry.path { paths.append(path) }
          } else if try isShown(keyText, &unreadable, collection, transaction) {
            // That file is the row's once it can be read; another one would make it a copy.
          } else if let (path, row) = try pathForNewFile(
            keyText, mayComeBack: mayComeBack, collection, transaction, &sideNames)
          {
            if let row {
              free.append(PathReading(path: path, file: .absent, newRow: row))
            } else {
              paths.append(path)
            }
          } else {
            try transaction.clearChange(collection.table, keyText)
          }
        }
        return (paths, free, changed.last)
      }
      last = next
      if next == nil {
        guard hasNew else { break }
        hasNew = false
      }
      if !paths.isEmpty || !free.isEmpty { try write(paths, free, collection, through: &line, &report) }
    }
  }

  /// Decides about rows' paths.
  ///
  /// New files go on through the line; everything else is done when this returns.
  ///
  /// - Parameters:
  ///   - paths: Where files may lie.
  ///   - free: Where none is known to lie, by names that were chosen for it. Nothing needs to be read there: a file that
  ///     somebody makes meanwhile is met where ours would take its place, as it would be after a reading. And a row that
  ///     has moved on since is met when its file is booked.
  private func write(
    _ paths: [String], _ free: [PathReading], _ collection: Collection, through line: inout NewFileLine,
    _ report: inout WorkspaceReport
  ) throws {
    try watchGit()
    guard gitWork == nil else {
      for path in paths + free.map(\.path) { lookAgain.insert(PathKey(path)) }
      return
    }
    let readings = files.withFoldersOpen { paths.map { read($0, collection) } } + free
    guard let decided = try decide(readings, collection, &report) else { return }
    var again = decided.again
    perform(decided.sideWork, &report, again: &again)
    let (new, others) = decided.otherWork.partitioned { $0.item.expected == .absent }
    perform(others, &report, again: &again)
    if !new.isEmpty { try count(line.begin(new), of: collection, &report) }
    if !again.isEmpty { try reconcile(again, collection, &report) }
  }

  /// Books how new files have ended, and looks at once at those that somebody made in their places: one may be the very
  /// row's, which would get a second file by the next writing.
  private func count(
    _ ended: [NewFileLine.Ended], of collection: Collection, _ report: inout WorkspaceReport
  ) throws {
    var again: [String] = []
    for batch in ended {
      count(batch.outcomes, of: batch.work, &report, again: &again)
      for (one, outcome) in zip(batch.work, batch.outcomes) {
        if case .exists = outcome { again.append(one.item.path) }
      }
    }
    if !again.isEmpty { try reconcile(again, collection, &report) }
  }

  /// Whether a file that cannot be read, and of which nothing is known, shows a row's key.
  ///
  /// - Parameter unreadable: The texts of such files, read when the first row asks.
  private func isShown(
    _ keyText: String, _ unreadable: inout [[UInt8]]?, _ collection: Collection, _ transaction: EngineTransaction
  ) throws -> Bool {
    let texts =
      try unreadable
      ?? Problems(transaction).paths().filter { path in
        try WorkspacePath.folder(of: path) == collection.folder && Mirror(transaction).entry(path: path) == nil
      }.compactMap { try? files.read($0, bytesMax: RowFile.bytesMax).bytes }
    unreadable = texts
    guard !texts.isEmpty, let key = collection.key(text: keyText) else { return false }
    return texts.contains { RowFile.shows(key, in: $0, collection.settings) }
  }

  /// The path for a row that has no file yet, with the row where its name was chosen since nothing is known to have it;
  /// `nil` when there is no such row.
  private func pathForNewFile(
    _ keyText: String, mayComeBack: Bool, _ collection: Collection, _ transaction: EngineTransaction,
    _ sideNames: inout SideNames
  ) throws -> (path: String, row: OverlaidRow?)? {
    guard let key = collection.key(text: keyText) else { return nil }
    // Beside a side file of its own, also where nothing waits any more and that is to be closed.
    if let path = sideNames.path(of: keyText), try Mirror(transaction).entry(path: path) == nil {
      newFileKeys[PathKey(path)] = key
      return (path, nil)
    }
    let row = try transaction.row(collection.table, key)
    // A row that is gone may still have something for a person to settle, which stands beside its file's place.
    guard
      let values = try row.values ?? transaction.conflictedMutations(collection.table, key).last?.write.values
    else { return nil }
    try loadNames(collection, transaction)
    let taken = takenNames[collection.folder] ?? TakenNames()
    func isTaken(_ name: String) -> Bool {
      taken.contains(folded: name) || sideNames.isTaken(folded: name, besides: keyText)
    }
    let path: String
    let former = mayComeBack ? try Mirror(transaction).formerPath(collection.folder, key) : nil
    if let former, !isTaken(FileNames.folded(WorkspacePath.name(of: former))) {
      path = former
    } else {
      var title = collection.title(values)
      if title.isEmpty, let former { title = FileNames.title(fromFileName: WorkspacePath.name(of: former)) ?? "" }
      let name = FileNames.fileName(title: title, id: keyText) { isTaken($0) }
      path = WorkspacePath.joined(collection.folder, name)
    }
    if row.values == nil {
      sideNames.reserve(path, for: keyText)
    } else {
      // In place: a copy of all names for each new file would take a time that grows with the square of their number.
      takenNames[collection.folder, default: TakenNames()].insert(WorkspacePath.name(of: path))
    }
    newFileKeys[PathKey(path)] = key
    return (path, row.values == nil ? nil : row)
  }

  /// Writes the keys that are due into their files.
  func writeDueKeys(_ report: inout WorkspaceReport) throws {
    let due = try client.read { try Mirror($0).entriesWithKeyDue(by: now) }
    for collection in collections {
      let paths = due.filter { $0.collection == collection.folder }.compactMap(\.path)
      if !paths.isEmpty { try reconcile(paths, collection, &report) }
    }
    // What could not be written now is tried again later, not at every tick.
    guard !due.isEmpty, try !client.read({ try Mirror($0).entriesWithKeyDue(by: now) }).isEmpty else { return }
    try client.transaction { transaction in
      let mirror = Mirror(transaction)
      for var entry in try mirror.entriesWithKeyDue(by: now) {
        entry.keyDueAt = now + Self.keyDelay
        try mirror.save(entry)
      }
    }
  }
}

/// Names that a new file may not take, as `FileNames` folds them.
struct TakenNames: Sendable {
  private var folded: Set<String> = []

  mutating func insert(_ name: String) { folded.insert(FileNames.folded(name)) }

  mutating func remove(_ name: String) { folded.remove(FileNames.folded(name)) }

  func contains(folded name: String) -> Bool { folded.contains(name) }
}
