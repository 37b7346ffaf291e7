/// The command `tidemark photos ACTION`: a command for each action, by two words.
struct PhotosCommand: Command {
  /// What can be done with photos.
  static let actions: [any Command.Type] = [
    PhotosListCommand.self, PhotosAddCommand.self, PhotosInfoCommand.self, PhotosShareCommand.self,
    PhotosShareAllCommand.self, PhotosMoveCommand.self, PhotosCopyCommand.self, PhotosReplaceCommand.self,
    PhotosRemoveCommand.self, PhotosGetCommand.self, PhotosRetryCommand.self,
  ]

  static let description = CommandDescription(
    name: "photos", parameters: "ACTION", summary: "List, add, move, share and fetch photos.",
    discussion: overview)

  init(_ arguments: Arguments) throws(UsageError) {
    throw UsageError(message: "an action is missing; 'tidemark photos --help' lists them")
  }

  func run(in context: CommandContext) async throws -> ExitStatus { .usage }

  private static var overview: String {
    let lines = actions.map { action in
      let description = action.description
      return (left: "\(description.name.dropFirst(7)) \(description.parameters)", right: description.summary)
    }
    let width = (lines.map(\.left.count).max() ?? 0) + 2
    let list = lines.map { "  \($0.left)\(String(repeating: " ", count: width - $0.left.count))\($0.right)" }
    return """
      Photos are files in 'photos/NAME/' for the row of 'tasks/NAME.json': what is done to the files, by whatever program,
      is done to the photos. These actions do the same, and what files cannot say.

      \(list.joined(separator: "\n"))

      TASK is the row's file, its folder of photos, its id or the beginning of that. 'tidemark photos ACTION --help'
      tells more.
      """
  }
}
