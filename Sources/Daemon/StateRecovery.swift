import FileWorkspace
import Glibc
import OfflineEngine
import SupabaseAPI

/// Opens a workspace's state, and makes it anew where it is lost: gone, cut off, or overwritten with something else.
///
/// Nothing that a person typed is only in there but writes that were not sent, whose values their files still show. So a
/// new state is made for the session's user, and the files are adopted again: equal ones are remembered, and where they
/// differ from their rows both versions are kept.
enum StateRecovery {
  /// A state that can be worked with.
  struct Opened {
    var store: EngineStore
    /// What the person should know.
    var events: [WorkspaceEvent]
  }

  /// Opens the state of a workspace whose lock this process holds.
  static func open(
    _ folder: WorkspaceFolder, _ settings: WorkspaceSettings, _ clock: any EngineClock
  ) throws -> Opened {
    let isThere = access(folder.databasePath, F_OK) == 0
    do {
      let store = try store(folder, clock)
      if try hasUser(store) { return Opened(store: store, events: []) }
      // A set-up that did not finish leaves no session either; then there is nobody to go on for.
      guard let user = user(folder) else { return Opened(store: store, events: []) }
      try OpenWorkspace.claim(store, for: user, settings)
      return Opened(store: store, events: [told(isThere ? "it was empty" : "it was missing")])
    } catch {
      guard let reason = EngineStore.damage(error), let user = user(folder) else { throw error }
      let aside = try setAside(folder, clock)
      let store = try store(folder, clock)
      try OpenWorkspace.claim(store, for: user, settings)
      return Opened(store: store, events: [told("it was damaged (\(reason)) and lies in \(aside) now")])
    }
  }

  /// The user of the stored session; `nil` where there is none, or its file cannot be read.
  static func user(_ folder: WorkspaceFolder) -> User? { (try? folder.session.load())?.user }

  /// Moves the files of the state away.
  ///
  /// - Returns: Where they are, relative to the workspace.
  static func setAside(_ folder: WorkspaceFolder, _ clock: any EngineClock) throws(DaemonError) -> String {
    let name = "lost-\(clock.now().text.filter { $0 != ":" })"
    let target = "\(folder.statePath)/\(name)"
    if mkdir(target, 0o700) != 0, errno != EEXIST {
      throw .file(path: target, reason: "cannot make this folder: \(String(cString: strerror(errno)))")
    }
    for suffix in ["", "-wal", "-shm"] {
      let path = folder.databasePath + suffix
      guard rename(path, "\(target)/state.sqlite\(suffix)") == 0 || errno == ENOENT else {
        throw .file(path: path, reason: "cannot be moved aside: \(String(cString: strerror(errno)))")
      }
    }
    return "\(StateFolder.root)/\(name)"
  }

  private static func store(_ folder: WorkspaceFolder, _ clock: any EngineClock) throws -> EngineStore {
    try EngineStore(path: folder.databasePath, clock: clock, callerMigrations: Workspace.migrations)
  }

  private static func hasUser(_ store: EngineStore) throws -> Bool {
    try store.read(user: "") { try $0.note(OpenWorkspace.Note.user) != nil }
  }

  private static func told(_ what: String) -> WorkspaceEvent {
    WorkspaceEvent(
      .note, "",
      "the state of this workspace was lost: \(what). It is built anew from the files and the server's rows; changes that "
        + "waited to be sent are only in the files, and are compared with the rows again")
  }
}
