import Daemon
import LosslessJSON

/// The command `tidemark photos retry [PATH…]`.
struct PhotosRetryCommand: Command {
  static let description = CommandDescription(
    name: "photos retry", parameters: "[PATH…]", summary: "Try photos again that could not be sent or fetched.",
    discussion:
      "PATH is the photo, or a folder for all of its photos; without one every photo is tried that has failed.",
    positionalMax: 10_000)

  private let words: [String]

  init(_ arguments: Arguments) throws(UsageError) { words = arguments.positional }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let desk = try PhotoDesk(context)
    let paths = try words.map { try context.path($0, in: desk.workspace) }
    let answer = try await context.ask(
      ControlRequest("photos-retry", ["paths": .array(paths.map(JSONValue.string))]))
    let count = answer["count"]?.int64Value ?? 0
    if context.terminal.isJSON {
      context.terminal.print(["count": .integer(count)])
    } else {
      let sender = try desk.status().isWatching ? "the watcher tries them now" : "'tidemark sync' tries them"
      context.terminal.print(count == 0 ? "nothing has failed" : "\(count) to be tried again; \(sender)")
    }
    return .success
  }
}
