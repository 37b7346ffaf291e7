import Daemon

/// The command `tidemark offline`.
struct OfflineCommand: Command {
  static let description = CommandDescription(
    name: "offline", summary: "Turn network access off: edits are queued, nothing is sent or fetched.",
    discussion: "The switch stays off until 'tidemark online', also for a watcher that runs or is started later.")

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(in context: CommandContext) async throws -> ExitStatus {
    try await NetworkSwitch.set(isEnabled: false, in: context)
  }
}

/// The command `tidemark online`.
struct OnlineCommand: Command {
  static let description = CommandDescription(
    name: "online", summary: "Turn network access on again; a running watcher syncs at once.")

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(in context: CommandContext) async throws -> ExitStatus {
    try await NetworkSwitch.set(isEnabled: true, in: context)
  }
}

private enum NetworkSwitch {
  static func set(isEnabled: Bool, in context: CommandContext) async throws -> ExitStatus {
    _ = try await context.ask(ControlRequest(isEnabled ? "online" : "offline"))
    if context.terminal.isJSON {
      context.terminal.print(["network": .string(isEnabled ? "unknown" : "disabled")])
    } else {
      context.terminal.print(isEnabled ? "network access is on" : "network access is off until 'tidemark online'")
    }
    return .success
  }
}
