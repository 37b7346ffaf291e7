/// The command `tidemark photos remove PATH…`.
struct PhotosRemoveCommand: Command {
  static let description = CommandDescription(
    name: "photos remove", parameters: "PATH…", summary: "Remove photos, here and on the server.",
    discussion: "The same as deleting their files, which go to the trash: 'tidemark restore PATH' brings one back.",
    positionalMax: 10_000)

  private let paths: [String]

  init(_ arguments: Arguments) throws(UsageError) {
    _ = try arguments.word("the photo's path")
    paths = arguments.positional
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let desk = try PhotoDesk(context)
    return try desk.each(try paths.map(desk.photo), "removed") { path in
      try desk.files.remove(path)
      return path
    }
  }
}
