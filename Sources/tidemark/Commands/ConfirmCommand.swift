import Daemon

/// The command `tidemark confirm`.
struct ConfirmCommand: Command {
  static let description = CommandDescription(
    name: "confirm", summary: "Say that files or rows missing in large numbers are really gone, and sync.",
    discussion: """
      When many files vanish at once, nothing is deleted on the server until you confirm it, or the files come back; and
      when many rows vanish from the server at once, their files stay. Rows and texts that are then removed stand in
      .tidemark/trash.
      """)

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(in context: CommandContext) async throws -> ExitStatus {
    try await SyncCommand.sync(in: context, request: ControlRequest("confirm"))
  }
}
