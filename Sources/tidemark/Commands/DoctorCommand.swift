import Daemon
import LosslessJSON

/// The command `tidemark doctor`.
struct DoctorCommand: Command {
  static let description = CommandDescription(
    name: "doctor", summary: "Look at everything that the workspace needs, and say what is wrong.",
    discussion: """
      Settings, watcher, watch limits, file system, database, files against what is known of them, server, clock, session,
      tables, row-level security and version columns. What it prints holds no password, token, key or value of a row, so it
      may be shown to others.
      --repair builds anew what is known of files and rows, from the files and the server; no watcher may run. Edits are
      queued before, queued writes and conflicts stay; a damaged database is set aside.
      Exit code 0: nothing is wrong; 1: something does not work; 3: the server cannot be asked now; 4: it needs you.
      """,
    options: [.flag("--repair", "Build the state anew from files and server, without losing an edit.")])

  private let isRepair: Bool

  init(_ arguments: Arguments) throws(UsageError) { isRepair = arguments.has("--repair") }

  func run(in context: CommandContext) async throws -> ExitStatus {
    if isRepair {
      let world = World(context.environment)
      let result = try await Repair.run(try context.workspaceFolder(), environment: world.environment)
      return SyncCommand.report(result, context.terminal)
    }
    let world = World(context.environment)
    let checks = await Doctor(try context.workspaceFolder(), environment: world.environment).checks()
    let terminal = context.terminal
    if terminal.isJSON {
      terminal.print(["checks": .array(checks.map(\.json))])
    } else {
      for check in checks {
        let line = Terminal.safe(check.level.rawValue.padding(to: 9) + check.name.padding(to: 18) + check.text)
        terminal.print(check.level == .failure || check.level == .trouble ? terminal.bold(line) : line)
      }
    }
    return .worst(of: checks.map(\.level.exitStatus))
  }
}

extension DoctorCheck.Level {
  /// What the exit code says of it.
  var exitStatus: ExitStatus {
    switch self {
    case .ok, .note: .success
    case .waiting: .waiting
    case .trouble: .needsPerson
    case .failure: .failure
    }
  }
}
