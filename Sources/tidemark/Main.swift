import Daemon
import FoundationEssentials
import Glibc

/// The program: finds the command, runs it, and turns what it came to into an exit code.
@main
struct Main {
  static let commands: [any Command.Type] = [
    InitCommand.self, WatchCommand.self, SyncCommand.self, StatusCommand.self, OfflineCommand.self, OnlineCommand.self,
    LiveCommand.self,
    AddCommand.self, DoneCommand.self, ListCommand.self, PendingCommand.self, DiscardCommand.self,
    RejectedCommand.self, RetryCommand.self, DismissCommand.self, ConflictsCommand.self, ResolveCommand.self,
    TrashCommand.self, RestoreCommand.self, UndoCommand.self,
    PhotosCommand.self, ConfirmCommand.self, LoginCommand.self, LogoutCommand.self, WhoamiCommand.self, WhyCommand.self,
    LogCommand.self,
    DoctorCommand.self, MergeDriverCommand.self,
    ServeCommand.self, DemoCommand.self, ServiceCommand.self, CompletionsCommand.self,
    VersionCommand.self, HelpCommand.self,
  ]

  static func main() async {
    StopSignal.ignoreBrokenPipes()
    let status = await run(Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment)
    exit(status.rawValue)
  }

  static func run(_ words: [String], environment: [String: String]) async -> ExitStatus {
    var words = words
    var terminal = Terminal(isJSON: false, environment: environment)
    do {
      let name = try takeCommandName(&words)
      guard let command = (commands + PhotosCommand.actions).first(where: { $0.description.name == name }) else {
        throw UsageError(message: unknown(name))
      }
      let description = command.description
      let arguments = try Arguments(
        words, options: description.options + Arguments.common, positionalMax: description.positionalMax)
      if arguments.has("--help") {
        terminal.print(description.help)
        return .success
      }
      terminal = Terminal(isJSON: arguments.has("--json"), environment: environment)
      let context = CommandContext(terminal: terminal, folder: arguments.value("-C"), environment: environment)
      return try await command.init(arguments).run(in: context)
    } catch let error as UsageError {
      terminal.note("tidemark: \(error.message)")
      return .usage
    } catch let failure as CommandFailure {
      terminal.note("tidemark: \(failure.message)")
      return failure.status
    } catch {
      terminal.note("tidemark: \(error)")
      return .failure
    }
  }

  /// What is said of a command that there is not.
  static func unknown(_ name: String) -> String {
    let names = (commands + PhotosCommand.actions).map { $0.description.name }
    let question = Spelling.question(name, among: names)
    return "unknown command '\(Terminal.safe(name))'\(question.isEmpty ? ";" : question) 'tidemark help' lists them"
  }

  /// The command's name: the first word, behind the common options, and for photos the second one, too.
  private static func takeCommandName(_ words: inout [String]) throws(UsageError) -> String {
    var index = 0
    while index < words.count, words[index].hasPrefix("-") {
      switch words[index] {
      case "--help", "-h":
        words = []
        return HelpCommand.description.name
      case "--version":
        words = []
        return VersionCommand.description.name
      case "-C": index += 2
      default: index += 1
      }
    }
    guard index < words.count else {
      if words.isEmpty { return HelpCommand.description.name }
      throw UsageError(message: "a command is missing; 'tidemark help' lists them")
    }
    let name = words.remove(at: index)
    guard name == PhotosCommand.description.name, index < words.count, !words[index].hasPrefix("-") else { return name }
    return "\(name) \(words.remove(at: index))"
  }
}
