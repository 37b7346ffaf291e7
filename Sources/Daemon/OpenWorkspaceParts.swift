import FileWorkspace
import OfflineEngine

/// What an open workspace is made of: this machine's disk and kernel, or the ones of a simulated world.
public struct OpenWorkspaceParts: Sendable {
  /// Its place.
  public var folder: WorkspaceFolder
  /// Its settings.
  public var settings: WorkspaceSettings
  /// Its state, opened with `Workspace.migrations`.
  public var store: EngineStore
  /// Where the session of its user is kept.
  public var session: any SessionStorage
  /// Its files.
  public var files: any FileSystem
  /// Time, network and identifiers.
  public var environment: EngineEnvironment
  /// Keeps what happened.
  public var log: @Sendable ([LogEntry]) -> Void
  /// Looks at photos.
  public var inspectPhoto: PhotoInspector = PhotoFacts.inspect
  /// Makes what tells a watching run where to look.
  public var makeWatcher: @Sendable () -> any Watcher
  /// Finds the git repository that the workspace lies in.
  public var findRepository: @Sendable () -> GitRepository?
  /// How many files of rows from the server one transaction takes; the usual number where `nil`.
  public var rowBatchCount: Int?
  /// What keeps other processes out, held as long as the workspace is open.
  var lock: WorkspaceLock?
  /// What happened while it was opened.
  var openingEvents: [WorkspaceEvent] = []

  /// Parts of the caller's choice; nothing keeps another process out.
  public init(
    folder: WorkspaceFolder, settings: WorkspaceSettings, store: EngineStore, session: any SessionStorage,
    files: any FileSystem, environment: EngineEnvironment, log: @escaping @Sendable ([LogEntry]) -> Void,
    makeWatcher: @escaping @Sendable () -> any Watcher, findRepository: @escaping @Sendable () -> GitRepository?
  ) {
    self.folder = folder
    self.settings = settings
    self.store = store
    self.session = session
    self.files = files
    self.environment = environment
    self.log = log
    self.makeWatcher = makeWatcher
    self.findRepository = findRepository
  }

  /// The workspace in a folder of this machine.
  ///
  /// - Throws: `DaemonError.locked` when another process has it.
  init(_ folder: WorkspaceFolder, environment: EngineEnvironment) throws {
    let settings = try folder.settings()
    let lock = try WorkspaceLock(path: folder.lockPath)
    let recovery = try StateRecovery.open(folder, settings, environment.clock)
    let log = EventLog(folder)
    let files = try LiveFileSystem(root: folder.path)
    self.init(
      folder: folder, settings: settings, store: recovery.store, session: folder.session, files: files,
      environment: environment, log: { log.append($0) }, makeWatcher: { InotifyWatcher(files: files) },
      findRepository: { GitRepository.find(above: folder.path) { try? LiveFileSystem(root: $0) } })
    self.lock = lock
    openingEvents = recovery.events
  }
}
