import Daemon
import LosslessJSON

/// The command `tidemark photos share PATH…`.
struct PhotosShareCommand: Command {
  static let description = CommandDescription(
    name: "photos share", parameters: "PATH…", summary: "Make links that open photos for anybody, for a while.",
    discussion: "Each link stands on a line of its own.", options: PhotoLinks.options, positionalMax: 1000)

  private let words: [String]
  private let links: PhotoLinks

  init(_ arguments: Arguments) throws(UsageError) {
    _ = try arguments.word("the photo's path")
    words = arguments.positional
    links = try PhotoLinks(arguments)
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let desk = try PhotoDesk(context)
    return try await links.share(try words.map { try desk.listed($0).path }, in: context)
  }
}
