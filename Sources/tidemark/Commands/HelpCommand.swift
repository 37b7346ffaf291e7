/// The command `tidemark help [COMMAND]`.
struct HelpCommand: Command {
  static let description = CommandDescription(
    name: "help", parameters: "[COMMAND]", summary: "Show what the program does, or one command.", positionalMax: 2)

  private let topic: String?

  init(_ arguments: Arguments) throws(UsageError) {
    topic = arguments.positional.isEmpty ? nil : arguments.positional.joined(separator: " ")
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    guard let topic else {
      context.terminal.print(Self.overview)
      return .success
    }
    let commands = Main.commands + PhotosCommand.actions
    guard let command = commands.first(where: { $0.description.name == topic }) else {
      throw UsageError(message: Main.unknown(topic))
    }
    context.terminal.print(command.description.help)
    return .success
  }

  private static var overview: String {
    let descriptions = Main.commands.map { $0.description }
    let width = (descriptions.map(\.name.count).max() ?? 0) + 2
    let lines = descriptions.map { description in
      "  \(description.name)\(String(repeating: " ", count: width - description.name.count))\(description.summary)"
    }
    return """
      tidemark keeps a folder of plain files in step with a Supabase project.

      Usage: tidemark [-C DIR] COMMAND [OPTIONS]

      Commands
      \(lines.joined(separator: "\n"))

      'tidemark COMMAND --help' tells more. Exit codes: 0 in step, 1 failure, 2 usage, 3 changes still wait,
      4 something needs a person.

      """
  }
}
