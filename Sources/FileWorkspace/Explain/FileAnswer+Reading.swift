import LosslessJSON
import OfflineEngine

extension FileAnswer {
  /// Looks at a path and at all that is known of it, without changing anything.
  ///
  /// - Parameter path: Relative to the workspace; nothing needs to lie there.
  public init(
    about path: String, _ transaction: EngineTransaction, _ settings: WorkspaceSettings, files: any FileSystem,
    now: WallTime
  ) throws {
    guard let collection = settings.collections.first(where: { $0.folder == WorkspacePath.folder(of: path) }) else {
      let photo = try Self.whatPhoto(path, transaction, settings)
      self.init(path, what: try photo ?? Self.whatOutside(path, settings, files))
      return
    }
    let name = WorkspacePath.name(of: path)
    switch FileNames.kind(of: name) {
    case .row: try self.init(rowFile: path, Collection(settings: collection), transaction, settings, files, now)
    case .sideFile(let kind, let main):
      try self.init(
        sideFile: path, kind, of: WorkspacePath.joined(collection.folder, main), Collection(settings: collection),
        transaction, settings, files, now)
    case .problemNote(let main):
      self.init(path, what: "a note of Tidemark's that says why \(main) cannot be read; it goes when that is mended")
    case .ignored:
      self.init(
        path,
        what: "not a row's file: names like this are those of hidden, temporary, backup and lock files, which are left "
          + "alone")
    case .other:
      self.init(path, what: "not a row's file: only names that end in .json are; it is left alone")
    }
    if let status = try files.status(path), status.kind == .folder, case .other = FileNames.kind(of: name) {
      what = "a folder in \(collection.folder)/: only files directly in there are rows; it is left alone"
    }
  }

  private static func whatOutside(
    _ path: String, _ settings: WorkspaceSettings, _ files: any FileSystem
  ) throws -> String {
    if path.isEmpty { return "the workspace" }
    if let collection = settings.collections.first(where: { $0.folder == path }) {
      return "the folder of table \(collection.table): each .json file directly in it is a row"
    }
    if path == WorkspaceSettings.fileName { return "the workspace's settings" }
    if path == StateFolder.root || path.hasPrefix(StateFolder.root + "/") {
      return "Tidemark's own state; nothing in there is a row's file"
    }
    let folders = settings.collections.map { "\($0.folder)/" }.joined(separator: ", ")
    let there = try files.status(path) == nil ? "nothing lies there; it is " : ""
    return there + "not in a collection's folder: only files directly in \(folders) are rows"
  }

  private init(
    sideFile path: String, _ kind: SideFileKind, of main: String, _ collection: Collection,
    _ transaction: EngineTransaction, _ settings: WorkspaceSettings, _ files: any FileSystem, _ now: WallTime
  ) throws {
    try self.init(rowFile: main, collection, transaction, settings, files, now)
    let mainName = WorkspacePath.name(of: main)
    self.path = path
    isRowFile = false
    guard try SideFiles(transaction).at(path) != nil else {
      what = "named like a side file of \(mainName), but nothing is known of it; it is left alone"
      return
    }
    what =
      switch kind {
      case .mine:
        "your version of \(mainName), which met another change; delete it to keep theirs, or move it over \(mainName)"
      case .refused where entries.contains { $0.list == MutationList.rejected.rawValue && $0.operation == "INSERT" }:
        "why the server refused the new row of \(mainName); fix and save \(mainName), or delete this file to accept it"
      case .refused:
        "a change of \(mainName) that the server refused; fix it and rename it to \(mainName), or delete it"
      case .deleted:
        "your delete of \(mainName) met another change; delete this file to keep the row"
      }
  }

  private init(
    rowFile path: String, _ collection: Collection, _ transaction: EngineTransaction, _ settings: WorkspaceSettings,
    _ files: any FileSystem, _ now: WallTime
  ) throws {
    self.init(path, what: "a row's file of table \(collection.table)", isRowFile: true)
    table = collection.table
    let mirror = Mirror(transaction)
    let entry = try mirror.entry(path: path) ?? mirror.entries(collection.folder).first { $0.lastPath == path }
    let file = try look(collection, files)
    let rowKey = entry?.base.key ?? file?.key.map(RowKey.init)
    key = rowKey?.text
    baseVersion = entry?.base.version
    problem = try Problems(transaction).all().first { PathKey($0.path) == PathKey(path) }
    if let row = file, let entry { edited = edit(row.values, from: entry.base.values).names }
    if entry == nil, file != nil, problem == nil { waits.append(Wait("the next look at the files, which queues it")) }
    if let rowKey { try describe(rowKey, collection, transaction) }
    if entry == nil, rowKey == nil, problem == nil, try files.status(path) == nil {
      what = "nothing lies there, and no row of table \(collection.table) is known under that name"
      isRowFile = false
    }
    try addWaits(entry, collection, transaction, settings, files, now)
  }

  /// Reads the file; says in `what` where it is no regular file, and in `problem` where it is no row.
  private mutating func look(_ collection: Collection, _ files: any FileSystem) throws -> RowFile? {
    guard let status = try files.status(path) else {
      what = "a row's file of table \(collection.table), but nothing lies there"
      return nil
    }
    guard status.kind == .file else {
      isRowFile = false
      what = "not a row's file: it is \(status.kind.phrase), which is left alone"
      return nil
    }
    guard let content = try? files.read(path, bytesMax: RowFile.bytesMax) else { return nil }
    do throws(RowFileProblem) {
      return try RowFile.read(content.bytes, collection.settings)
    } catch {
      waits.append(Wait("the file cannot be read as its row: \(error)"))
      return nil
    }
  }

  private mutating func describe(_ rowKey: RowKey, _ collection: Collection, _ transaction: EngineTransaction) throws {
    let overlaid = try transaction.row(collection.table, rowKey)
    serverVersion = overlaid.server?.version
    switch overlaid.server {
    case nil: row = "the server has not shown it yet"
    case let cached? where cached.values == nil: row = "gone from the server"
    case let cached? where cached.isStale: row = "on the server; to be read again before it is trusted"
    case .some: row = "on the server"
    }
    entries = overlaid.pending.map { pending in
      Entry(
        id: pending.id, list: MutationList.queued.rawValue, operation: pending.write.operation.rawValue,
        columns: pending.write.values.names, since: pending.createdAt, sendCount: pending.sendCount)
    }
    entries += try transaction.rejectedMutations(collection.table, rowKey).map { rejected in
      Entry(
        id: rejected.id, list: MutationList.rejected.rawValue, operation: rejected.write.operation.rawValue,
        columns: rejected.write.values.names, since: rejected.createdAt, sendCount: 1,
        message: rejected.serverError.map { "refused with \($0.status) \($0.code)" } ?? "refused by a policy")
    }
    entries += try transaction.conflictedMutations(collection.table, rowKey).map { conflict in
      Entry(
        id: conflict.id, list: MutationList.conflicted.rawValue, operation: conflict.write.operation.rawValue,
        columns: conflict.write.values.names, since: conflict.createdAt, sendCount: 1, message: conflict.message)
    }
    sideFiles = try SideFiles(transaction).of(collection.folder, rowKey).map(\.path)
    if try transaction.isChanged(collection.table, rowKey) {
      waits.append(Wait("a change of the row is to be written into the file at the next pass"))
    }
  }

  private mutating func addWaits(
    _ entry: MirrorEntry?, _ collection: Collection, _ transaction: EngineTransaction, _ settings: WorkspaceSettings,
    _ files: any FileSystem, _ now: WallTime
  ) throws {
    if problem != nil { waits.append(Wait("the file to be mended")) }
    if let work = GitState.work(in: files) { waits.append(Wait("git to finish: \(work)")) }
    if let marker = EditorMarker.name(for: path, in: files) {
      waits.append(Wait("changes of others wait until the editor closes the file (\(WorkspacePath.name(of: marker)))"))
    }
    guard let entry else { return }
    if entry.isHeld {
      waits.append(
        Wait("the file is missing with many others: its row is deleted after 'tidemark confirm'"))
    } else if let since = entry.absentSince {
      let due = since + max(settings.deleteAfter, Workspace.absenceProof)
      waits.append(Wait("the file is missing: its row is deleted unless it comes back", until: due))
    }
    if let path = entry.path, PathKey(path) != PathKey(self.path) {
      waits.append(Wait("nothing: the row's file lies at \(path) now"))
    }
    keyDueAt = entry.keyDueAt
    if !edited.isEmpty { waits.append(Wait("the next look at the files, which queues the edit")) }
  }
}
