import OfflineEngine

/// How one collection's files, mirror and rows fit together: what `tidemark doctor` looks at.
public struct CollectionHealth: Sendable, Hashable {
  /// The folder.
  public var folder: String
  /// The table.
  public var table: String
  /// Whether the folder is there.
  public var isFolderThere: Bool
  /// Files that the mirror knows.
  public var known = 0
  /// Files that the mirror knows and that are not there.
  public var missing: [String] = []
  /// Rows' files that the mirror does not know, without those that have a problem.
  public var unknown: [String] = []
  /// What a person may take for rows although it is none: folders with `.json` files in them, and names in capitals.
  public var overlooked: [String] = []
  /// Rows of the server that have neither a file nor anything queued, parked or to be written.
  public var rowsWithoutFile = 0
  /// How many of the missing files wait for a person's word.
  public var held = 0
  /// What was last seen of the version column when a row changed.
  public var versionColumn: VersionColumn?

  /// Compares without changing anything.
  public init(
    _ transaction: EngineTransaction, _ settings: CollectionSettings, files: any FileSystem
  ) throws {
    folder = settings.folder
    table = settings.table
    isFolderThere = try files.status(settings.folder)?.kind == .folder
    let mirror = Mirror(transaction)
    let entries = try mirror.entries(folder)
    known = entries.count
    try compareFiles(entries, try Problems(transaction).paths(), files)
    try countRows(Set(entries.map(\.base.key.text)), transaction)
    held = entries.count { $0.isHeld }
    versionColumn = try transaction.versionColumn(table)
  }

  private mutating func compareFiles(
    _ entries: [MirrorEntry], _ troubled: [String], _ files: any FileSystem
  ) throws {
    guard isFolderThere else { return }
    let listed = try files.list(folder).entries
    let names = Set(listed.map { PathKey(WorkspacePath.joined(folder, $0.name)) })
    for entry in listed.sorted(by: { PathKey($0.name) < PathKey($1.name) }) where !entry.name.hasPrefix(".") {
      let path = WorkspacePath.joined(folder, entry.name)
      switch (entry.status.kind, FileNames.kind(of: entry.name)) {
      case (.file, .other) where entry.name.lowercased().hasSuffix(".json"): overlooked.append(path)
      case (.folder, .other) where try files.list(path).entries.contains { FileNames.isRowFile($0.name) }:
        overlooked.append(path + "/")
      default: break
      }
    }
    let paths = entries.compactMap(\.path)
    missing = paths.filter { !names.contains(PathKey($0)) }.sorted()
    let knownPaths = Set((paths + troubled).map(PathKey.init))
    unknown = names.filter { path in
      FileNames.isRowFile(WorkspacePath.name(of: path.text)) && !knownPaths.contains(path)
    }.map(\.text).sorted()
  }

  private mutating func countRows(_ keys: Set<String>, _ transaction: EngineTransaction) throws {
    let changed = Set(try transaction.changedKeys(table, limit: .max))
    let written = Set(
      try transaction.pendingMutations().map(\.write.key.text)
        + transaction.conflictedMutations().map(\.write.key.text))
    rowsWithoutFile = try transaction.cachedKeys(table).count { key in
      !keys.contains(key) && !changed.contains(key) && !written.contains(key)
    }
  }
}
