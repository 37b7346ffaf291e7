import LosslessJSON
import OfflineEngine

/// A file that is to be adopted, held against the rows.
private struct AdoptedFile {
  /// What it is to the rows.
  enum Kind {
    /// It says what its row says.
    case same
    /// It has a row's id and says something else.
    case differs
    /// It has an id that no row has.
    case unknown
    /// It has no id yet.
    case withoutKey
    /// It cannot be read as a row.
    case unreadable
  }

  var reading: PathReading
  var key: RowKey?
  var kind: Kind
}

extension Workspace {
  /// Finds out which collections' files are to be adopted: those of a fresh state, where files lay before it was made.
  func beginAdoptions() throws {
    try client.transaction { transaction in
      for collection in collections {
        adoptions[collection.folder] = try transaction.adoption(collection.folder)
        guard adoptions[collection.folder] == nil, let before = try transaction.adoptsBefore(),
          try !transaction.hasBeenSwept(collection.table), try Mirror(transaction).count(collection.folder) == 0,
          let listing = try? files.list(collection.folder)
        else { continue }
        let isOld = { (entry: FolderEntry) -> Bool in
          FileNames.isRowFile(entry.name) && entry.status.changed.nanoseconds < before.nanoseconds
        }
        guard listing.entries.contains(where: isOld) else { continue }
        adoptions[collection.folder] = .waiting
        try transaction.setAdoption(collection.folder, .waiting)
      }
    }
  }

  /// Forgets what is known of files, so that they are adopted anew once every row was read again.
  ///
  /// To be called when the files were just looked at: edits that they hold are in the queue. Queued writes, conflicts,
  /// refusals and their side files stay, and what is known of files that cannot be read: nothing else says whose they are.
  public func forgetMirror() throws {
    try client.transaction { transaction in
      try transaction.adoptFiles(before: now + .seconds(1))
      let unread = Set(try Problems(transaction).paths().map(PathKey.init))
      let mirror = Mirror(transaction)
      for collection in collections {
        let kept = try mirror.entries(collection.folder).filter { entry in
          entry.path.map { unread.contains(PathKey($0)) } ?? false
        }
        try mirror.removeAll(collection.folder)
        for entry in kept { try mirror.save(entry) }
        if !kept.isEmpty { try transaction.setAdoption(collection.folder, .waiting) }
        try transaction.forgetVersions(collection.table)
      }
    }
    (folderIdentities, unscannable, takenNames, lookAgain) = ([:], [:], [:], [])
    (waitingForEditor, waitingBlanks, listedAt) = ([:], [:], [:])
    try beginAdoptions()
  }

  /// Whether a collection's files may be worked on: not before its adoption is over.
  ///
  /// Once every row has been read this goes on with the adoption.
  func isAdopted(_ collection: Collection, _ report: inout WorkspaceReport) throws -> Bool {
    guard let adoption = adoptions[collection.folder] else { return true }
    guard case .waiting = adoption else {
      if case .chosen(let choice) = adoption { try carryOut(choice, collection, &report) }
      return adoptions[collection.folder] == nil
    }
    try watchGit()
    guard gitWork == nil, try client.read({ try $0.hasBeenSwept(collection.table) }) else { return false }
    let adopted = try adoptedFiles(collection)
    let unknown = adopted.count { $0.kind == .unknown }
    let differing = adopted.count { $0.kind == .differs }
    guard VanishingBrake.holds(unknown + differing, of: adopted.count) else {
      try carryOut(.each, collection, &report)
      return true
    }
    try set(.held(unknown: unknown, differing: differing), collection)
    report.note(.held, collection.folder, Self.question(collection.folder, unknown: unknown, differing: differing))
    return false
  }

  /// What a person is asked about a held adoption.
  static func question(_ folder: String, unknown: Int, differing: Int) -> String {
    "of the files that lay here before, \(unknown) have ids that no row has and \(differing) differ from their rows (another "
      + "account, another server, an old copy?); nothing is sent or written until you choose: 'tidemark resolve \(folder) "
      + "--mine' sends them, 'tidemark resolve \(folder) --theirs' puts them into the trash, 'tidemark confirm' takes them "
      + "one by one, each difference a conflict"
  }

  /// Does with a held adoption what a person has chosen.
  ///
  /// - Returns: How many files it was about; `nil` where none is held.
  func chooseAdoption(
    _ choice: AdoptionChoice, _ collection: Collection, _ report: inout WorkspaceReport
  ) throws -> Int? {
    guard let adoption = adoptions[collection.folder], case .held = adoption else { return nil }
    try set(.chosen(choice), collection)
    try carryOut(choice, collection, &report)
    return adoption.heldCount
  }

  private func set(_ adoption: Adoption?, _ collection: Collection) throws {
    try client.transaction { try $0.setAdoption(collection.folder, adoption) }
    adoptions[collection.folder] = adoption
  }

  private func carryOut(
    _ choice: AdoptionChoice, _ collection: Collection, _ report: inout WorkspaceReport
  ) throws {
    let adopted = try adoptedFiles(collection)
    try recognize(adopted.filter { $0.kind == .withoutKey }, besides: Set(adopted.compactMap(\.key)), collection)
    if choice == .theirs {
      for file in adopted where file.kind == .unknown {
        guard let key = file.key else { continue }
        try removeFile(
          file.reading.path, of: key, collection, reason: "no row has its id, and the server's were chosen")
        report.filesRemoved += 1
        report.note(.removed, file.reading.path, "no row has its id; the text is in the trash")
      }
    }
    adoptions[collection.folder] = nil
    adoptsAs = choice
    defer { adoptsAs = .each }
    do {
      try scan(collection, deleteAfter: nil, &report)
      try writeRows(of: collection, &report)
    } catch {
      // What is chosen stays so until it is done.
      adoptions[collection.folder] = .chosen(choice)
      throw error
    }
    try set(nil, collection)
  }

  /// Holds the folder's files against the rows.
  private func adoptedFiles(_ collection: Collection) throws -> [AdoptedFile] {
    let listing = try files.list(collection.folder)
    let paths = listing.entries.filter { FileNames.isRowFile($0.name) }.map {
      WorkspacePath.joined(collection.folder, $0.name)
    }
    return try client.read { transaction in
      try files.withFoldersOpen {
        try paths.map { path in
          let reading = read(path, collection)
          guard case .row(let file) = reading.file else { return AdoptedFile(reading: reading, kind: .unreadable) }
          guard let key = file.key else { return AdoptedFile(reading: reading, kind: .withoutKey) }
          guard let values = try transaction.row(collection.table, key).values else {
            return AdoptedFile(reading: reading, key: key, kind: .unknown)
          }
          let isSame = edit(file.values, from: collection.fileValues(values)).isEmpty
          return AdoptedFile(reading: reading, key: key, kind: isSame ? .same : .differs)
        }
      }
    }
  }

  /// Knows files without ids again as the rows that they were under the lost state: a file gets its id late.
  ///
  /// It is the row that says the same in every column that the file mentions; else the only one of its title, or whose
  /// file would have its name, which it then differs from.
  private func recognize(
    _ adopted: [AdoptedFile], besides claimed: Set<RowKey>, _ collection: Collection
  ) throws {
    guard !adopted.isEmpty, let before = try client.read({ try $0.adoptsBefore() }) else { return }
    try client.transaction { transaction in
      var rows = try FreeRows(transaction, collection, besides: claimed)
      for file in adopted {
        guard case .row(var shown) = file.reading.file, let content = file.reading.content,
          content.status.changed.nanoseconds < before.nanoseconds
        else { continue }
        let name = WorkspacePath.name(of: file.reading.path)
        if file.reading.isEmpty { shown.values = RowFile.valuesOfEmptyFile(named: name, collection.settings) }
        guard !shown.values.isEmpty, let row = rows.take(for: shown.values, named: name) else { continue }
        let columns = collection.settable(edit(shown.values, from: row.values))
        var entry = MirrorEntry(
          collection: collection.folder,
          base: FileBase(
            key: row.key, values: row.values.overlaid(with: shown.values),
            version: columns.isEmpty ? row.version : nil, writtenKey: nil),
          path: file.reading.path, lastPath: file.reading.path)
        if !columns.isEmpty {
          try transaction.park(
            .update(
              collection.table, key: row.key, values: columns,
              base: WriteBase(values: row.values, version: row.version)),
            server: try transaction.cachedRow(collection.table, row.key)?.values, serverVersion: row.version,
            message: "the file and the server's row differ, and nothing tells which is newer")
        }
        entry.seen = SeenFile(content.status, content.hash, at: now)
        entry.wasSeen = true
        entry.keyDueAt = now + Self.keyDelay
        try Mirror(transaction).save(entry)
        try transaction.touchRow(collection.table, row.key)
      }
    }
  }
}

/// Rows that no file shows by its id.
private struct FreeRows {
  struct Row {
    var key: RowKey
    /// The columns that a file shows.
    var values: JSONObject
    var version: String?
  }

  private let collection: Collection
  private var rows: [RowKey: Row] = [:]
  private var byTitle: [String: [RowKey]] = [:]
  private var byName: [String: [RowKey]] = [:]

  init(_ transaction: EngineTransaction, _ collection: Collection, besides claimed: Set<RowKey>) throws {
    self.collection = collection
    for text in try transaction.cachedKeys(collection.table).sorted() {
      guard let key = collection.key(text: text), !claimed.contains(key),
        let row = try transaction.cachedRow(collection.table, key), let values = row.values
      else { continue }
      let title = collection.title(values)
      rows[key] = Row(key: key, values: collection.fileValues(values), version: row.version)
      byTitle[title, default: []].append(key)
      byName[FileNames.folded(FileNames.fileName(title: title, id: text) { _ in false }), default: []].append(key)
    }
  }

  mutating func take(for values: JSONObject, named name: String) -> Row? {
    let sameTitle = (byTitle[collection.title(values)] ?? []).filter { rows[$0] != nil }
    let sameName = (byName[FileNames.folded(name)] ?? []).filter { rows[$0] != nil }
    let equal = sameTitle.first { key in rows[key].map { edit(values, from: $0.values).isEmpty } ?? false }
    let only = equal ?? [sameTitle, sameName].first { $0.count == 1 }?.first
    return only.flatMap { rows.removeValue(forKey: $0) }
  }
}
