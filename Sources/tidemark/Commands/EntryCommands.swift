import Daemon
import FileWorkspace
import LosslessJSON

/// The command `tidemark discard ID`.
struct DiscardCommand: Command {
  static let description = CommandDescription(
    name: "discard", parameters: "ID|PATH", summary: "Drop a queued write unsent.",
    discussion: """
      ID is its number in 'tidemark pending'; PATH drops all that wait of that file. The file shows again what the server
      has, a new row's file goes away, a deleted one comes back; the text it had is in the trash.
      """, positionalMax: 1)
  private let word: String

  init(_ arguments: Arguments) throws(UsageError) { word = try arguments.word("the entry's number or the file's path") }

  func run(in context: CommandContext) async throws -> ExitStatus {
    try await context.change(.discard, try context.entryTarget(word).json)
  }
}

/// The command `tidemark retry ID`.
struct RetryCommand: Command {
  static let description = CommandDescription(
    name: "retry", parameters: "ID|PATH", summary: "Try a refused write again.",
    discussion: """
      ID is its number in 'tidemark rejected'; PATH is the file or its *.refused.json. What is sent is what the side file
      says now, so fix it first; for a new row it is the file itself.
      """, positionalMax: 1)
  private let word: String

  init(_ arguments: Arguments) throws(UsageError) { word = try arguments.word("the entry's number or the file's path") }

  func run(in context: CommandContext) async throws -> ExitStatus {
    try await context.change(.retry, try context.entryTarget(word).json)
  }
}

/// The command `tidemark dismiss ID`.
struct DismissCommand: Command {
  static let description = CommandDescription(
    name: "dismiss", parameters: "ID|PATH", summary: "Accept a refusal: the server's row stands.",
    discussion: """
      ID is its number in 'tidemark rejected'; PATH is the file or its *.refused.json. The refused text is in the trash; a
      new row's file stays, and its next save offers it again.
      """, positionalMax: 1)
  private let word: String

  init(_ arguments: Arguments) throws(UsageError) { word = try arguments.word("the entry's number or the file's path") }

  func run(in context: CommandContext) async throws -> ExitStatus {
    try await context.change(.dismiss, try context.entryTarget(word).json)
  }
}
