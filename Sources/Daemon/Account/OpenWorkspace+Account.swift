import FileWorkspace
import LosslessJSON
import OfflineEngine
import SupabaseAPI

/// What a sign-out came to.
public struct SignOutResult: Sendable, Hashable {
  /// Whether somebody was signed in.
  public var wasSignedIn: Bool
  /// Whether the server ended the session, too.
  public var serverTold: Bool
  /// Why the server was not told.
  public var reason: String?

  var json: JSONValue {
    [
      "wasSignedIn": .bool(wasSignedIn), "serverTold": .bool(serverTold),
      "reason": reason.map(JSONValue.string) ?? .null,
    ]
  }

  /// The result as a watcher sent it.
  public init(json: JSONValue) {
    wasSignedIn = json["wasSignedIn"]?.boolValue ?? false
    serverTold = json["serverTold"]?.boolValue ?? false
    reason = json["reason"]?.stringValue
  }

  init(_ outcome: SessionKeeper.SignOut) {
    (wasSignedIn, serverTold) = (outcome != .nobody, outcome == .done)
    if case .onlyHere(let text) = outcome { reason = text }
  }
}

extension OpenWorkspace {
  /// The account of this workspace.
  public func account() throws -> WorkspaceAccount {
    try client.read { try WorkspaceAccount($0, folder, settings) }
  }

  /// Takes a session that somebody has just signed in for.
  ///
  /// - Throws: `DaemonError.signIn` for another user's.
  func take(_ session: Session) async throws {
    try LoginRules.check(session.user, is: try account())
    try await client.sessions.replace(with: session)
    try client.transaction { try $0.setNote(Note.account, WorkspaceAccount.note(session.user)) }
    record([WorkspaceEvent(.note, "", "signed in")])
  }

  /// Signs out; queue and files stay as they are.
  func signOut(everywhere: Bool, abandonsAccount: Bool) async throws -> SignOutResult {
    let account = try account()
    if account.isSignedIn, account.isAnonymous == true, !abandonsAccount {
      throw DaemonError.signIn(reason: LoginRules.abandonAnonymous)
    }
    let mayAsk = client.syncStatus.network != .disabled
    let outcome = try await client.sessions.signOut(everywhere ? .global : .local, mayAsk: mayAsk)
    if outcome != .nobody { record([WorkspaceEvent(.note, "", "signed out")]) }
    return SignOutResult(outcome)
  }

  /// Asks the server whether the anonymous account's session lives.
  private func verify() async throws {
    do throws(SessionFailure) {
      try await client.sessions.verify()
    } catch let failure {
      if case .ended = failure { throw DaemonError.signIn(reason: LoginRules.accountGone(try account())) }
      throw failure
    }
  }

  /// Answers the requests about the account, for the watcher and for a command alike; `nil` for other requests.
  func answerAccount(_ request: ControlRequest) async throws -> JSONValue? {
    switch request.command {
    case "login":
      try await take(Session(json: request.arguments["session"] ?? .null))
      return .object(try account().json)
    case "logout":
      return try await signOut(
        everywhere: request.arguments["everywhere"]?.boolValue ?? false,
        abandonsAccount: request.arguments["abandon"]?.boolValue ?? false
      ).json
    case "verify":
      try await verify()
      return .null
    default: return nil
    }
  }
}

/// Requests about a workspace's account, done by the running watcher or by this process.
public struct AccountRequests: Sendable {
  private let folder: WorkspaceFolder
  private let environment: EngineEnvironment

  /// Requests to the workspace at `folder`.
  public init(_ folder: WorkspaceFolder, environment: EngineEnvironment) {
    self.folder = folder
    self.environment = environment
  }

  /// Hands over a session that was just signed in for.
  public func logIn(_ session: Session) async throws { _ = try await ask("login", ["session": session.json]) }

  /// Signs out.
  public func logOut(everywhere: Bool, abandonsAccount: Bool) async throws -> SignOutResult {
    SignOutResult(
      json: try await ask("logout", ["everywhere": .bool(everywhere), "abandon": .bool(abandonsAccount)]))
  }

  /// Asks the server whether the stored session lives.
  public func verify() async throws { _ = try await ask("verify", [:]) }

  private func ask(_ command: String, _ arguments: JSONObject) async throws -> JSONValue {
    try await WorkspaceDoor.ask(ControlRequest(command, arguments), of: folder, environment: environment)
  }
}
