import Daemon
import LosslessJSON

/// The command `tidemark doctor`.
struct DoctorCommand: Command {
  static let description = CommandDescription(
    name: "doctor", summary: "Look at everything that the workspace needs, and say what is wrong.",
    discussion: """
      Settings, watcher, watch limits, database, files against what is known of them, server, clock, session, tables and
      version columns. What it prints holds no password, token, key or value of a row, so it may be shown to others.
      Exit code 0: nothing is wrong; 1: something does not work; 3: the server cannot be asked now; 4: it needs you.
      """)

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(in context: CommandContext) async throws -> ExitStatus {
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
