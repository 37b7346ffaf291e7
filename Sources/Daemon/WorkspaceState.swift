import FileWorkspace
import OfflineEngine

/// What a command reads of a workspace: its state without its lock, whether or not a watcher runs.
///
/// SQLite lets others read while one process writes, so that nobody need be asked.
public enum WorkspaceState {
  /// Reads the state of the workspace's user.
  public static func read<T: Sendable>(
    _ folder: WorkspaceFolder, clock: any EngineClock,
    _ body: (EngineTransaction, WorkspaceSettings, LiveFileSystem) throws -> T
  ) throws -> T {
    let settings = try folder.settings()
    let files = try LiveFileSystem(root: folder.path)
    let store = try EngineStore(path: folder.databasePath, clock: clock, callerMigrations: Workspace.migrations)
    let identity = try WorkspaceIdentity(store, folder, settings)
    return try store.read(user: identity.user) { try body($0, settings, files) }
  }
}
