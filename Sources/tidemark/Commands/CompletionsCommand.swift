/// The command `tidemark completions bash|zsh|fish`.
struct CompletionsCommand: Command {
  static let description = CommandDescription(
    name: "completions", parameters: Shell.allCases.map(\.rawValue).joined(separator: "|"),
    summary: "Print the script that lets a shell complete commands and options.",
    discussion: """
      A shell reads it from a file of its own:
        bash  tidemark completions bash > ~/.local/share/bash-completion/completions/tidemark
        zsh   tidemark completions zsh > ~/.zfunc/_tidemark, with 'fpath=(~/.zfunc $fpath)' before 'compinit' in ~/.zshrc
        fish  tidemark completions fish > ~/.config/fish/completions/tidemark.fish
      'make install' lays all three down for everybody.
      """, positionalMax: 1)

  private let shell: Shell

  init(_ arguments: Arguments) throws(UsageError) {
    let known = Shell.allCases.map(\.rawValue).joined(separator: ", ")
    guard let name = arguments.positional.first else { throw UsageError(message: "a shell is missing: \(known)") }
    guard let shell = Shell(rawValue: name) else {
      throw UsageError(message: "'\(Terminal.safe(name))' is none of the shells: \(known)")
    }
    self.shell = shell
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    if context.terminal.isJSON {
      context.terminal.print(["script": .string(shell.completions)])
    } else {
      context.terminal.print(shell.completions)
    }
    return .success
  }
}
