import SupabaseAPI

/// The command `tidemark version`.
struct VersionCommand: Command {
  static let description = CommandDescription(name: "version", summary: "Print the version.")

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(in context: CommandContext) async throws -> ExitStatus {
    if context.terminal.isJSON {
      context.terminal.print(["version": .string(ClientIdentity.version)])
    } else {
      context.terminal.print("tidemark \(ClientIdentity.version)")
    }
    return .success
  }
}
