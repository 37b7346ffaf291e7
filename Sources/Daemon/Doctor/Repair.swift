import FileWorkspace
import OfflineEngine

/// Builds a workspace's state anew from its files and the server's rows.
public enum Repair {
  /// Repairs, and syncs.
  ///
  /// Whatever edits the files hold is queued first, by what is known of them. Then all that is known of files and rows is
  /// forgotten and learned again: files that say what their rows say, queued writes laid over them, are remembered, and
  /// the others are compared as in a folder that is made a workspace. A database that is damaged is set aside.
  ///
  /// - Throws: `DaemonError.locked` while a watcher or another command has the workspace.
  public static func run(_ folder: WorkspaceFolder, environment: EngineEnvironment) async throws -> SyncResult {
    try setDamagedAside(folder, environment)
    let open = try OpenWorkspace(folder, environment: environment)
    var report = try await open.workspace.start()
    report.add(try await open.workspace.scan())
    try await open.workspace.forgetMirror()
    report.events.append(WorkspaceEvent(.note, "", "repair: everything known of files and rows is learned again"))
    open.record(report.events)
    var outcome = try await open.sync()
    outcome.files.events = report.events + outcome.files.events
    return SyncResult(outcome)
  }

  /// A damage that opening alone does not show.
  private static func setDamagedAside(_ folder: WorkspaceFolder, _ environment: EngineEnvironment) throws {
    let lock = try WorkspaceLock(path: folder.lockPath)
    defer { withExtendedLifetime(lock) {} }
    let isSound: Bool
    do {
      let store = try EngineStore(
        path: folder.databasePath, clock: environment.clock, callerMigrations: Workspace.migrations)
      isSound = try Doctor.damages(store).isEmpty
    } catch {
      guard EngineStore.damage(error) != nil else { throw error }
      isSound = false
    }
    guard !isSound, StateRecovery.user(folder) != nil else { return }
    _ = try StateRecovery.setAside(folder, environment.clock)
  }
}
