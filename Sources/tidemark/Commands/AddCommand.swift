import Daemon
import LosslessJSON

/// The command `tidemark add TITLE`.
struct AddCommand: Command {
  static let description = CommandDescription(
    name: "add", parameters: "TITLE", summary: "Make the file of a new row, and queue it.",
    discussion: "The title names the file. Several words need no quotes. A running watcher sends it at once.",
    options: [.value("--to", "FOLDER", "The collection (default: the first whose files are named by a title).")],
    positionalMax: 1000)

  private let title: String
  private let folder: String?

  init(_ arguments: Arguments) throws(UsageError) {
    title = arguments.positional.joined(separator: " ")
    folder = arguments.value("--to").map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
    guard title.contains(where: { !$0.isWhitespace }) else { throw UsageError(message: "the title is missing") }
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    var arguments: JSONObject = ["title": .string(title)]
    if let folder { arguments["folder"] = .string(folder) }
    return try await context.change(.add, arguments)
  }
}
