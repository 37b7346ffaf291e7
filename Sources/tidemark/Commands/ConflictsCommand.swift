import FileWorkspace
import LosslessJSON

/// The command `tidemark conflicts`.
struct ConflictsCommand: Command {
  static let description = CommandDescription(
    name: "conflicts", summary: "List the conflicts column by column: what you saw, what you set, what the server has.",
    discussion: "Settle one with 'tidemark resolve PATH --mine' or '--theirs', or by moving or deleting its side file.")

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(in context: CommandContext) async throws -> ExitStatus {
    let entries = try context.read { transaction, settings, _ in try ConflictEntry.all(transaction, settings) }
    if context.terminal.isJSON {
      context.terminal.print(["conflicts": .array(entries.map { .object($0.json) })])
      return .success
    }
    for entry in entries {
      for line in Self.lines(entry) { context.terminal.print(line) }
    }
    return .success
  }

  private static func lines(_ entry: ConflictEntry) -> [String] {
    let write = entry.mutation.write
    let place = Terminal.safe(entry.path ?? "\(write.table) \(write.key.text)")
    var lines = ["\(entry.mutation.id)  \(write.operation.word)  \(place)  met at \(entry.mutation.conflictedAt.text)"]
    lines.append("    \(Terminal.safe(entry.mutation.message))")
    if let side = entry.side { lines.append("    yours is in \(Terminal.safe(side))") }
    let isGone = entry.mutation.server == nil
    let rows = entry.columns.map { column in
      [
        column.isDisputed ? "*" : "", column.name, shown(column.base, "unknown"),
        shown(column.mine, write.operation == .delete ? "deleted" : "unset"),
        shown(column.theirs, isGone ? "gone" : "unset"),
      ]
    }
    return lines + TextTable.lines([["", "column", "base", "mine", "theirs"]] + rows, indent: "    ")
  }

  /// A value as a cell; a long one is cut.
  private static func shown(_ value: JSONValue?, _ absent: String) -> String {
    guard let text = value?.serialized() else { return "(\(absent))" }
    return text.count > 40 ? text.prefix(39) + "…" : text
  }
}
