import Daemon
import FileWorkspace
import LosslessJSON
import OfflineEngine

/// The command `tidemark trash`.
struct TrashCommand: Command {
  static let description = CommandDescription(
    name: "trash", summary: "List the texts that lost their place, with time and reason, the oldest first.",
    discussion: """
      'tidemark restore NAME' brings one back. Texts are kept for 30 days, or until all of them have more than 256 MiB;
      what came within the last day always stays.
      """)

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(in context: CommandContext) async throws -> ExitStatus {
    let files = try LiveFileSystem(root: try context.workspaceFolder().path)
    let entries = try Trash(files: files) { LiveClock().now().nanoseconds / 1_000_000 }.entries()
    if context.terminal.isJSON {
      context.terminal.print(["trash": .array(entries.map(Self.json))])
      return .success
    }
    let rows = entries.map { entry in
      [WorkspacePath.name(of: entry.path), entry.origin ?? "", entry.reason]
    }
    context.terminal.print(lines: TextTable.lines(rows))
    return .success
  }

  private static func json(_ entry: TrashEntry) -> JSONValue {
    [
      "name": .string(WorkspacePath.name(of: entry.path)), "file": .string(entry.path),
      "origin": entry.origin.map(JSONValue.string) ?? .null, "reason": .string(entry.reason),
      "at": .string(WallTime(nanoseconds: entry.at * 1_000_000).text), "bytes": .integer(entry.bytes),
    ]
  }
}
