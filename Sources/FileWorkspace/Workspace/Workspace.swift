import LosslessJSON
import OfflineEngine
import SQLite

/// What a workspace is made of.
public struct WorkspaceParts: Sendable {
  /// The settings.
  public var settings: WorkspaceSettings
  /// The engine, over a store that was opened with `Workspace.migrations`.
  public var client: OfflineClient
  /// The workspace's files.
  public var files: any FileSystem
  /// Time, network and identifiers.
  public var environment: EngineEnvironment

  /// The parts of one workspace.
  public init(
    settings: WorkspaceSettings, client: OfflineClient, files: any FileSystem, environment: EngineEnvironment
  ) {
    self.settings = settings
    self.client = client
    self.files = files
    self.environment = environment
  }
}

/// A folder of files kept in step with the engine's rows.
///
/// State-based: events only say where to look, and a scan of everything gives the same result. The actor's work on files
/// is synchronous; the network never runs within it, so that a save is queued at once however slow the server is.
public actor Workspace {
  let settings: WorkspaceSettings
  let collections: [Collection]
  let client: OfflineClient
  let files: any FileSystem
  let environment: EngineEnvironment
  let journal: MirrorJournal
  let writeBack: WriteBack
  let replaced: ReplacedFiles
  let trash: Trash
  let scanner: Scanner

  /// By what each collection's folder is known again within this run.
  var folderIdentities: [String: FolderIdentity] = [:]
  /// Why a collection's listing cannot be trusted now, by folder.
  var unscannable: [String: ScanError] = [:]
  /// Names in each folder that a new file may not take, by folder, folded as `FileNames` folds them.
  var takenNames: [String: TakenNames] = [:]
  /// Paths to be looked at again after one settle time.
  var lookAgain: Set<PathKey> = []
  /// Files whose rewriting waits for an editor, with the marker that says so.
  var waitingForEditor: [PathKey: String] = [:]
  /// The rows for which files are being made, by path.
  var newFileKeys: [PathKey: RowKey] = [:]
  /// What git was doing when last looked at.
  var gitWork: String?
  /// Whether git has worked since the last complete listing: what is missing then may be its doing.
  var hasGitWorked = false
  /// Whether everything is to be looked at, since something was held back.
  var needsScan = false

  /// The workspace's tables in the engine's file.
  public static let migrations = Migration.workspace

  /// A workspace over its parts.
  ///
  /// Call `start` before anything else.
  public init(_ parts: WorkspaceParts) {
    settings = parts.settings
    collections = parts.settings.collections.map(Collection.init)
    client = parts.client
    files = parts.files
    environment = parts.environment
    let clock = parts.environment.clock
    let milliseconds: @Sendable () -> Int64 = { clock.now().nanoseconds / 1_000_000 }
    journal = MirrorJournal(
      client: parts.client,
      tables: Dictionary(uniqueKeysWithValues: parts.settings.collections.map { ($0.folder, $0.table) }))
    writeBack = WriteBack(files: parts.files, journal: journal, now: milliseconds)
    replaced = ReplacedFiles(files: parts.files, journal: journal, now: milliseconds)
    trash = Trash(files: parts.files, now: milliseconds)
    scanner = Scanner(files: parts.files, isRow: FileNames.isRowFile)
  }

  /// The engine's descriptions of the tables in the settings.
  public static func tables(_ settings: WorkspaceSettings) -> [TableDescription] {
    settings.collections.map { Collection(settings: $0).description }
  }

  var now: WallTime { environment.clock.now() }

  func collection(of path: String) -> Collection? {
    let folder = WorkspacePath.folder(of: path)
    return collections.first { $0.folder == folder }
  }

  // MARK: Entry points

  /// Finishes what an earlier run left half done.
  ///
  /// To be called before any scan.
  public func start() throws -> WorkspaceReport {
    var report = WorkspaceReport()
    try StateFolder.create(in: files)
    for collection in collections {
      // A collection's folder is made once, at the start of its life: later its absence means trouble.
      if try client.read({ try !$0.hasBeenSwept(collection.table) && Mirror($0).count(collection.folder) == 0 }) {
        try files.createFolder(collection.folder, isPrivate: false)
      }
    }
    for settled in writeBack.settle(try journal.pendingIntents()) { count(settled.outcome, settled.intent, &report) }
    for entry in try replaced.rescueStrays(folders: collections.map(\.folder)) {
      report.note(.note, entry.origin ?? entry.path, "a text of an interrupted run was kept in the trash")
    }
    return report
  }

  /// Looks at every file of every collection.
  ///
  /// - Parameter deleteAfter: How long a file must be gone before its row is deleted; the settings' time by default.
  public func scan(deleteAfter: Duration? = nil) throws -> WorkspaceReport {
    var report = WorkspaceReport()
    for collection in collections { try scan(collection, deleteAfter: deleteAfter, &report) }
    return report
  }

  /// Looks at the given paths; other than rows' and side files they are ignored.
  public func look(at paths: [String]) throws -> WorkspaceReport {
    var report = WorkspaceReport()
    var listings: Set<String> = []
    var byFolder: [String: [String]] = [:]
    var hasLateTexts = false
    for path in paths {
      guard let collection = collection(of: path) else {
        hasLateTexts = hasLateTexts || WorkspacePath.folder(of: path) == StateFolder.replaced
        continue
      }
      switch FileNames.kind(of: WorkspacePath.name(of: path)) {
      case .row, .sideFile:
        if try files.status(path) == nil { listings.insert(collection.folder) }
        byFolder[collection.folder, default: []].append(mainPath(of: path))
      default:
        // The end of an editor's marker may let a waiting file be rewritten.
        for waiting in waitingForEditor.keys { byFolder[collection.folder, default: []].append(waiting.text) }
      }
    }
    for collection in collections {
      if let paths = byFolder[collection.folder] {
        try reconcile(Array(Set(paths.map(PathKey.init)).map(\.text)), collection, &report)
      }
      if listings.contains(collection.folder) { try scan(collection, deleteAfter: nil, &report) }
    }
    if hasLateTexts { try takeLateTexts(&report) }
    return report
  }

  /// Writes what changed in the engine's rows into the files.
  public func writeRows() throws -> WorkspaceReport {
    var report = WorkspaceReport()
    for collection in collections { try writeRows(of: collection, &report) }
    return report
  }

  /// Does what is due by now: deletes whose proof is complete, keys to be written, late texts.
  public func tick() throws -> WorkspaceReport {
    var report = WorkspaceReport()
    try watchGit()
    if needsScan, gitWork == nil {
      needsScan = false
      report.add(try scan())
    }
    let again = lookAgain.map(\.text)
    lookAgain = []
    report.add(try look(at: again))
    for collection in collections {
      let due = try client.read { try Mirror($0).absentEntries(collection.folder).contains { !$0.isHeld } }
      let sides = try client.read { try SideFiles($0).all(collection.folder).contains { $0.absentSince != nil } }
      if due || sides { try scan(collection, deleteAfter: nil, &report) }
    }
    try writeDueKeys(&report)
    try takeLateTexts(&report)
    return report
  }

  /// When `tick` has something to do, if ever.
  public func nextTick() throws -> WallTime? {
    var times: [WallTime] = []
    if !lookAgain.isEmpty { times.append(now + settings.settle) }
    try client.read { transaction in
      if let due = try Mirror(transaction).nextKeyDue() { times.append(due) }
      for collection in collections {
        for entry in try Mirror(transaction).absentEntries(collection.folder) where !entry.isHeld {
          if let since = entry.absentSince { times.append(since + max(settings.deleteAfter, Self.absenceProof)) }
        }
        for side in try SideFiles(transaction).all(collection.folder) {
          if let since = side.absentSince { times.append(since + Self.absenceProof) }
        }
      }
    }
    return times.min().map { max($0, now + .milliseconds(20)) }
  }

  /// Whether files are missing whose fate another listing will decide.
  public func hasOpenAbsences() throws -> Bool {
    try client.read { transaction in
      try collections.contains { collection in
        try Mirror(transaction).absentEntries(collection.folder).contains { !$0.isHeld }
          || SideFiles(transaction).all(collection.folder).contains { $0.absentSince != nil }
      }
    }
  }

  /// How long after a file went a complete listing must begin to prove its absence (DESIGN section 8).
  public static let absenceProof = Duration.seconds(2)
  /// How long a new file is left alone before its key is written into it (DESIGN section 4).
  static let keyDelay = Duration.seconds(30)
}
