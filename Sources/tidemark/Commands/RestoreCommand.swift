import Daemon
import LosslessJSON

/// The command `tidemark restore NAME|PATH`.
struct RestoreCommand: Command {
  static let description = CommandDescription(
    name: "restore", parameters: "NAME|PATH", summary: "Bring a text back from the trash, or missing files.",
    discussion: """
      NAME is a text in 'tidemark trash'; PATH, the newest that lay there. Where its row still is, its file gets the text,
      which is an edit like any other; where it is gone, the text becomes a new row. What the file said before goes to the
      trash, and the text itself stays there, too. A PATH at which a file lies with the key of a deleted row makes that row
      again of this file.

      A missing file whose row is there, as those that 'tidemark status' shows as held, is written anew; so is every one of
      a folder, such as tasks or photos, that is given as PATH.
      """, positionalMax: 1)

  private let word: String

  init(_ arguments: Arguments) throws(UsageError) { word = try arguments.word("the text's name in the trash") }

  func run(in context: CommandContext) async throws -> ExitStatus {
    try await context.change(.restore, ["name": .string(word), "path": .string(try context.path(word))])
  }
}
