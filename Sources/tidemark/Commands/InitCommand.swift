import Daemon
import FileWorkspace
import FoundationEssentials
import Glibc
import LosslessJSON
import SupabaseAPI

/// The command `tidemark init`.
struct InitCommand: Command {
  static let description = CommandDescription(
    name: "init", parameters: "[DIR] --server URL --key KEY",
    summary: "Make a folder into a workspace of a Supabase project.",
    discussion: """
      The server and its publishable key are taken from tidemark.json where the folder has one, as a clone does.
      Files that are there already are adopted at the next sync, never overwritten. Without a choice of account a new
      anonymous one is made, which lives and ends with this workspace's session.
      A password comes from --password-file or is asked for; it is never a word of the command line.
      """,
    options: [
      .value("--server", "URL", "The project's URL, such as https://abcd.supabase.co."),
      .value("--key", "KEY", "The project's publishable (or anon) key."),
      .value("--template", "NAME", "What the workspace begins with: tasks-and-photos (the default) or contacts."),
      .flag("--anonymous", "Make a new anonymous account (the default)."),
      .value("--sign-up", "EMAIL", "Make a new account with a password."),
      .value("--sign-in", "EMAIL", "Use an account that exists."),
      .value("--password-file", "FILE", "Read the password from the first line of FILE; '-' is standard input."),
    ], positionalMax: 1)

  private let folder: String?
  private let server: (url: String, key: String)?
  private let template: WorkspaceTemplate
  private let account: Account
  private let passwordFile: String?

  private enum Account {
    case anonymous
    case signUp(String)
    case signIn(String)
  }

  init(_ arguments: Arguments) throws(UsageError) {
    folder = arguments.positional.first
    switch (arguments.value("--server"), arguments.value("--key")) {
    case (let url?, let key?): server = (url, key)
    case (nil, nil): server = nil
    case (.some, nil): throw UsageError(message: "--server needs --key KEY beside it")
    case (nil, .some): throw UsageError(message: "--key needs --server URL beside it")
    }
    template = try arguments.value("--template").map(WorkspaceTemplate.chosen) ?? .tasksAndPhotos
    switch (arguments.has("--anonymous"), arguments.value("--sign-up"), arguments.value("--sign-in")) {
    case (_, nil, nil): account = .anonymous
    case (false, let email?, nil): account = .signUp(email)
    case (false, nil, let email?): account = .signIn(email)
    default: throw UsageError(message: "--anonymous, --sign-up and --sign-in exclude one another")
    }
    passwordFile = arguments.value("--password-file")
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let world = World(context.environment)
    let setup = WorkspaceSetup(
      path: WorkspaceFolder.absolute(folder ?? context.folder ?? "."),
      server: try server.map { try ServerSettings(url: $0.url, key: $0.key) }, template: template, signIn: try signIn(),
      environment: world.environment)
    let made = try await setup.run()
    for warning in made.warnings { context.terminal.note("warning: \(warning)") }
    if context.terminal.isJSON {
      context.terminal.print([
        "workspace": .string(made.folder.path), "server": .string(made.settings.server.url),
        "user": .string(made.user.id), "anonymous": .bool(made.user.isAnonymous),
        "written": .array(made.written.map(JSONValue.string)),
      ])
    } else {
      let who = made.user.isAnonymous ? "a new anonymous account" : made.user.email ?? made.user.id
      context.terminal.print(
        "\(Terminal.safe(made.folder.path)) is a workspace of \(made.settings.server.url), signed in as \(who).")
      context.terminal.print("Next: 'tidemark watch' keeps it in step; 'tidemark sync' does it once.")
    }
    return .success
  }

  private func signIn() throws -> WorkspaceSetup.SignIn {
    switch account {
    case .anonymous: .anonymous
    case .signUp(let email): .signUp(email: email, password: try Password.read(from: passwordFile))
    case .signIn(let email): .signIn(email: email, password: try Password.read(from: passwordFile))
    }
  }
}

extension WorkspaceTemplate {
  /// The template of a name on the command line.
  static func chosen(_ name: String) throws(UsageError) -> WorkspaceTemplate {
    if let template = named(name) { return template }
    let known = all.map(\.name).joined(separator: ", ")
    throw UsageError(message: "there is no template '\(Terminal.safe(name))'; there is: \(known)")
  }
}

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
