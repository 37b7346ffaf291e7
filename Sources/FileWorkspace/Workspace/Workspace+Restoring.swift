import LosslessJSON
import OfflineEngine

extension Workspace {
  /// Brings a text back from the trash: into its row's file, or as a new row when the old one is gone.
  ///
  /// The text stays in the trash, too.
  ///
  /// - Parameters:
  ///   - name: The entry's name in the trash, or the path that the text had; of several the newest.
  ///   - path: The same as a path in the workspace, where the person typed one: that of a missing file whose row is there,
  ///     or of a folder with such files, needs no trash.
  public func restore(_ name: String, path: String?) throws -> WorkspaceChange {
    if let change = try bringBackMissing(path) ?? remake(path) { return change }
    let entry = try trashEntry(name, path)
    if let origin = entry.origin, PhotoFolders(settings).folder(ofPhoto: origin) != nil {
      return try restorePhoto(entry, to: origin)
    }
    let origin = mainPath(of: entry.origin ?? "")
    guard let collection = collection(of: origin) else {
      throw WorkspaceRequestError.unreadable(
        path: entry.path, reason: "it came from no collection of tidemark.json; copy it by hand to where it belongs")
    }
    guard let content = try content(entry.path) else { throw WorkspaceRequestError.noSuchRow(entry.path) }
    return try bringBack(content.bytes, named: entry.path, origin, collection)
  }

  /// Moves a photo's file back to where it lay; it is too large to leave another copy in the trash.
  private func restorePhoto(_ entry: TrashEntry, to origin: String) throws -> WorkspaceChange {
    do throws(FileSystemError) {
      try files.createFolder(WorkspacePath.folder(of: origin), isPrivate: false)
      try files.moveNoReplace(entry.path, origin)
      try files.makeNamesDurable([WorkspacePath.folder(of: origin), StateFolder.trash])
    } catch {
      throw WorkspaceRequestError.notWritten(path: origin, reason: "\(error)")
    }
    try? files.unlink(entry.path + Trash.notesSuffix)
    return WorkspaceChange(path: origin, message: "\(origin) is back")
  }

  /// Makes a deleted row again under its key, of a file with that key that lies there and waits for a person.
  private func remake(_ path: String?) throws -> WorkspaceChange? {
    guard let path, let collection = collection(of: path), FileNames.isRowFile(WorkspacePath.name(of: path)),
      let content = try? content(path), let row = try? RowFile.read(content.bytes, collection.settings),
      let key = row.key.map(RowKey.init), try forgetGone(key, collection)
    else { return nil }
    var change = WorkspaceChange(path: path, message: "\(path) is made again under its key")
    try take(path, &change.report)
    return change
  }

  /// Lets a key be used again whose row is gone and which no file has.
  private func forgetGone(_ key: RowKey, _ collection: Collection) throws -> Bool {
    try client.transaction { transaction in
      guard try Mirror(transaction).entry(collection.folder, key: key) == nil,
        try transaction.row(collection.table, key).pending.isEmpty
      else { return false }
      return try transaction.forgetGone(collection.table, key)
    }
  }

  /// Brings a text back to the path that it had, or into its row's file.
  ///
  /// - Parameter name: The text, for messages.
  func bringBack(
    _ bytes: [UInt8], named name: String, _ origin: String, _ collection: Collection
  ) throws -> WorkspaceChange {
    let row = try rowFile(bytes, at: name, collection)
    guard let document = row.document, !row.values.isEmpty else {
      throw WorkspaceRequestError.unreadable(path: name, reason: "it holds no values of a row")
    }
    var change = WorkspaceChange(path: origin, message: "")
    if try files.status(origin) != nil { change.report.add(try look(at: [origin])) }
    change.report.add(try writeRows())
    switch try restorePlace(row, origin, collection) {
    case .file(let path, let base):
      try restore(document, into: path, base, collection, &change)
    case .sameRow:
      try restore(document.removing(PathDecision.problemMember), at: origin, row, collection, &change)
      change.message = "\(change.path) is back"
    case .newRow where collection.makeableKey == nil:
      if let key = row.key.map(RowKey.init) { _ = try forgetGone(key, collection) }
      try restore(document.removing(PathDecision.problemMember), at: origin, row, collection, &change)
      change.message = "\(change.path) is back under its key"
    case .newRow:
      try restore(freshKey(document, collection), at: origin, row, collection, &change)
      change.message = "\(change.path) is back as a new row"
    }
    return change
  }

  private func trashEntry(_ name: String, _ path: String?) throws -> TrashEntry {
    let entries = try trash.entries()
    let last = PathKey(WorkspacePath.name(of: name))
    if let named = entries.last(where: { PathKey(WorkspacePath.name(of: $0.path)) == last }) { return named }
    let paths = [name, path].compactMap { $0.map(PathKey.init) }
    if let origin = entries.last(where: { entry in entry.origin.map { paths.contains(PathKey($0)) } ?? false }) {
      return origin
    }
    throw WorkspaceRequestError.noSuchEntry(name, list: "in the trash", hint: "'tidemark trash' lists its texts")
  }

  private enum RestorePlace {
    case file(path: String, base: JSONObject)
    /// Its delete is not sent yet: the file's return takes it back.
    case sameRow
    case newRow
  }

  private func restorePlace(_ row: RowFile, _ origin: String, _ collection: Collection) throws -> RestorePlace {
    let key = row.key.map(RowKey.init)
    let (entry, isDeleteUnsent) = try client.read { transaction in
      let mirror = Mirror(transaction)
      let entry = try key.map { try mirror.entry(collection.folder, key: $0) } ?? mirror.entry(path: origin)
      let last = try key.flatMap { try transaction.row(collection.table, $0).pending.last }
      return (entry, last.map { $0.write.operation == .delete && $0.sendCount == 0 } ?? false)
    }
    if isDeleteUnsent { return .sameRow }
    guard let entry else { return .newRow }
    guard let path = entry.path, try files.status(path) != nil else { return .sameRow }
    return .file(path: path, base: entry.base.values)
  }

  /// Lays the text over the row's file: an ordinary edit of all that differs.
  private func restore(
    _ document: JSONDocument, into path: String, _ base: JSONObject, _ collection: Collection,
    _ change: inout WorkspaceChange
  ) throws {
    change.path = path
    // What only the server sets stays as it is.
    let shown = JSONObject(base.members.filter { collection.settings.column($0.name)?.isReadOnly ?? false })
    let bytes = RowFile.updated(document.removing(PathDecision.problemMember), to: shown, collection.settings)
    guard let current = try content(path) else { throw WorkspaceRequestError.changedMeanwhile(path: path) }
    guard current.hash != ContentHash(of: bytes) else {
      change.message = "\(path) says that already"
      return
    }
    try keep([TrashItem(origin: path, bytes: current.bytes, reason: "replaced by a text from the trash")])
    try putDeliberately(bytes, at: path, over: .content(current.hash), &change.report)
    change.message = "\(path) has the text from the trash; what it said before is in the trash"
  }

  private func restore(
    _ document: JSONDocument, at origin: String, _ row: RowFile, _ collection: Collection,
    _ change: inout WorkspaceChange
  ) throws {
    var path = origin
    let name = WorkspacePath.name(of: origin)
    if try files.status(origin) != nil || !FileNames.isRowFile(name) {
      path = try freePath(title: collection.title(row.values), id: environment.makeID(), collection).path
    }
    change.path = path
    try put(document.bytes, at: path, over: .absent)
    try take(path, &change.report)
  }

  /// The text without the key of a row that is gone.
  private func freshKey(_ document: JSONDocument, _ collection: Collection) -> JSONDocument {
    var result = document.removing(PathDecision.problemMember)
    if let key = collection.makeableKey, result.value[key] != nil {
      return result.setting(key, to: .string(environment.makeID()))
    }
    for key in collection.settings.key { result = result.removing(key) }
    return result
  }
}
