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

/// Whether the server takes the stored session.
public enum SessionState: Sendable, Hashable {
  /// It does.
  case alive
  /// It is over, or there is none; the reason says what to do.
  case ended(reason: String)
  /// It cannot be told now.
  case unknown(reason: String)

  var json: JSONValue {
    switch self {
    case .alive: ["state": "alive"]
    case .ended(let reason): ["state": "ended", "reason": .string(reason)]
    case .unknown(let reason): ["state": "unknown", "reason": .string(reason)]
    }
  }

  init(json: JSONValue) {
    let reason = json["reason"]?.stringValue ?? ""
    switch json["state"]?.stringValue {
    case "alive": self = .alive
    case "ended": self = .ended(reason: reason)
    default: self = .unknown(reason: reason)
    }
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
    try await sessions.replace(with: session)
    try noteSignedIn(session.user)
  }

  private func noteSignedIn(_ user: User) throws {
    try client.transaction { transaction in
      try transaction.setNote(Note.account, WorkspaceAccount.note(user))
      try transaction.setNote(Note.sessionEnded, nil)
    }
    record([WorkspaceEvent(.note, "", "signed in")])
  }

  /// Takes tokens that somebody else keeps ready.
  ///
  /// - Throws: `DaemonError.signIn` for another user's, `ReadyTokenError` where there is none.
  func take(_ token: ReadyToken) async throws {
    let session = try token.session()
    try LoginRules.check(session.user, is: try account())
    try folder.session.save(token)
    try sessions.reread()
    try noteSignedIn(session.user)
  }

  /// Signs out; queue and files stay as they are.
  func signOut(everywhere: Bool, abandonsAccount: Bool) async throws -> SignOutResult {
    let account = try account()
    if account.isSignedIn, account.isAnonymous == true, !abandonsAccount {
      throw DaemonError.signIn(reason: LoginRules.abandonAnonymous)
    }
    let mayAsk = client.syncStatus.network != .disabled
    let outcome = try await sessions.signOut(everywhere ? .global : .local, mayAsk: mayAsk)
    if outcome != .nobody { record([WorkspaceEvent(.note, "", "signed out")]) }
    return SignOutResult(outcome)
  }

  /// Asks the server whether the session lives.
  private func sessionState() async -> SessionState {
    do throws(SessionFailure) {
      try await sessions.verify()
      return .alive
    } catch {
      let failure = SyncFailure.session(error)
      return failure.mayPass ? .unknown(reason: failure.description) : .ended(reason: failure.description)
    }
  }

  /// Answers the requests about the account, for the watcher and for a command alike; `nil` for other requests.
  func answerAccount(_ request: ControlRequest) async throws -> JSONValue? {
    switch request.command {
    case "login":
      if let token = request.arguments["token"].flatMap(ReadyToken.init) {
        try await take(token)
      } else {
        try await take(Session(json: request.arguments["session"] ?? .null))
      }
      return .object(try account().json)
    case "logout":
      return try await signOut(
        everywhere: request.arguments["everywhere"]?.boolValue ?? false,
        abandonsAccount: request.arguments["abandon"]?.boolValue ?? false
      ).json
    case "verify":
      return await sessionState().json
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

  /// Hands over where ready tokens come from.
  public func logIn(_ token: ReadyToken) async throws { _ = try await ask("login", ["token": .object(token.json)]) }

  /// Signs out.
  public func logOut(everywhere: Bool, abandonsAccount: Bool) async throws -> SignOutResult {
    SignOutResult(
      json: try await ask("logout", ["everywhere": .bool(everywhere), "abandon": .bool(abandonsAccount)]))
  }

  /// Asks the server whether the stored session lives, and renews its access token where that has ended.
  public func sessionState() async throws -> SessionState { SessionState(json: try await ask("verify", [:])) }

  private func ask(_ command: String, _ arguments: JSONObject) async throws -> JSONValue {
    try await WorkspaceDoor.ask(ControlRequest(command, arguments), of: folder, environment: environment)
  }
}
