import Daemon

/// The command `tidemark service`.
struct ServiceCommand: Command {
  static let description = CommandDescription(
    name: "service", summary: "Print a systemd unit that has the workspace watched from login on.",
    discussion: """
      It is a user's unit: laid down as a file of its own it is started at login, and again after a failure.
        tidemark service > ~/.config/systemd/user/tidemark-notes.service
        systemctl --user enable --now tidemark-notes
      Without a login, too: loginctl enable-linger. What it says: journalctl --user -u tidemark-notes. The unit names this
      program's file and the workspace's folder: make it anew when one of them moves.
      """)

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(in context: CommandContext) async throws -> ExitStatus {
    let unit = Self.unit(program: ProgramFile.path, folder: try context.workspaceFolder().path)
    if context.terminal.isJSON { context.terminal.print(["unit": .string(unit)]) } else { context.terminal.print(unit) }
    return .success
  }

  /// The unit's text (systemd.unit(5), systemd.service(5)).
  static func unit(program: String, folder: String) -> String {
    """
    [Unit]
    Description=Tidemark for \(escaped(folder, isCommand: false))

    [Service]
    Type=exec
    ExecStart="\(escaped(program, isCommand: true))" -C "\(escaped(folder, isCommand: true))" watch
    Restart=on-failure
    RestartSec=10

    [Install]
    WantedBy=default.target
    """
  }

  /// A path in a unit, whose `%` and, within a command's quotes, `"`, `\` and `$` mean something else.
  private static func escaped(_ path: String, isCommand: Bool) -> String {
    path.unicodeScalars.reduce(into: "") { text, scalar in
      switch scalar {
      case "%": text += "%%"
      case "$" where isCommand: text += "$$"
      case "\"" where isCommand, "\\" where isCommand: text += "\\\(scalar)"
      case "\n": text += isCommand ? "\\n" : " "
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}
