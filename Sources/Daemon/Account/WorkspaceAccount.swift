import FileWorkspace
import LosslessJSON
import OfflineEngine
import SupabaseAPI

/// Whose a workspace is, and whether they are signed in, as the disk tells it.
public struct WorkspaceAccount: Sendable, Hashable {
  /// The user's id: it never changes in a workspace's life.
  public var user: String
  /// The user's address as last heard; `nil` for an anonymous account, or where it was never heard.
  public var email: String?
  /// Whether the account hangs on its session alone; `nil` where nobody knows any more.
  public var isAnonymous: Bool?
  /// The project's URL.
  public var server: String
  /// Whether a session is stored that the server has not ended, as far as this device knows.
  public var isSignedIn: Bool
  /// When the stored access token ends, in Unix seconds on the server's clock; it is then renewed by itself.
  public var expiresAt: Int64?
  /// Writes that wait to be sent.
  public var pending: Int

  /// An account of the given parts.
  public init(
    user: String, email: String? = nil, isAnonymous: Bool? = nil, server: String, isSignedIn: Bool,
    expiresAt: Int64? = nil, pending: Int = 0
  ) {
    self.user = user
    self.email = email
    self.isAnonymous = isAnonymous
    self.server = server
    self.isSignedIn = isSignedIn
    self.expiresAt = expiresAt
    self.pending = pending
  }

  /// Reads it, without a watcher and without the workspace's lock.
  public static func read(_ folder: WorkspaceFolder, clock: any EngineClock) throws -> WorkspaceAccount {
    let settings = try folder.settings()
    let store = try EngineStore(path: folder.databasePath, clock: clock, callerMigrations: Workspace.migrations)
    let identity = try WorkspaceIdentity(store, folder, settings)
    return try store.read(user: identity.user) { try WorkspaceAccount($0, folder, settings) }
  }

  /// The account as this state and the session file tell it.
  init(_ transaction: EngineTransaction, _ folder: WorkspaceFolder, _ settings: WorkspaceSettings) throws {
    // A file that is no session says nothing; 'login' puts a good one in its place.
    let session = (try? folder.session.load()).flatMap { $0.user.id == transaction.user ? $0 : nil }
    let known = try transaction.note(OpenWorkspace.Note.account).flatMap { try? JSONValue(parsing: $0) }
    let hasEnded = try transaction.note(OpenWorkspace.Note.sessionEnded) != nil
    self.init(
      user: transaction.user, email: session?.user.email ?? known?["email"]?.stringValue,
      isAnonymous: session?.user.isAnonymous ?? known?["anonymous"]?.boolValue, server: settings.server.url,
      isSignedIn: session != nil && !hasEnded, expiresAt: session?.expiresAt, pending: try transaction.counts().queued)
  }

  /// What is remembered of a user beside the id, for the time after the session.
  static func note(_ user: User) -> String {
    let json: JSONObject = [
      "email": user.email.map(JSONValue.string) ?? .null, "anonymous": .bool(user.isAnonymous),
    ]
    return JSONValue.object(json).serialized()
  }

  /// The account as `tidemark whoami --json` prints it.
  public var json: JSONObject {
    [
      "user": .string(user), "email": email.map(JSONValue.string) ?? .null,
      "anonymous": isAnonymous.map(JSONValue.bool) ?? .null, "server": .string(server), "signedIn": .bool(isSignedIn),
      "expiresAt": expiresAt.map { .string(WallTime.text(secondsSince1970: $0)) } ?? .null,
    ]
  }

  /// The account in a sentence's words.
  public var name: String {
    if let email { return email }
    return isAnonymous == true ? "the anonymous account \(user)" : "the user \(user)"
  }
}
