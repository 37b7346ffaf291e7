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
  /// Rows of the server that have neither a file nor anything queued, parked or to be written.
  public var rowsWithoutFile = 0
  /// Rows whose version was seen to move when their values changed.
  public var versionsMoved = 0
  /// Rows whose values changed while their version stayed.
  public var versionsStuck = 0

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
    for entry in entries { try judgeVersion(entry, mirror, transaction) }
  }

  private mutating func compareFiles(
    _ entries: [MirrorEntry], _ troubled: [String], _ files: any FileSystem
  ) throws {
    guard isFolderThere else { return }
    let names = Set(try files.list(folder).entries.map { PathKey(WorkspacePath.joined(folder, $0.name)) })
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

  /// Compares what the row's file showed at different times.
  ///
  /// A base with a queued edit in it keeps the older version for a while, so only a row that is at rest may count against
  /// the column.
  private mutating func judgeVersion(
    _ entry: MirrorEntry, _ mirror: Mirror, _ transaction: EngineTransaction
  ) throws {
    guard let version = entry.base.version else { return }
    let others = try mirror.earlierBases(entry, at: transaction.now).filter {
      $0.version != nil && $0.values != entry.base.values
    }
    guard !others.isEmpty else { return }
    if others.contains(where: { $0.version != version }) {
      versionsMoved += 1
    } else {
      let row = try transaction.row(table, entry.base.key)
      let isAtRest = row.pending.isEmpty && row.server?.isStale == false && row.server?.version == version
      if isAtRest { versionsStuck += 1 }
    }
  }
}
