import FileWorkspace

/// The command `tidemark photos move TASK PATH…`.
struct PhotosMoveCommand: Command {
  static let description = CommandDescription(
    name: "photos move", parameters: "TASK PATH…", summary: "Move photos to another row.",
    discussion: "The same as moving their files into its folder.", positionalMax: 10_000)

  private let task: String
  private let paths: [String]

  init(_ arguments: Arguments) throws(UsageError) {
    task = try arguments.word("the row")
    paths = try arguments.rest("the photo's path")
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let desk = try PhotoDesk(context)
    let folder = try desk.folder(of: task)
    return try desk.each(try paths.map(desk.photo), "moved") { path in
      let other = WorkspacePath.joined(folder, WorkspacePath.name(of: path))
      if other != path { try desk.files.move(path, to: other) }
      return other
    }
  }
}
