import FileWorkspace
import LosslessJSON

/// The command `tidemark rejected`.
struct RejectedCommand: Command {
  static let description = CommandDescription(
    name: "rejected", summary: "List the writes that the server refused, with its words.",
    discussion: "The number in front is what 'tidemark retry' and 'tidemark dismiss' take.")

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(in context: CommandContext) async throws -> ExitStatus {
    let entries = try context.read { transaction, settings, _ in try RejectedEntry.all(transaction, settings) }
    let terminal = context.terminal
    if terminal.isJSON {
      terminal.print(["rejected": .array(entries.map { .object($0.json) })])
      return .success
    }
    for entry in entries {
      let (mutation, write) = (entry.mutation, entry.mutation.write)
      let place = Terminal.safe(entry.path ?? "\(write.table) \(write.key.text)")
      terminal.print("\(mutation.id)  \(write.operation.word)  \(place)  refused at \(mutation.rejectedAt.text)")
      terminal.print("    \(Terminal.safe(mutation.message))")
      for more in [mutation.serverError?.details, mutation.serverError?.hint].compactMap(\.self) {
        terminal.print("    \(Terminal.safe(more))")
      }
      if let advice = Self.advice(entry) { terminal.print("    \(Terminal.safe(advice))") }
    }
    return .success
  }

  /// Where the person's version lies, and what to do with it.
  private static func advice(_ entry: RejectedEntry) -> String? {
    switch entry.mutation.write.operation {
    case .insert, .upsert: entry.path.map { "yours is in \($0); save it again to try again" }
    case .update: entry.side.map { "yours is in \($0)" }
    case .delete: nil
    }
  }
}
