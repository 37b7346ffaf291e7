import Daemon
import FileWorkspace
import LosslessJSON

/// The command `tidemark photos info PATH`.
struct PhotosInfoCommand: Command {
  static let description = CommandDescription(
    name: "photos info", parameters: "PATH", summary: "Show what is known of a photo, here and on the server.",
    discussion: """
      On a terminal that shows pictures by the kitty protocol the photo itself is shown, small. Without a network it says
      what this device knows.
      """, positionalMax: 1)

  private let word: String

  init(_ arguments: Arguments) throws(UsageError) { word = try arguments.word("the photo's path") }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let desk = try PhotoDesk(context)
    let photo = try desk.listed(word)
    let server: JSONValue =
      photo.object == nil
      ? .null : try await context.ask(ControlRequest("photos-info", ["paths": [.string(photo.path)]]))
    if context.terminal.isJSON {
      var json = photo.json
      json["server"] = server
      context.terminal.print(.object(json))
      return .success
    }
    let file = "\(desk.workspace.path)/\(photo.path)"
    if desk.workspace.has(photo.path), let picture = try await Thumbnail.text(of: file, in: context) {
      context.terminal.print(picture)
    }
    context.terminal.print(lines: PhotoLines.info(photo, server, isHere: desk.workspace.has(photo.path)))
    return .success
  }
}
