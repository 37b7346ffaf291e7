import Daemon

/// The command `tidemark logout`.
struct LogoutCommand: Command {
  static let description = CommandDescription(
    name: "logout", summary: "Sign the workspace's user out on this device: nothing is sent or fetched any more.",
    discussion: """
      Files and queued edits stay, and new edits are queued until 'tidemark login'. Works without a network: the tokens
      here are deleted in any case, and the server is told where it can be. Exit code 1 with --everywhere when it could
      not be told, since the other sessions then go on.
      """,
    options: [
      .flag("--everywhere", "End the user's sessions on all devices."),
      .flag("--abandon-account", "Sign out of an anonymous account, too, which then is lost for good."),
    ])

  private let isEverywhere: Bool
  private let abandonsAccount: Bool

  init(_ arguments: Arguments) throws(UsageError) {
    isEverywhere = arguments.has("--everywhere")
    abandonsAccount = arguments.has("--abandon-account")
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let world = World(context.environment)
    let requests = AccountRequests(try context.workspaceFolder(), environment: world.environment)
    let result = try await requests.logOut(everywhere: isEverywhere, abandonsAccount: abandonsAccount)
    let terminal = context.terminal
    if terminal.isJSON {
      terminal.print([
        "signedIn": false, "wasSignedIn": .bool(result.wasSignedIn), "serverTold": .bool(result.serverTold),
      ])
    } else if result.wasSignedIn {
      terminal.print("signed out; files and queued edits stay, and nothing is sent until 'tidemark login'")
    } else {
      terminal.print("nobody was signed in")
    }
    if !result.serverTold, let reason = result.reason {
      terminal.note("the server could not be told (\(Terminal.safe(reason))); the tokens here are deleted")
    }
    guard isEverywhere, !result.serverTold else { return .success }
    terminal.note(
      "tidemark: sessions on other devices go on; sign in and run 'tidemark logout --everywhere' when the server is "
        + "there")
    return .failure
  }
}
