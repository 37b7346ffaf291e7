import FileWorkspace

/// The command `tidemark photos copy TASK PATH…`.
struct PhotosCopyCommand: Command {
  static let description = CommandDescription(
    name: "photos copy", parameters: "TASK PATH…", summary: "Copy photos to another row.",
    discussion: "The same as copying their files into its folder: each copy is a photo of its own.",
    positionalMax: 10_000)

  private let task: String
  private let paths: [String]

  init(_ arguments: Arguments) throws(UsageError) {
    task = try arguments.word("the row")
    paths = try arguments.rest("the photo's path")
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let desk = try PhotoDesk(context)
    let folder = try desk.folder(of: task)
    return try desk.each(try paths.map(desk.photo), "copied to") { path in
      let other = WorkspacePath.joined(folder, WorkspacePath.name(of: path))
      try desk.files.add("\(desk.workspace.path)/\(path)", at: other)
      return other
    }
  }
}
