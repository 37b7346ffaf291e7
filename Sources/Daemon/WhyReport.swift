import FileWorkspace
import LosslessJSON
import OfflineEngine

/// What `tidemark why` says of one path.
///
/// Read from the disk alone, beside a running watcher as without one, so that both say the same.
public struct WhyReport: Sendable {
  /// What the workspace knows.
  public var answer: FileAnswer
  /// The last thing in the log that was done to the file or by its person.
  public var lastEvent: LogEntry?
  /// The server's last answer to a change of the file.
  public var lastAnswer: LogEntry?

  /// Looks at a path, relative to the workspace.
  public static func read(_ folder: WorkspaceFolder, about path: String, clock: any EngineClock) throws -> WhyReport {
    let settings = try folder.settings()
    let files = try LiveFileSystem(root: folder.path)
    let store = try EngineStore(path: folder.databasePath, clock: clock, callerMigrations: Workspace.migrations)
    let identity = try WorkspaceIdentity(store, folder, settings)
    let (found, account, lastError) = try store.read(user: identity.user) { transaction in
      (
        try FileAnswer(about: path, transaction, settings, files: files, now: clock.now()),
        try WorkspaceAccount(transaction, folder, settings), try transaction.note(OpenWorkspace.Note.lastError)
      )
    }
    var answer = found
    if answer.entries.contains(where: { $0.list == MutationList.queued.rawValue }) {
      answer.waits.append(
        FileAnswer.Wait(
          sendingWait(account, isNetworkDisabled: identity.isNetworkDisabled, lastError: lastError)))
    }
    let log = EventLog(folder).entries().filter { $0.isAbout(path) }
    return WhyReport(
      answer: answer, lastEvent: log.last { !$0.isAnswer }, lastAnswer: log.last { $0.isAnswer })
  }

  /// What keeps queued writes from being sent.
  static func sendingWait(_ account: WorkspaceAccount, isNetworkDisabled: Bool, lastError: String?) -> String {
    if isNetworkDisabled { return "queued writes are sent after 'tidemark online': network access is off" }
    if !account.isSignedIn { return "queued writes are sent after 'tidemark login': nobody is signed in" }
    if let lastError { return "queued writes are sent when the server can be asked again; last time: \(lastError)" }
    return "queued writes are sent at the next pass"
  }

  /// The report as `tidemark why --json` prints it.
  public var json: JSONObject {
    var json = answer.json
    json["lastEvent"] = lastEvent?.json ?? .null
    json["lastAnswer"] = lastAnswer?.json ?? .null
    return json
  }
}
