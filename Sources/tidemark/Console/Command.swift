/// One command of the program.
///
/// A command is a file in `Commands/`.
protocol Command: SendableMetatype {
  /// Its name, what it takes and what it does: help is made from this.
  static var description: CommandDescription { get }
  /// Reads its words, or says what is wrong with them.
  init(_ arguments: Arguments) throws(UsageError)
  /// Does it.
  func run(in context: CommandContext) async throws -> ExitStatus
}

/// What help says of a command.
struct CommandDescription {
  var name: String
  /// The words it takes, as in `[DIR]`.
  var parameters = ""
  /// What it does, in one sentence.
  var summary: String
  /// More about it, where a sentence is not enough.
  var discussion = ""
  var options: [OptionDescription] = []
  var positionalMax = 0

  /// The whole help text.
  var help: String {
    var text = "tidemark \(name)\(parameters.isEmpty ? "" : " \(parameters)")\n\n\(summary)\n"
    if !discussion.isEmpty { text += "\n\(discussion)\n" }
    let all = options + Arguments.common
    let left = all.map { option in option.value.map { "\(option.name) \($0)" } ?? option.name }
    let width = (left.map(\.count).max() ?? 0) + 2
    text += "\nOptions\n"
    for (option, name) in zip(all, left) {
      text += "  \(name)\(String(repeating: " ", count: width - name.count))\(option.help)\n"
    }
    return text
  }
}

/// What a command has around it.
struct CommandContext: Sendable {
  var terminal: Terminal
  /// The folder given with `-C`.
  var folder: String?
  /// The process's environment, read once at start.
  var environment: [String: String]
}
