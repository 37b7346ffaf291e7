import Daemon
import FileWorkspace
import LosslessJSON

/// The command `tidemark photos list [TASK]`.
struct PhotosListCommand: Command {
  static let description = CommandDescription(
    name: "photos list", parameters: "[TASK]", summary: "List the photos, and where each stands.",
    discussion: """
      '-' in front: file and server agree. '^': it waits to be sent, or is being sent. 'v': it is on the server only, or on
      its way here. '!': it needs you.
      """, positionalMax: 1)

  private let task: String?

  init(_ arguments: Arguments) throws(UsageError) { task = arguments.positional.first }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let desk = try PhotoDesk(context)
    let folder = try task.map(desk.folder)
    let photos = try desk.photos().filter { photo in folder.map { WorkspacePath.folder(of: photo.path) == $0 } ?? true }
    if context.terminal.isJSON {
      context.terminal.print(["photos": .array(photos.map { .object($0.json) })])
    } else {
      context.terminal.print(lines: PhotoLines.lines(photos))
    }
    return .success
  }
}
