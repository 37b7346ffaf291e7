import FileWorkspace
import LosslessJSON
import OfflineEngine
import SupabaseAPI

/// A workspace opened by one process.
public final class OpenWorkspace: Sendable {
  /// Its place.
  public let folder: WorkspaceFolder
  /// Its settings.
  public let settings: WorkspaceSettings
  /// Its engine.
  public let client: UserEngine
  /// The session of the workspace's user.
  let sessions: SessionKeeper
  /// Its files and mirror.
  public let workspace: Workspace
  let files: any FileSystem
  let environment: EngineEnvironment
  /// What a watcher over it tells of itself.
  let watchState = WatchState()
  let makeWatcher: @Sendable () -> any Watcher
  private let findRepository: @Sendable () -> GitRepository?
  /// Whether git is in the middle of something in the workspace's repository.
  var isGitAtWork: Bool { findRepository()?.work() != nil }
  private let log: @Sendable ([LogEntry]) -> Void
  private let lock: WorkspaceLock?

  enum Note {
    static let user = "user"
    static let server = "server"
    static let network = "network"
    static let live = "live"
    static let lastSyncedAt = "last_synced_at"
    static let lastError = "last_error"
    static let account = "account"
    static let sessionEnded = "session_ended"
  }

  /// Opens a workspace for changing it.
  ///
  /// Needs no network and no valid token.
  ///
  /// - Throws: `DaemonError.locked` when another process has it.
  public convenience init(_ folder: WorkspaceFolder, environment: EngineEnvironment) throws {
    try self.init(OpenWorkspaceParts(folder, environment: environment))
  }

  /// Opens a workspace over its parts.
  public init(_ parts: OpenWorkspaceParts) throws {
    (folder, settings, environment) = (parts.folder, parts.settings, parts.environment)
    (files, makeWatcher, log, lock) = (parts.files, parts.makeWatcher, parts.log, parts.lock)
    findRepository = parts.findRepository
    let identity = try WorkspaceIdentity(parts.store, folder, settings)
    sessions = try Self.sessions(of: identity.user, parts.session, settings, environment)
    let settler = ConflictSettler(
      settings: settings, store: parts.store, user: identity.user, files: files, clock: environment.clock)
    client = try Self.client(parts.store, identity.user, sessions, settings, environment, settler.resolver)
    SchemaFiles.refresh(settings, in: files)
    var workspaceParts = WorkspaceParts(
      settings: settings, client: client, files: files, environment: environment, settler: settler,
      findRepository: parts.findRepository, openingEvents: parts.openingEvents)
    workspaceParts.inspectPhoto = parts.inspectPhoto
    if let count = parts.rowBatchCount { workspaceParts.rowBatchCount = count }
    workspace = Workspace(workspaceParts)
    if identity.isNetworkDisabled { client.disableNetwork() }
  }

  static func sessions(
    of user: String, _ storage: any SessionStorage, _ settings: WorkspaceSettings, _ environment: EngineEnvironment
  ) throws -> SessionKeeper {
    SessionKeeper(
      user: user, auth: AuthClient(project: try settings.server.project, http: environment.http), storage: storage,
      clock: environment.clock)
  }

  static func client(
    _ store: EngineStore, _ user: String, _ tokens: any TokenSource, _ settings: WorkspaceSettings,
    _ environment: EngineEnvironment, _ resolver: @escaping ConflictResolver
  ) throws -> UserEngine {
    UserEngine(
      store: store, user: user,
      configuration: EngineConfiguration(
        project: try settings.server.project, tables: Workspace.tables(settings),
        resolver: resolver),
      sessions: tokens, environment: environment)
  }

  // MARK: The network switch

  /// Turns network access on or off; the switch outlives the process.
  func setNetwork(isEnabled: Bool) throws {
    try client.transaction { try $0.setNote(Note.network, isEnabled ? nil : NetworkStatus.disabled.rawValue) }
    if isEnabled { client.enableNetwork() } else { client.disableNetwork() }
  }

  // MARK: Memory

  /// Keeps what happened in the workspace's log.
  func record(_ events: [WorkspaceEvent]) {
    guard !events.isEmpty else { return }
    let now = environment.clock.now().text
    log(events.map { LogEntry($0, at: now) })
  }

  /// Keeps what `status` shows when no process runs.
  func remember(_ status: EngineStatus) throws {
    try client.transaction { transaction in
      let synced = status.lastSyncedAt.map { String($0.nanoseconds) }
      if let synced, try transaction.note(Note.lastSyncedAt) != synced {
        try transaction.setNote(Note.lastSyncedAt, synced)
      }
      let error = status.lastSyncError.map { "\($0)" }
      if try transaction.note(Note.lastError) != error { try transaction.setNote(Note.lastError, error) }
      // A process that has not come through to the server has learned nothing of the session.
      guard status.lastSyncError != nil || status.lastSyncedAt != nil else { return }
      let hasEnded = if case .session(.ended)? = status.lastSyncError { "yes" } else { String?.none }
      if try transaction.note(Note.sessionEnded) != hasEnded { try transaction.setNote(Note.sessionEnded, hasEnded) }
    }
  }
}

extension OpenWorkspace {
  /// Makes a fresh state belong to a user and a server.
  public static func claim(_ store: EngineStore, for user: User, _ settings: WorkspaceSettings) throws {
    try store.transaction(user: user.id) { transaction in
      try transaction.setNote(Note.user, user.id)
      try transaction.setNote(Note.server, settings.server.url)
      try transaction.setNote(Note.account, WorkspaceAccount.note(user))
      try transaction.adoptFiles(before: transaction.now)
    }
  }
}

/// To whom and to which server a workspace belongs.
struct WorkspaceIdentity {
  var user: String
  var isNetworkDisabled: Bool

  init(_ store: EngineStore, _ folder: WorkspaceFolder, _ settings: WorkspaceSettings) throws {
    let notes = try store.read(user: "") { transaction in
      (
        user: try transaction.note(OpenWorkspace.Note.user), server: try transaction.note(OpenWorkspace.Note.server),
        network: try transaction.note(OpenWorkspace.Note.network)
      )
    }
    guard let user = notes.user, let server = notes.server else {
      throw StateRecovery.user(folder) == nil
        ? DaemonError.noUser(folder: folder.path) : DaemonError.stateLost(folder: folder.path)
    }
    guard server == settings.server.url else {
      throw DaemonError.settings(
        "tidemark.json names the server \(settings.server.url), but this workspace belongs to \(server). Put the old URL "
          + "back, or make a new workspace for the other server: its rows are not these rows")
    }
    self.user = user
    isNetworkDisabled = notes.network == NetworkStatus.disabled.rawValue
  }
}
