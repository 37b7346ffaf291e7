import FileWorkspace

/// The command `tidemark photos share-all TASK`.
struct PhotosShareAllCommand: Command {
  static let description = CommandDescription(
    name: "photos share-all", parameters: "TASK", summary: "Make links to all photos of a row that are on the server.",
    options: PhotoLinks.options, positionalMax: 1)

  private let task: String
  private let links: PhotoLinks

  init(_ arguments: Arguments) throws(UsageError) {
    task = try arguments.word("the row")
    links = try PhotoLinks(arguments)
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let desk = try PhotoDesk(context)
    let folder = try desk.folder(of: task)
    let photos = try desk.photos().filter { WorkspacePath.folder(of: $0.path) == folder && $0.object != nil }
    guard !photos.isEmpty else {
      throw CommandFailure(message: "no photo of '\(Terminal.safe(folder))' is on the server")
    }
    return try await links.share(photos.map(\.path), in: context)
  }
}
