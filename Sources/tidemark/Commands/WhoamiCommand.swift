import Daemon
import OfflineEngine

/// The command `tidemark whoami`.
struct WhoamiCommand: Command {
  static let description = CommandDescription(
    name: "whoami", summary: "Show whose workspace this is, and whether they are signed in.",
    discussion: "Needs no network. Exit code 0: signed in; 4: somebody must sign in.")

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(in context: CommandContext) async throws -> ExitStatus {
    let account = try WorkspaceAccount.read(try context.workspaceFolder(), clock: LiveClock())
    if context.terminal.isJSON {
      context.terminal.print(.object(account.json))
    } else {
      context.terminal.print(context.terminal.bold(Terminal.safe(account.name)))
      context.terminal.print("user     \(Terminal.safe(account.user))")
      context.terminal.print("server   \(account.server)")
      let renewed =
        account.expiresAt.map { "; the access token is renewed by \(WallTime.text(secondsSince1970: $0))" } ?? ""
      context.terminal.print(account.isSignedIn ? "session  signed in\(renewed)" : "session  nobody is signed in")
    }
    if account.isSignedIn { return .success }
    let gone = account.isAnonymous == true && account.email == nil
    context.terminal.note(
      gone ? "tidemark: \(LoginRules.accountGone(account))" : "Next: 'tidemark login'; until then edits are queued.")
    return .needsPerson
  }
}
