import Daemon
import LosslessJSON

/// The command `tidemark resolve PATH --mine|--theirs`.
struct ResolveCommand: Command {
  static let description = CommandDescription(
    name: "resolve", parameters: "PATH|ID --mine|--theirs", summary: "Settle a conflict for one side.",
    discussion: """
      PATH is the file or its side file, ID the number in 'tidemark conflicts'. --mine sends the columns that you changed,
      as the side file says them now; --theirs keeps the server's row. The text that loses its place is in the trash.
      """,
    options: [.flag("--mine", "Keep your version."), .flag("--theirs", "Keep the server's version.")], positionalMax: 1)

  private let word: String
  private let isMine: Bool

  init(_ arguments: Arguments) throws(UsageError) {
    word = try arguments.word("the file's path")
    isMine = arguments.has("--mine")
    guard isMine != arguments.has("--theirs") else { throw UsageError(message: "give either '--mine' or '--theirs'") }
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    var arguments = try context.entryTarget(word).json
    arguments["mine"] = .bool(isMine)
    return try await context.change(.resolve, arguments)
  }
}
