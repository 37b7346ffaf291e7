import SupabaseAPI

/// Who may sign in to a workspace: its own user, and nobody else.
public enum LoginRules {
  /// What a login has to do.
  public enum Step: Sendable, Hashable {
    /// Ask the server for a session of this address.
    case signIn(email: String)
    /// Ask whether the stored session of the anonymous account still lives: nothing else can be done for it.
    case verify
  }

  /// What a login has to do, before any password is asked for.
  ///
  /// - Parameter email: The address that the person gave.
  /// - Throws: `DaemonError.signIn` where no login can help.
  public static func step(_ account: WorkspaceAccount, email: String?) throws(DaemonError) -> Step {
    if let email { return .signIn(email: email) }
    if let email = account.email { return .signIn(email: email) }
    guard account.isAnonymous == true else {
      throw .signIn(
        reason: "nobody remembers the e-mail address of this workspace's user \(account.user); give --sign-in EMAIL")
    }
    if account.isSignedIn { return .verify }
    throw .signIn(reason: accountGone(account))
  }

  /// Checks that the user who has just signed in is the workspace's own.
  ///
  /// - Throws: `DaemonError.signIn` with what to do instead.
  public static func check(_ user: User, is account: WorkspaceAccount) throws(DaemonError) {
    guard user.id != account.user else { return }
    let other = user.email ?? user.id
    if account.isAnonymous == true, !account.isSignedIn {
      throw .signIn(
        reason: "\(other) is another user than this workspace's, and one's rows are not the other's: nothing was "
          + "changed. " + accountGone(account))
    }
    throw .signIn(
      reason: "this workspace belongs to \(account.name), and \(other) is another user, whose rows are others: "
        + "nothing was changed. Sign in as its own user, or make another folder a workspace of \(other): "
        + "'tidemark init DIR --sign-in \(other)'")
  }

  /// What to say when the session of an anonymous account is lost.
  public static func accountGone(_ account: WorkspaceAccount) -> String {
    let unsent = account.pending == 0 ? "" : " and \(account.pending) unsent change\(account.pending == 1 ? "" : "s")"
    return "this workspace belongs to an anonymous account, which hung on its session alone, and that is lost: nobody "
      + "can sign in to it again, and its rows on the server cannot be reached from here. Your files\(unsent) are still "
      + "here, untouched. What can be done: whoever runs the project gives the user \(account.user) an e-mail address "
      + "and a password, then 'tidemark login --sign-in EMAIL' goes on here; or begin anew: move .tidemark away, take "
      + "the keys (\"id\") out of the files, and 'tidemark init --sign-up EMAIL' makes new rows of them"
  }

  /// What to say when somebody would sign out of an account that ends with that.
  public static let abandonAnonymous =
    "this workspace belongs to an anonymous account, which ends with its session: nobody could ever sign in to it again, "
    + "and its rows on the server would be out of reach. Nothing was changed; say --abandon-account if that is meant"
}
