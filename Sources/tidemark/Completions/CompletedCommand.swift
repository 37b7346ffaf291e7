/// What a shell can complete behind a command's name, taken from what help says of it.
struct CompletedCommand {
  /// What the words of a command may be.
  enum Operand: Equatable {
    /// Files and folders.
    case paths
    /// One of a few words.
    case words([String])
    /// The name of another command.
    case commands
    /// What only its person knows, such as a title.
    case unknown
  }

  /// Its name: one word, or two.
  let name: String
  let summary: String
  let options: [OptionDescription]
  let operand: Operand

  init(_ description: CommandDescription) {
    name = description.name
    summary = description.summary
    options = description.options + Arguments.common
    operand = Self.operand(of: description.parameters)
  }

  /// The commands of one word.
  static var all: [CompletedCommand] { Main.commands.map { CompletedCommand($0.description) } }

  /// The commands of two words, such as `photos list`.
  static var actions: [CompletedCommand] { PhotosCommand.actions.map { CompletedCommand($0.description) } }

  /// The last word of its name.
  var lastWord: String { String(name.split(separator: " ").last ?? "") }

  /// Reads what help shows of a command's words: `[on|off]`, `PATH|ID`, `TASK FILE…`.
  private static func operand(of parameters: String) -> Operand {
    let first = parameters.split(separator: " ").first.map { $0.filter { !"[]…".contains($0) } } ?? ""
    let choices = first.split(separator: "|").map(String.init)
    if choices.count > 1, choices.allSatisfy({ $0.allSatisfy(\.isLowercase) }) { return .words(choices) }
    if choices == ["COMMAND"] { return .commands }
    let paths: Set = ["PATH", "FILE", "DIR", "TASK", "BASE"]
    return choices.contains(where: paths.contains) ? .paths : .unknown
  }
}

extension OptionDescription {
  /// What its value may be; `nil` for a flag.
  var completedValue: CompletedCommand.Operand? {
    value.map { ["FILE", "DIR"].contains($0) ? .paths : .unknown }
  }
}

/// A shell that completes command lines.
enum Shell: String, CaseIterable {
  case bash, zsh, fish

  /// The script that teaches it this program's commands and options.
  var completions: String {
    switch self {
    case .bash: BashCompletions.script
    case .zsh: ZshCompletions.script
    case .fish: FishCompletions.script
    }
  }
}
