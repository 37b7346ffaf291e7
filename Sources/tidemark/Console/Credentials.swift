import Daemon
import FoundationEssentials
import Glibc
import SupabaseAPI

/// Where passwords come from.
enum Password {
  /// The first line of a file, of standard input for `-`, or what a person types at the terminal when there is no file.
  static func read(from file: String?) throws -> Secret {
    let text: String?
    switch file {
    case nil: text = try typed()
    case "-": text = readLine(strippingNewline: true)
    case let path?:
      do {
        text = try String(contentsOfFile: path, encoding: .utf8).split(
          separator: "\n", omittingEmptySubsequences: false
        )
        .first.map(String.init)
      } catch {
        throw CommandFailure(message: "the password file '\(Terminal.safe(path))' cannot be read")
      }
    }
    guard let text, !text.isEmpty else {
      throw CommandFailure(message: "there is no password: its first line is empty")
    }
    return Secret(text)
  }

  private static func typed() throws -> String? {
    guard isatty(STDIN_FILENO) == 1 else {
      throw CommandFailure(message: "a password is needed: give --password-file FILE", status: .usage)
    }
    var before = termios()
    tcgetattr(STDIN_FILENO, &before)
    var silent = before
    silent.c_lflag &= ~tcflag_t(ECHO)
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
    defer { tcsetattr(STDIN_FILENO, TCSAFLUSH, &before) }
    Terminal.prompt("Password: ")
    defer { Terminal.prompt("\n") }
    return readLine(strippingNewline: true)
  }
}

extension ReadyToken {
  /// What `--token-file` or `--token-command` name, if one of them is given.
  static func chosen(_ arguments: Arguments) throws(UsageError) -> ReadyToken? {
    switch (arguments.value("--token-file"), arguments.value("--token-command")) {
    case (nil, nil): nil
    case (let path?, nil): .file(path: WorkspaceFolder.absolute(path))
    case (nil, let command?): .command(command)
    default: throw UsageError(message: "--token-file and --token-command exclude one another")
    }
  }
}
