import FileWorkspace
import Glibc
import LosslessJSON
import OfflineEngine
import SupabaseAPI

/// Makes a folder into a workspace.
public struct WorkspaceSetup: Sendable {
  /// How the workspace's user signs in.
  public enum SignIn: Sendable {
    /// A new anonymous account, tied to this workspace's session alone.
    case anonymous
    /// A new account.
    case signUp(email: String, password: Secret)
    /// An account that exists.
    case signIn(email: String, password: Secret)
    /// Tokens that somebody else makes and keeps ready.
    case token(ReadyToken)
  }

  /// What was made.
  public struct Result: Sendable {
    /// The workspace.
    public var folder: WorkspaceFolder
    /// Its user.
    public var user: User
    /// Its settings.
    public var settings: WorkspaceSettings
    /// Files that were laid down.
    public var written: [String]
    /// What the person should know, a sentence each.
    public var warnings: [String]
  }

  /// The folder's absolute path; it is made when it is absent.
  public var path: String
  /// The project's URL and publishable key; `nil` takes them from an existing `tidemark.json`.
  public var server: ServerSettings?
  /// What the workspace begins with.
  public var template: WorkspaceTemplate
  /// Who its user is.
  public var signIn: SignIn
  /// The world.
  public var environment: EngineEnvironment

  /// A set-up of the given parts.
  public init(
    path: String, server: ServerSettings?, template: WorkspaceTemplate, signIn: SignIn, environment: EngineEnvironment
  ) {
    self.path = path
    self.server = server
    self.template = template
    self.signIn = signIn
    self.environment = environment
  }

  /// Does it: everything that can fail for a reason outside comes first, so that a failure leaves the folder as it was.
  public func run() async throws -> Result {
    let folder = WorkspaceFolder(path: path)
    guard !folder.isWorkspace else { throw DaemonError.alreadyWorkspace(folder: path) }
    let (settings, isNew) = try chosenSettings(folder)
    let project = try settings.server.project
    let session = try await session(AuthClient(project: project, http: environment.http))
    let warnings = settingsWarnings(settings) + (await tableWarnings(settings, project, session))
    let written = try layDown(folder, settings, isNew: isNew, session)
    return Result(folder: folder, user: session.user, settings: settings, written: written, warnings: warnings)
  }

  /// The settings that stand in the folder, as in a clone, or the template's.
  private func chosenSettings(_ folder: WorkspaceFolder) throws -> (WorkspaceSettings, isNew: Bool) {
    if access(folder.settingsPath, F_OK) == 0 {
      let settings = try folder.settings()
      if let server, server.url != settings.server.url {
        throw DaemonError.settings(
          "'\(folder.settingsPath)' names the server \(settings.server.url), not \(server.url); leave --server out, or "
            + "change the file")
      }
      return (settings, false)
    }
    guard let server else {
      throw DaemonError.settings("there is no tidemark.json in '\(path)'; give --server URL and --key KEY")
    }
    return (try WorkspaceSettings(parsing: Array(WorkspaceSettings.text(template, server: server).utf8)), true)
  }

  private func session(_ auth: AuthClient) async throws -> Session {
    if case .token(let token) = signIn { return try token.session() }
    do throws(AuthFailure) {
      switch signIn {
      case .anonymous: return try await auth.signUpAnonymously()
      case .signUp(let email, let password): return try await auth.signUp(email: email, password: password)
      case .signIn(let email, let password): return try await auth.signIn(email: email, password: password)
      case .token: throw .noService
      }
    } catch .noService {
      throw DaemonError.signIn(
        reason:
          "the server's settings name no Auth service: give --token-file FILE or --token-command COMMAND; nothing "
          + "was changed")
    } catch {
      throw DaemonError.signIn(
        reason: "nobody could be signed in at \(auth.project.url): \(error); nothing was changed")
    }
  }

  private func settingsWarnings(_ settings: WorkspaceSettings) -> [String] {
    settings.collections.filter { $0.version == nil }.map { collection in
      "the collection '\(collection.folder)' has no version column: a change made elsewhere at the same moment can be "
        + "overwritten unseen. Add a column that every update moves, and name it as \"version\" in tidemark.json"
    }
  }

  /// Asks each table for its columns, so that a misspelt one is told now.
  private func tableWarnings(_ settings: WorkspaceSettings, _ project: Project, _ session: Session) async -> [String] {
    let tables = TableClient(project: project, http: environment.http)
    var warnings: [String] = []
    for table in Workspace.tables(settings) {
      do {
        _ = try await tables.send(
          .select(table.name, columns: table.readColumns, limit: 1), accessToken: session.accessToken)
      } catch {
        warnings.append("table '\(table.name)' cannot be read yet: \(error)")
      }
    }
    return warnings
  }

  // MARK: On the disk

  private func layDown(
    _ folder: WorkspaceFolder, _ settings: WorkspaceSettings, isNew: Bool, _ session: Session
  ) throws -> [String] {
    try makeFolders(path)
    let files = try LiveFileSystem(root: path)
    var written: [String] = []
    try files.createFolder(StateFolder.root, isPrivate: true)
    do {
      try StateFolder.create(in: files)
      if case .token(let token) = signIn { try folder.session.save(token) } else { try folder.session.save(session) }
      let store = try EngineStore(
        path: folder.databasePath, clock: environment.clock, callerMigrations: Workspace.migrations)
      try OpenWorkspace.claim(store, for: session.user, settings)
      if isNew {
        for file in template.files(server: settings.server) where try files.status(file.path) == nil {
          if let slash = file.path.lastIndex(of: "/") {
            try files.createFolder(String(file.path[..<slash]), isPrivate: false)
          }
          try files.replace(file.path, with: file.bytes, temporaryFolder: StateFolder.temporary)
          written.append(file.path)
        }
      }
      for collection in settings.collections { try files.createFolder(collection.folder, isPrivate: false) }
    } catch {
      try? folder.session.clear()
      for suffix in ["", "-wal", "-shm"] { unlink(folder.databasePath + suffix) }
      for name in [StateFolder.temporary, StateFolder.replaced, StateFolder.trash, StateFolder.root] {
        try? files.removeFolder(name)
      }
      throw error
    }
    SchemaFiles.refresh(settings, in: files)
    return written
  }

  private func makeFolders(_ path: String) throws(DaemonError) {
    if mkdir(path, 0o777) == 0 || errno == EEXIST { return }
    guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
      throw .file(path: path, reason: "cannot make this folder: \(String(cString: strerror(errno)))")
    }
    try makeFolders(String(path[..<slash]))
    guard mkdir(path, 0o777) == 0 || errno == EEXIST else {
      throw .file(path: path, reason: "cannot make this folder: \(String(cString: strerror(errno)))")
    }
  }
}
