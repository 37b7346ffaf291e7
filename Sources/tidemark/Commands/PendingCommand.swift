import FileWorkspace
import LosslessJSON

/// The command `tidemark pending`.
struct PendingCommand: Command {
  static let description = CommandDescription(
    name: "pending", summary: "List the writes that wait to be sent, in their order.",
    discussion: "The number in front is what 'tidemark discard' takes.")

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(in context: CommandContext) async throws -> ExitStatus {
    let entries = try context.read { transaction, settings, _ in try PendingEntry.all(transaction, settings) }
    if context.terminal.isJSON {
      context.terminal.print(["pending": .array(entries.map { .object($0.json) })])
      return .success
    }
    let rows = entries.map { entry in
      let (write, sends) = (entry.mutation.write, entry.mutation.sendCount)
      return [
        String(entry.mutation.id), write.operation.word, entry.path ?? "\(write.table) \(write.key.text)",
        write.operation == .delete ? "" : write.values.names.joined(separator: ", "),
        sends > 0 ? "(sent \(sends) times, no answer)" : "",
      ]
    }
    context.terminal.print(lines: TextTable.lines(rows))
    return .success
  }
}
