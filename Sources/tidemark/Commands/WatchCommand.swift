import Daemon
import LosslessJSON

/// The command `tidemark watch`.
struct WatchCommand: Command {
  static let description = CommandDescription(
    name: "watch", summary: "Keep the workspace in step until it is stopped.",
    discussion: """
      Prints 'watching DIR' once everything of the time before is queued and the folders are watched, then a line an
      event. SIGINT and SIGTERM finish the write in hand and exit 0. With --json each line is a JSON document.
      """)

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(in context: CommandContext) async throws -> ExitStatus {
    let folder = try context.workspaceFolder()
    let terminal = context.terminal
    let world = World(context.environment)
    let workspace = try OpenWorkspace(folder, environment: world.environment)
    let autocommit = Autocommit(folder, workspace.settings, environment: context.environment)
    let run = try WatchRun(
      workspace, commit: { autocommit.run() }, log: { line in Self.print(event: line, terminal) })
    try await run.run(stop: StopSignal.received()) {
      if terminal.isJSON {
        terminal.print(JSONValue.object(["watching": .string(folder.path)]).serialized())
      } else {
        terminal.print("watching \(Terminal.safe(folder.path))")
      }
    }
    await world.http.shutDown()
    return .success
  }

  private static func print(event line: String, _ terminal: Terminal) {
    if terminal.isJSON {
      terminal.print(JSONValue.object(["event": .string(line)]).serialized())
    } else {
      terminal.print(Terminal.safe(line))
    }
  }
}
