import Daemon
import FileWorkspace
import LosslessJSON
import OfflineEngine

/// How commands reach their workspace.
extension CommandContext {
  /// The workspace that the command is about.
  func workspaceFolder() throws -> WorkspaceFolder { try WorkspaceFolder.find(from: folder ?? ".") }

  /// Has a request done by the running watcher or by this process.
  func ask(_ request: ControlRequest) async throws -> JSONValue {
    do {
      return try await WorkspaceDoor.ask(
        request, of: try workspaceFolder(), environment: World(environment).environment)
    } catch let error as WorkspaceRequestError {
      throw CommandFailure(message: Terminal.safe("\(error)"))
    } catch DaemonError.refused(let sentence) {
      throw CommandFailure(message: Terminal.safe(sentence))
    }
  }

  /// Has one row changed, and says so.
  func change(_ command: ChangeCommand, _ arguments: JSONObject) async throws -> ExitStatus {
    let result = ChangeResult(json: try await ask(ControlRequest(command.rawValue, arguments)))
    if terminal.isJSON { terminal.print(result.json) } else { terminal.print(Terminal.safe(result.message)) }
    return .success
  }

  /// Reads the state, whether or not a watcher runs.
  func read<T: Sendable>(
    _ body: (EngineTransaction, WorkspaceSettings, LiveFileSystem) throws -> T
  ) throws -> T {
    try WorkspaceState.read(try workspaceFolder(), clock: LiveClock(), body)
  }

  /// The path in the workspace that a word means; the word itself where it means none.
  func path(_ word: String) throws -> String {
    let workspace = try workspaceFolder()
    do { return try path(word, in: workspace) } catch is CommandFailure { return word }
  }

  /// What a word means: the number of an entry, or a path.
  func entryTarget(_ word: String) throws -> WorkspaceTarget {
    if let id = Int64(word), id >= 0 { return .entry(id) }
    return .path(try path(word))
  }
}

extension Arguments {
  /// The one word that a command needs.
  func word(_ name: String) throws(UsageError) -> String {
    guard let word = positional.first, !word.isEmpty else { throw UsageError(message: "\(name) is missing") }
    return word
  }
}
