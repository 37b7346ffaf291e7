import Daemon
import LosslessJSON

/// The command `tidemark live [on|off]`.
struct LiveCommand: Command {
  static let description = CommandDescription(
    name: "live", parameters: "[on|off]", summary: "Have the server tell changes as they are made, or not.",
    discussion: """
      Without a word it says whether a running watcher is told of changes. The switch stays as it is set, also for a
      watcher that is started later, and goes before "live" in tidemark.json.
      """, positionalMax: 1)

  private let wanted: LiveSwitch?

  init(_ arguments: Arguments) throws(UsageError) {
    guard let word = arguments.positional.first else {
      wanted = nil
      return
    }
    guard let known = LiveSwitch(rawValue: word) else {
      throw UsageError(message: "'\(Terminal.safe(word))' is neither on nor off")
    }
    wanted = known
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    if let wanted {
      _ = try await context.ask(ControlRequest("live", ["on": .bool(wanted == .on)]))
      if context.terminal.isJSON {
        context.terminal.print(["wanted": .bool(wanted == .on)])
      } else {
        context.terminal.print("live changes are \(wanted.rawValue)")
      }
      return .success
    }
    let report = try StatusCommand.report(of: try context.workspaceFolder())
    if context.terminal.isJSON {
      context.terminal.print([
        "live": .string(report.live), "liveReason": report.liveReason.map(JSONValue.string) ?? .null,
      ])
    } else {
      context.terminal.print(report.isWatching ? StatusCommand.live(report) : "no watcher runs")
    }
    return .success
  }
}
