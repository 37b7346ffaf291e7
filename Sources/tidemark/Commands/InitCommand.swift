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
      .value("--rest", "URL", "A PostgREST alone, instead of --server; needs a ready token."),
      .value("--template", "NAME", "What the workspace begins with: tasks-and-photos (the default) or contacts."),
      .flag("--anonymous", "Make a new anonymous account (the default)."),
      .value("--sign-up", "EMAIL", "Make a new account with a password."),
      .value("--sign-in", "EMAIL", "Use an account that exists."),
      .value("--password-file", "FILE", "Read the password from the first line of FILE; '-' is standard input."),
      .flag(
        "--merge-driver", "In a git repository, have git merge rows column by column; see 'tidemark merge-driver'."),
      .flag("--no-merge-driver", "Leave git alone, and do not ask."),
      .value("--token-file", "FILE", "Take access tokens from the first line of FILE, now and later."),
      .value("--token-command", "COMMAND", "Take access tokens from what a shell command prints, now and later."),
    ], positionalMax: 1)

  private let folder: String?
  private let server: Server?
  private let template: WorkspaceTemplate
  private let account: Account
  private let passwordFile: String?
  /// Whether git is to be told how to merge rows; `nil` asks where somebody can be asked.
  private let wantsMergeDriver: Bool?

  private enum Server {
    case project(url: String, key: String)
    case rest(url: String, key: String?)
  }

  private enum Account {
    case token(ReadyToken)
    case anonymous
    case signUp(String)
    case signIn(String)
  }

  init(_ arguments: Arguments) throws(UsageError) {
    folder = arguments.positional.first
    switch (arguments.value("--server"), arguments.value("--key"), arguments.value("--rest")) {
    case (let url?, let key?, nil): server = .project(url: url, key: key)
    case (nil, let key, let url?): server = .rest(url: url, key: key)
    case (nil, nil, nil): server = nil
    case (.some, nil, nil): throw UsageError(message: "--server needs --key KEY beside it")
    case (nil, .some, nil): throw UsageError(message: "--key needs --server URL beside it")
    case (.some, _, .some): throw UsageError(message: "--rest stands for a PostgREST alone: leave --server out")
    }
    template = try arguments.value("--template").map(WorkspaceTemplate.chosen) ?? .tasksAndPhotos
    let token = try ReadyToken.chosen(arguments)
    switch (arguments.has("--anonymous"), arguments.value("--sign-up"), arguments.value("--sign-in"), token) {
    case (false, nil, nil, let token?): account = .token(token)
    case (_, nil, nil, nil): account = .anonymous
    case (false, let email?, nil, nil): account = .signUp(email)
    case (false, nil, let email?, nil): account = .signIn(email)
    default: throw UsageError(message: "--anonymous, --sign-up, --sign-in and a ready token exclude one another")
    }
    passwordFile = arguments.value("--password-file")
    switch (arguments.has("--merge-driver"), arguments.has("--no-merge-driver")) {
    case (true, true): throw UsageError(message: "--merge-driver and --no-merge-driver exclude one another")
    case (false, false): wantsMergeDriver = nil
    case (let wanted, _): wantsMergeDriver = wanted
    }
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let world = World(context.environment)
    let setup = WorkspaceSetup(
      path: WorkspaceFolder.absolute(folder ?? context.folder ?? "."),
      server: try serverSettings(), template: template, signIn: try signIn(), environment: world.environment)
    let made = try await setup.run()
    for warning in made.warnings { context.terminal.note("warning: \(warning)") }
    let hasMergeDriver = setUpGit(made.folder, context)
    if context.terminal.isJSON {
      context.terminal.print([
        "workspace": .string(made.folder.path), "server": .string(made.settings.server.url),
        "user": .string(made.user.id), "anonymous": .bool(made.user.isAnonymous),
        "written": .array(made.written.map(JSONValue.string)), "mergeDriver": .bool(hasMergeDriver),
      ])
    } else {
      let who = made.user.isAnonymous ? "a new anonymous account" : made.user.email ?? made.user.id
      context.terminal.print(
        "\(Terminal.safe(made.folder.path)) is a workspace of \(made.settings.server.url), signed in as \(who).")
      context.terminal.print("Next: 'tidemark watch' keeps it in step; 'tidemark sync' does it once.")
    }
    return .success
  }

  /// Has git merge rows column by column where the person agrees.
  ///
  /// The workspace is made by then: what git does not take is told, and no failure.
  ///
  /// - Returns: Whether git does.
  private func setUpGit(_ folder: WorkspaceFolder, _ context: CommandContext) -> Bool {
    let driver = MergeDriver(folder, environment: context.environment)
    if wantsMergeDriver == false { return false }
    if wantsMergeDriver == nil {
      guard driver.isInRepository else { return false }
      if driver.isInstalled { return true }
      guard !context.terminal.isJSON, isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
        context.terminal.note(
          "git can merge rows column by column here: 'tidemark merge-driver --install' sets it up")
        return false
      }
      Terminal.prompt(
        """
        This folder is in a git repository. Git can merge rows column by column: that
        adds a merge driver to the repository's configuration, and to .gitattributes
        the collections' folders. Set it up? [y/N]\u{20}
        """)
      guard ["y", "yes"].contains((readLine() ?? "").lowercased()) else {
        context.terminal.note("Not set up; 'tidemark merge-driver --install' does it later.")
        return false
      }
    }
    do throws(CommandFailure) {
      context.terminal.note(MergeDriverCommand.sentence(try driver.install()))
      return true
    } catch {
      context.terminal.note("warning: \(error.message)")
      return false
    }
  }

  private func serverSettings() throws(ServerSettingsError) -> ServerSettings? {
    switch server {
    case nil: nil
    case .project(let url, let key): try ServerSettings(url: url, key: key)
    case .rest(let url, let key): try ServerSettings(rest: url, key: key)
    }
  }

  private func signIn() throws -> WorkspaceSetup.SignIn {
    switch account {
    case .anonymous: .anonymous
    case .token(let token): .token(token)
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
