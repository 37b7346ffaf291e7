/// The command `tidemark photos replace PATH FILE`.
struct PhotosReplaceCommand: Command {
  static let description = CommandDescription(
    name: "photos replace", parameters: "PATH FILE", summary: "Have a photo show another file.",
    discussion: "The same as copying the file over it, at once and whole. The old file goes to the trash.",
    positionalMax: 2)

  private let path: String
  private let source: String

  init(_ arguments: Arguments) throws(UsageError) {
    path = try arguments.word("the photo's path")
    source = try arguments.rest("the new file")[0]
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let desk = try PhotoDesk(context)
    let photo = try desk.photo(path)
    try desk.check(source)
    return try desk.each([source], "replaced") { source in
      try desk.files.replace(photo, with: source)
      return photo
    }
  }
}
