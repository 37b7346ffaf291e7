import LosslessJSON
import OfflineEngine
import SQLite

/// What a workspace is made of.
public struct WorkspaceParts: Sendable {
  /// The settings.
  public var settings: WorkspaceSettings
  /// The engine, over a store that was opened with `Workspace.migrations`.
  public var client: UserEngine
  /// The workspace's files.
  public var files: any FileSystem
  /// Time, network and identifiers.
  public var environment: EngineEnvironment
  /// Looks at photos.
  public var inspectPhoto: PhotoInspector = PhotoFacts.inspect
  /// What settles the engine's conflicts as the settings say, where they say anything.
  public var settler: ConflictSettler?
  /// Finds the git repository that the workspace lies in, at its folder or above.
  public var findRepository: @Sendable () -> GitRepository?
  /// What happened while the workspace was opened; the first report tells it.
  public var openingEvents: [WorkspaceEvent]
  /// How many files of rows that came from the server one transaction takes: nobody waits for their being queued, and
  /// every batch costs a flush of the file system and writes most pages of the state anew.
  public var rowBatchCount = 1_024

  /// The parts of one workspace.
  public init(
    settings: WorkspaceSettings, client: UserEngine, files: any FileSystem, environment: EngineEnvironment,
    settler: ConflictSettler? = nil, findRepository: (@Sendable () -> GitRepository?)? = nil,
    openingEvents: [WorkspaceEvent] = []
  ) {
    self.openingEvents = openingEvents
    self.settings = settings
    self.client = client
    self.files = files
    self.environment = environment
    self.settler = settler
    self.findRepository = findRepository ?? { GitRepository(inside: files) }
  }
}

/// A folder of files kept in step with the engine's rows.
///
/// State-based: events only say where to look, and a scan of everything gives the same result. The actor's work on files
/// is synchronous; the network never runs within it, so that a save is queued at once however slow the server is.
public actor Workspace {
  let settings: WorkspaceSettings
  let collections: [Collection]
  let client: UserEngine
  let files: any FileSystem
  let environment: EngineEnvironment
  let settler: ConflictSettler?
  let rowBatchCount: Int
  let journal: MirrorJournal
  let writeBack: WriteBack
  let replaced: ReplacedFiles
  let trash: Trash
  let scanner: Scanner
  let currentSync = CurrentSync()
  let inspectPhoto: PhotoInspector
  /// How far the transfer of a photo has come.
  let photoProgress = PhotoProgress()
  /// What the buckets of photos take.
  let knownBuckets = KnownBuckets()

  /// Collections whose photos are all to be listed again.
  var photosToScan: Set<String> = []
  /// What is to be looked at again in each collection's folder of photos, by the collection's folder.
  var photosToLook: [String: Set<String>] = [:]

  /// By what each collection's folder is known again within this run.
  var folderIdentities: [String: FolderIdentity] = [:]
  /// By what each collection's folder was known in the run before, which knew another number of the mount.
  var formerFolders: [String: FileIdentity] = [:]
  /// Why a collection's listing cannot be trusted now, by folder.
  var unscannable: [String: ScanError] = [:]
  /// Names in each folder that a new file may not take, by folder, folded as `FileNames` folds them.
  var takenNames: [String: TakenNames] = [:]
  /// Paths to be looked at again, since something stood in the way.
  var lookAgain: Set<PathKey> = []
  /// When that is, and how long the wait has grown.
  var again = Retry()
  /// When each collection's folder was last listed completely, by folder.
  var listedAt: [String: WallTime] = [:]
  /// When files that left their paths were last looked over.
  var sweptAt = WallTime(nanoseconds: 0)
  /// Whether a write-back's end could not be told, so that it must be found out.
  var hasUnsettled = false
  /// Files whose rewriting waits for an editor, with the marker that says so.
  var waitingForEditor: [PathKey: String] = [:]
  /// Texts put in place by a command that has seen the newest: none is taken for an old buffer's.
  var deliberateTexts: [PathKey: ContentHash] = [:]
  /// The rows for which files are being made, by path.
  var newFileKeys: [PathKey: RowKey] = [:]
  /// The rows that are changed back and forth.
  var changeBacks = ChangeBacks()
  /// The rows of files that were new a moment ago.
  var recentRows = RecentRows()
  /// The git repository that the workspace lies in, once one was found.
  var repository: GitRepository?
  let findRepository: @Sendable () -> GitRepository?
  /// What stands in the notes beside files with problems, by the files' paths; empty where only a listing showed it.
  var problemNotes: [PathKey: String] = [:]
  /// When texts that the trash has kept long enough are looked for next.
  var nextTrashSweep: WallTime?
  /// What the clock showed when last looked at.
  var clockShowed: (wall: WallTime, elapsed: Duration)?
  /// What git was doing when last looked at.
  var gitWork: GitWork?
  /// When it was first seen at it, and what was told of that.
  var gitWait: (since: WallTime, told: WorkspaceEvent.Kind?)?
  /// Where HEAD stood when last looked at.
  var head: String?
  /// When HEAD was last found elsewhere.
  var headMovedAt: WallTime?
  /// How long the record of HEAD's moves was when last looked at.
  var recordLength: Int64?
  /// When git was last found to have changed files, as by a checkout or a stash: what is missing then may be its doing.
  var gitChangedFilesAt: WallTime?
  /// How many edits and new files of a folder were queued when; no longer than an accident may take.
  var recentWrites: [String: [(at: WallTime, count: Int)]] = [:]
  /// Edits that would blank columns and wait for what comes with them, by path.
  var waitingBlanks: [PathKey: BlankingEdit] = [:]
  /// Those of them that wait for a person.
  var heldBlanks: [PathKey: BlankingEdit] = [:]
  /// Files whose edits may blank columns; `nil` for all.
  var mayBlank: Set<PathKey>? = []
  /// Whether everything is to be looked at, since something was held back.
  var needsScan = false
  /// Adoptions that are not over, by folder.
  var adoptions: [String: Adoption] = [:]
  /// What becomes of files that differ from rows while nothing is known of them.
  var adoptsAs = AdoptionChoice.each
  /// What is to be told of the time before `start`.
  private var openingEvents: [WorkspaceEvent]

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
    inspectPhoto = parts.inspectPhoto
    settler = parts.settler
    rowBatchCount = parts.rowBatchCount
    findRepository = parts.findRepository
    openingEvents = parts.openingEvents
    let clock = parts.environment.clock
    let milliseconds: @Sendable () -> Int64 = { clock.now().nanoseconds / 1_000_000 }
    journal = MirrorJournal(
      client: parts.client,
      collections: Dictionary(uniqueKeysWithValues: collections.map { ($0.folder, $0) }), sync: currentSync)
    writeBack = WriteBack(files: parts.files, journal: journal, now: milliseconds)
    replaced = ReplacedFiles(files: parts.files, journal: journal, now: milliseconds)
    trash = Trash(files: parts.files, now: milliseconds)
    scanner = Scanner(files: parts.files, isRow: FileNames.isRowFile)
  }

  /// The engine's descriptions of the tables in the settings.
  public static func tables(_ settings: WorkspaceSettings) -> [TableDescription] {
    let collections = settings.collections.map(Collection.init)
    return collections.map(\.description) + collections.compactMap { PhotoTable($0)?.description }
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
    report.events = openingEvents
    openingEvents = []
    try watchClock()
    try StateFolder.create(in: files)
    for collection in collections {
      // A collection's folder is made once, at the start of its life: later its absence means trouble.
      if try client.read({ try !$0.hasBeenSwept(collection.table) && Mirror($0).count(collection.folder) == 0 }) {
        try files.createFolder(collection.folder, isPrivate: false)
      }
      if let photos = PhotoTable(collection)?.settings.folder,
        try client.read({ try !PhotoRecords($0).hasAny(collection.folder) })
      {
        try files.createFolder(photos, isPrivate: false)
      }
    }
    for settled in writeBack.settle(try journal.pendingIntents()) { count(settled.outcome, settled.intent, &report) }
    for entry in try replaced.rescueStrays(folders: collections.map(\.folder), isKnown: standsInRow) {
      report.note(.note, entry.origin ?? entry.path, "a text of an interrupted run was kept in the trash")
    }
    for entry in try clearPhotoTransfers() {
      report.note(.note, entry.path, "a photo of an interrupted run was kept in the trash")
    }
    try beginAdoptions()
    try client.read { transaction in
      head = try transaction.note(Self.headNote)
      recordLength = try transaction.note(Self.recordNote).flatMap { Int64($0) }
      for collection in collections {
        formerFolders[collection.folder] = try transaction.note(Self.folderNote(collection)).flatMap(FileIdentity.init)
      }
      heldBlanks = try HeldEdits(transaction).all()
    }
    return report
  }

  /// Lets a new sync begin: what is written from now on is undone together.
  ///
  /// To be called before `start` where a sync follows, and before the rows of each pull are written.
  public func beginSync() { currentSync.begin() }

  /// Looks at every file of every collection, and at those that have left their paths.
  ///
  /// - Parameter deleteAfter: How long a file must be gone before its row is deleted; the settings' time by default.
  public func scan(deleteAfter: Duration? = nil) throws -> WorkspaceReport {
    var report = WorkspaceReport()
    for collection in collections {
      try scan(collection, deleteAfter: deleteAfter, &report)
      try scanPhotos(of: collection, deleteAfter: deleteAfter, &report)
    }
    try takeLateTexts(&report)
    return report
  }

  static let headNote = "git_head"
  static let recordNote = "git_record_length"

  static func folderNote(_ collection: Collection) -> String { "folder \(collection.folder)" }

  /// Looks at the given paths; other than rows' and side files they are ignored.
  public func look(at paths: [String]) throws -> WorkspaceReport {
    var report = WorkspaceReport()
    var listings: Set<String> = []
    var byFolder: [String: [String]] = [:]
    var replacedPaths: [String] = []
    for path in paths {
      guard let collection = collection(of: path) else {
        if let photos = photoTables.first(where: { $0.settings.holds(path) }),
          let name = photos.settings.entry(of: path)
        {
          photosToLook[photos.collection.folder, default: []].insert(name)
        }
        if WorkspacePath.folder(of: path) == StateFolder.replaced { replacedPaths.append(path) }
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
      // A row's file says whose the photos of a folder are.
      if let photos = PhotoTable(collection)?.settings {
        for path in byFolder[collection.folder] ?? [] {
          let folder = photos.path(forFileNamed: WorkspacePath.name(of: path))
          photosToLook[collection.folder, default: []].insert(WorkspacePath.name(of: folder))
        }
      }
      if photosToScan.contains(collection.folder) {
        try scanPhotos(of: collection, &report)
      } else {
        try lookAtPhotos(of: collection, &report)
      }
    }
    if !replacedPaths.isEmpty { try takeLateTexts(at: replacedPaths, &report) }
    return report
  }

  /// Writes what changed in the engine's rows into the files.
  public func writeRows() throws -> WorkspaceReport {
    var report = WorkspaceReport()
    report.events += settler?.takeEvents() ?? []
    for collection in collections {
      try writeRows(of: collection, &report)
      try takePhotoRows(of: collection, &report)
      try lookAgainAtHeldPhotos(of: collection)
    }
    return report
  }
}
