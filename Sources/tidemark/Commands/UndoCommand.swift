import Daemon
import FileWorkspace
import LosslessJSON
import OfflineEngine

/// The command `tidemark undo`.
struct UndoCommand: Command {
  static let description = CommandDescription(
    name: "undo", summary: "Put the files back as they were before the last sync that changed them.",
    discussion: """
      What it puts back is an edit of yours like any other, made over the newest version: the next sync sends it. A file
      that the sync had removed comes back, as a new row when the old one is gone. A file that was changed since is left
      alone; what it said before goes to the trash. 'undo' again goes one sync further back; the last 10 that changed
      files are kept, for 30 days. Under 'watch' a sync is what came with one look at the server.
      Exit code 4: an editor or another trouble keeps a file; close it, and undo again.
      """,
    options: [
      .flag("--added", "Remove the files, too, that came new with that sync, and delete their rows."),
      .flag("--dry-run", "Show what would be done, and change nothing."),
    ])

  private let isAddedToo: Bool
  private let isDryRun: Bool

  init(_ arguments: Arguments) throws(UsageError) {
    isAddedToo = arguments.has("--added")
    isDryRun = arguments.has("--dry-run")
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let result =
      if isDryRun {
        try UndoResult.plan(try context.workspaceFolder(), isAddedToo: isAddedToo, clock: LiveClock())
      } else {
        UndoResult(json: try await context.ask(ControlRequest("undo", ["added": .bool(isAddedToo)])))
      }
    if context.terminal.isJSON {
      context.terminal.print(result.json)
    } else {
      context.terminal.print(lines: Self.lines(result).map(Terminal.safe))
    }
    return result.files.contains { $0.fate == .waits } ? .needsPerson : .success
  }

  private static func lines(_ result: UndoResult) -> [String] {
    guard let at = result.at else {
      return ["nothing to undo: no sync that is remembered has changed your files"]
    }
    let rows = result.files.map { [$0.fate.rawValue, $0.path, $0.detail] }
    let head = result.isDryRun ? "would undo the sync of \(at)" : "the sync of \(at) is undone"
    guard result.files.contains(where: { [.putBack, .restored, .removed].contains($0.fate) }) else {
      return ["nothing of the sync of \(at) \(result.isDryRun ? "would be" : "was") put back"] + TextTable.lines(rows)
    }
    return [head] + TextTable.lines(rows) + (result.isDryRun ? ["a dry run: nothing was changed"] : [])
  }
}
