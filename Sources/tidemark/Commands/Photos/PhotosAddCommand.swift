import FileWorkspace

/// The command `tidemark photos add TASK FILE…`.
struct PhotosAddCommand: Command {
  static let description = CommandDescription(
    name: "photos add", parameters: "TASK FILE…", summary: "Copy files into the folder of a row's photos.",
    discussion: """
      Each copy appears whole, under the file's own name and with its time. A running watcher sends it, or the next
      'tidemark sync'. Nothing is copied unless all of the files are photos.
      """, positionalMax: 10_000)

  private let task: String
  private let sources: [String]

  init(_ arguments: Arguments) throws(UsageError) {
    task = try arguments.word("the row")
    sources = try arguments.rest("the photo's file")
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let desk = try PhotoDesk(context)
    let folder = try desk.folder(of: task)
    for source in sources { try desk.check(source) }
    return try desk.each(sources, "added") { source in
      let path = WorkspacePath.joined(folder, WorkspacePath.name(of: source))
      try desk.files.add(source, at: path)
      return path
    }
  }
}
