import Daemon
import FileWorkspace
import LosslessJSON

/// The command `tidemark done PATH|ID`.
struct DoneCommand: Command {
  static let description = CommandDescription(
    name: "done", parameters: "PATH|ID", summary: "Set 'done' in a row's file, and queue it.",
    discussion: """
      ID is the row's key, or the beginning of it. Only that value of the file is changed. The column is the Boolean
      'done', or the only Boolean that the collection's files show.
      """,
    options: [.flag("--undo", "Set it open again.")], positionalMax: 1)

  private let word: String
  private let isDone: Bool

  init(_ arguments: Arguments) throws(UsageError) {
    word = try arguments.word("the file's path or the row's id")
    isDone = !arguments.has("--undo")
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let workspace = try context.workspaceFolder()
    let path = try context.path(word)
    let isPath = workspace.has(path) || word.contains("/") || word.hasSuffix(".json")
    var arguments = (isPath ? WorkspaceTarget.path(path) : .key(word)).json
    arguments["done"] = .bool(isDone)
    return try await context.change(.done, arguments)
  }
}
