import Daemon
import FileWorkspace
import LosslessJSON

/// The command `tidemark list`.
struct ListCommand: Command {
  static let description = CommandDescription(
    name: "list", parameters: "[TEXT]", summary: "List the rows as their files say them.",
    discussion: "TEXT: only rows in whose file name or texts each of the words stands, whatever its case.",
    options: [
      .flag("--open", "Only rows that are not done."), .flag("--done", "Only rows that are done."),
      .value("--in", "FOLDER", "Only this collection."),
    ], positionalMax: 1000)

  private let words: [String]
  private let isDone: Bool?
  private let folder: String?

  init(_ arguments: Arguments) throws(UsageError) {
    words = arguments.positional.flatMap { $0.split(whereSeparator: \.isWhitespace).map(String.init) }
    guard !arguments.has("--open") || !arguments.has("--done") else {
      throw UsageError(message: "'--open' and '--done' exclude each other")
    }
    isDone = arguments.has("--done") ? true : arguments.has("--open") ? false : nil
    folder = arguments.value("--in").map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let rows = try context.read { transaction, settings, files in
      if let folder, !settings.collections.contains(where: { $0.folder == folder }) {
        throw CommandFailure(message: "there is no collection '\(Terminal.safe(folder))' in tidemark.json")
      }
      return try RowListing(transaction, settings, files: files).rows(in: folder)
    }.filter { row in row.holds(words) && (isDone == nil || row.isDone == isDone) }
    if context.terminal.isJSON {
      context.terminal.print(["rows": .array(rows.map { .object($0.json) })])
      return .success
    }
    context.terminal.print(lines: TextTable.lines(rows.map(Self.cells)))
    return .success
  }

  private static func cells(_ row: ListedRow) -> [String] {
    let mark = row.isDone.map { $0 ? "[x]" : "[ ]" } ?? "-"
    return [mark, row.title, row.path, row.state == .same ? "" : "(\(row.state.rawValue))"]
  }
}
