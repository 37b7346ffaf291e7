import Daemon
import LosslessJSON
import OfflineEngine
import SupabaseAPI

/// The command `tidemark login`.
struct LoginCommand: Command {
  static let description = CommandDescription(
    name: "login", summary: "Sign the workspace's user in again, after a session has ended or 'tidemark logout'.",
    discussion: """
      A workspace belongs to one user for life: signing in as another is refused, since one's rows are not the other's.
      A running watcher goes on with the new session by itself. The password comes from --password-file or is asked
      for; it is never a word of the command line.
      """,
    options: [
      .value("--sign-in", "EMAIL", "The user's address (default: the one that the workspace remembers)."),
      .value("--password-file", "FILE", "Read the password from the first line of FILE; '-' is standard input."),
      .value("--token-file", "FILE", "Take access tokens from the first line of FILE, now and later."),
      .value("--token-command", "COMMAND", "Take access tokens from what a shell command prints, now and later."),
    ])

  private let email: String?
  private let passwordFile: String?
  private let token: ReadyToken?

  init(_ arguments: Arguments) throws(UsageError) {
    email = arguments.value("--sign-in")
    passwordFile = arguments.value("--password-file")
    token = try ReadyToken.chosen(arguments)
    if token != nil, email != nil || passwordFile != nil {
      throw UsageError(message: "with --token-file or --token-command nobody signs in: leave --sign-in out")
    }
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let folder = try context.workspaceFolder()
    let account = try WorkspaceAccount.read(folder, clock: LiveClock())
    let world = World(context.environment)
    let requests = AccountRequests(folder, environment: world.environment)
    if let token {
      try await requests.logIn(token)
      try reportLogin(folder, context.terminal)
      return .success
    }
    guard try folder.settings().server.services[.auth] != nil else {
      throw CommandFailure(
        message: "tidemark.json names no Auth service: give --token-file FILE or --token-command COMMAND")
    }
    switch try LoginRules.step(account, email: email) {
    case .verify:
      switch try await requests.sessionState() {
      case .alive: report(account, context.terminal, "signed in already as \(account.name); it needs no login")
      case .ended: throw CommandFailure(message: LoginRules.accountGone(account))
      case .unknown(let reason):
        throw CommandFailure(message: "whether the session lives cannot be told now: \(Terminal.safe(reason))")
      }
    case .signIn(let email):
      let session = try await session(email, folder, account, world)
      try await requests.logIn(session)
      try reportLogin(folder, context.terminal)
    }
    return .success
  }

  private func reportLogin(_ folder: WorkspaceFolder, _ terminal: Terminal) throws {
    let now = try WorkspaceAccount.read(folder, clock: LiveClock())
    let waiting = now.pending == 0 ? "" : "; \(now.pending) change\(now.pending == 1 ? "" : "s") can be sent"
    report(now, terminal, "signed in as \(now.name)\(waiting)")
  }

  private func session(
    _ email: String, _ folder: WorkspaceFolder, _ account: WorkspaceAccount, _ world: World
  ) async throws -> Session {
    let settings = try folder.settings()
    let auth = AuthClient(project: try settings.server.project, http: world.http)
    let password = try Password.read(from: passwordFile)
    let session: Session
    do throws(AuthFailure) {
      session = try await auth.signIn(email: email, password: password)
    } catch {
      throw CommandFailure(
        message: "\(Terminal.safe(email)) could not be signed in at \(settings.server.url): \(error); nothing was "
          + "changed")
    }
    do {
      try LoginRules.check(session.user, is: account)
    } catch {
      // Nobody will use it: it should not stay good for ever.
      try? await auth.signOut(accessToken: session.accessToken)
      throw CommandFailure(message: Terminal.safe("\(error)"))
    }
    return session
  }

  private func report(_ account: WorkspaceAccount, _ terminal: Terminal, _ line: String) {
    if terminal.isJSON { terminal.print(.object(account.json)) } else { terminal.print(Terminal.safe(line)) }
  }
}
