import FileWorkspace
import LosslessJSON
import OfflineEngine

/// The command `tidemark conflicts [PATH]`.
struct ConflictsCommand: Command {
  static let description = CommandDescription(
    name: "conflicts", parameters: "[PATH|ID]",
    summary: "Show conflicts column by column: what you saw, what you set, what the server has.",
    discussion: """
      PATH is a file or its side file, ID the number in front; without one all conflicts are shown. Long values are shown
      with what each side removed from the base and added to it: in colour, or as [-removed-] and {+added+}.
      Settle one with 'tidemark resolve PATH --mine', '--theirs', '--merged FILE' or '--edit', or by moving or deleting its
      side file. What --json prints is described in Documentation/Conflicts.md.
      """, positionalMax: 1)

  private let word: String?

  init(_ arguments: Arguments) throws(UsageError) { word = arguments.positional.first }

  func run(in context: CommandContext) async throws -> ExitStatus {
    var entries = try context.read { transaction, settings, files in
      try ConflictEntry.all(transaction, settings, files)
    }
    if let word {
      let target = try context.entryTarget(word)
      entries = entries.filter { target.means($0.mutation.id, [$0.path, $0.side]) }
      if entries.isEmpty {
        throw CommandFailure(message: Terminal.safe("\(WorkspaceRequestError.noSuchConflict(target))"))
      }
    }
    if context.terminal.isJSON {
      context.terminal.print(["conflicts": .array(entries.map { .object($0.json) })])
      return .success
    }
    let view = ConflictView(width: context.terminal.width, isColored: context.terminal.isColored)
    for (index, entry) in entries.enumerated() {
      if index > 0 { context.terminal.print("") }
      context.terminal.print(lines: view.lines(of: entry))
    }
    return .success
  }
}
