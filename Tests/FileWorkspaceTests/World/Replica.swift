import LosslessJSON
import OfflineEngine
import StandInServer
import SupabaseAPI
import Synchronization
import Testing

@testable import FileWorkspace

/// What one sync came to.
struct SyncResult {
  var replay = SyncReport()
  var files = WorkspaceReport()
  var failure: SyncFailure?

  /// Whether nothing was queued, sent or written.
  var isQuiet: Bool {
    replay.synced == 0 && files.queued == 0 && files.filesWritten == 0 && files.filesRemoved == 0
      && replay.rejected.isEmpty && replay.conflicted.isEmpty
  }
}

/// The process has died.
struct Killed: Error {}

/// One workspace on one device: its files, its state, and the program that keeps them in step.
final class Replica {
  let files: InMemoryFileSystem
  let network: StandInExchange
  let store: EngineStore
  private(set) var settings: WorkspaceSettings
  private let clock: VirtualClock
  private let world: TaskWorld
  private let environment: EngineEnvironment
  private(set) var client: UserEngine
  private(set) var workspace: Workspace
  /// Whether this run of the program has looked at everything once, as a watch does at its start.
  private(set) var hasLooked = false
  /// The process's transactions, which can be its end.
  let commits = CommitCounter()

  fileprivate struct FixedSession: SessionStorage {
    let session: Session
    func load() -> Session? { session }
    func save(_ session: Session) {}
    func clear() {}
  }

  init(
    _ world: TaskWorld, number: Int, _ columns: [JSONValue], conflicts: String? = nil,
    photos: JSONObject = ["folder": "photos"]
  ) throws {
    self.world = world
    clock = world.clock
    let clock = clock
    let files = InMemoryFileSystem(now: { clock.now().nanoseconds })
    self.files = files
    network = StandInExchange(world.server, isDead: { files.isStopped })
    settings = try Self.settings(world.server, columns, conflicts, photos)
    let lastID = Atomic(0)
    // No two replicas of a project make the same keys.
    let prefix = String(0x1000_0000 + world.number * 16 + number, radix: 16)
    environment = EngineEnvironment(clock: clock, http: network) {
      let digits = String(lastID.add(1, ordering: .relaxed).newValue, radix: 16)
      return prefix + "-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    }
    let commits = commits
    store = try EngineStore(
      path: ":memory:", clock: clock, callerMigrations: Workspace.migrations,
      beforeCommit: { try commits.count(files) })
    try files.person.createFolder(StateFolder.root)
    try files.makeNamesDurable([""])
    files.restart()
    (client, workspace) = try Self.start(world, store, settings, files, environment)
  }

  private static func settings(
    _ server: StandIn, _ columns: [JSONValue], _ conflicts: String?, _ photos: JSONObject
  ) throws -> WorkspaceSettings {
    var collection: JSONObject = [
      "folder": "tasks", "table": "tasks", "key": "id", "version": "updated_at", "cursor": "updated_at",
      "name": "title", "columns": .array(columns), "photos": .object(photos),
    ]
    collection["conflicts"] = conflicts.map(JSONValue.string)
    let json: JSONValue = [
      "server": ["url": .string(StandInExchange.origin), "key": .string(server.publishableKey)],
      "collections": [.object(collection)],
    ]
    return try WorkspaceSettings(parsing: Array(json.serialized().utf8))
  }

  private static func start(
    _ world: TaskWorld, _ store: EngineStore, _ settings: WorkspaceSettings, _ files: InMemoryFileSystem,
    _ environment: EngineEnvironment
  ) throws -> (UserEngine, Workspace) {
    let project = try TaskWorld.project(world.server)
    let user = world.session.user.id
    let sessions = SessionKeeper(
      user: user, auth: AuthClient(project: project, http: environment.http),
      storage: FixedSession(session: world.session), clock: environment.clock)
    let settler = ConflictSettler(settings: settings, store: store, user: user, files: files, clock: environment.clock)
    let client = UserEngine(
      store: store, user: user,
      configuration: EngineConfiguration(
        project: project, tables: Workspace.tables(settings), resolver: settler.resolver),
      sessions: sessions, environment: environment)
    var parts = WorkspaceParts(
      settings: settings, client: client, files: files, environment: environment, settler: settler)
    parts.inspectPhoto = FakePhoto.inspect
    return (client, Workspace(parts))
  }

  /// Begins a new process over the same disk and state, as after an end or a kill.
  ///
  /// - Parameter conflicts: What the settings say of conflicts from now on, if that changed meanwhile.
  func restart(conflicts: ConflictPolicy? = nil) throws {
    if let conflicts { for index in settings.collections.indices { settings.collections[index].conflicts = conflicts } }
    commits.restart()
    files.restart()
    hasLooked = false
    (client, workspace) = try Self.start(world, store, settings, files, environment)
  }

  // MARK: The order of a sync, as the command has it

  @discardableResult
  func sync(isConfirmed: Bool = false) async throws -> SyncResult {
    var result = SyncResult()
    await workspace.beginSync()
    result.files = try await workspace.start()
    result.files.add(isConfirmed ? try await workspace.confirm() : try await workspace.scan())
    hasLooked = true
    try await readPhotos(&result)
    (result.replay, result.failure) = await exchange(isConfirmed: isConfirmed)
    result.files.add(try await workspace.writeRows())
    if try await workspace.hasOpenAbsences() {
      clock.advance(Workspace.absenceProof)
      result.files.add(try await workspace.scan(deleteAfter: .zero))
      result.files.add(try await workspace.writeRows())
    }
    result.files.add(try await workspace.tick(isLast: true))
    if result.failure == nil, !(try queue).isEmpty {
      let (second, failure) = await exchange(isConfirmed: false)
      result.replay.synced += second.synced
      result.replay.rejected += second.rejected
      result.replay.conflicted += second.conflicted
      result.failure = failure
      result.files.add(try await workspace.writeRows())
    }
    while result.failure == nil {
      let run = try await PhotoTransfers(workspace).run(isOnline: true)
      result.files.add(run.report)
      result.failure = run.failure
      guard run.failure == nil, run.report.queued > 0 else { break }
      let (another, failure) = await exchange(isConfirmed: false)
      result.replay.synced += another.synced
      result.failure = failure
      result.files.add(try await workspace.writeRows())
    }
    try await workspace.seeWrittenFiles()
    clock.advance(.seconds(5))
    return result
  }

  /// Reads photos that are new or have changed, once they were left alone.
  private func readPhotos(_ result: inout SyncResult) async throws {
    for _ in 0..<3 {
      result.files.add(try await PhotoTransfers(workspace).run(isOnline: false).report)
      guard let due = try await workspace.nextPhotoReadDue() else { return }
      advance(to: due)
      result.files.add(try await workspace.look(at: []))
    }
  }

  /// One round of a running watch: the events of these files, in this order, then the network, then what is due.
  func watch(_ names: [String]) async throws -> SyncResult {
    var result = SyncResult()
    for name in names { result.files.add(try await workspace.look(at: ["tasks/\(name)"])) }
    (result.replay, result.failure) = await exchange()
    await workspace.beginSync()
    result.files.add(try await workspace.writeRows())
    result.files.add(try await workspace.tick())
    return result
  }

  /// Syncs until a sync finds nothing to do.
  @discardableResult
  func settle() async throws -> Int {
    for round in 1...12 {
      let result = try await sync()
      if result.isQuiet, result.failure == nil { return round }
    }
    Issue.record("it does not come to rest")
    return 99
  }

  func exchange(isConfirmed: Bool = false) async -> (SyncReport, SyncFailure?) {
    let replay = await client.syncPendingMutations()
    if let failure = replay.stoppedBy { return (replay, failure) }
    for table in settings.tables {
      do throws(SyncFailure) {
        _ = try await client.pull(table, isConfirmed: isConfirmed)
      } catch {
        return (replay, error)
      }
    }
    return (replay, nil)
  }

  func advance(_ duration: Duration) { clock.advance(duration) }

  func setClock(forwardBy duration: Duration) { clock.leap(duration) }

  func advance(to time: WallTime) { clock.advance(max(.zero, time - clock.now())) }

  // MARK: What a person does

  func write(_ name: String, _ text: String) throws { try files.person.save("tasks/\(name)", Array(text.utf8)) }

  /// Saves as most editors do: a new file renamed over the old one.
  func rewrite(_ name: String, _ text: String) throws {
    try files.person.saveByRename("tasks/\(name)", Array(text.utf8))
  }

  /// Changes columns of a file as it stands, leaving everything else.
  func edit(_ name: String, _ columns: JSONObject) throws {
    var document = try JSONDocument(parsing: files.person.bytes("tasks/\(name)") ?? [])
    for (column, value) in columns.members { document = document.setting(column, to: value) }
    try files.person.saveByRename("tasks/\(name)", document.bytes)
  }

  func remove(_ name: String) throws { try files.person.remove("tasks/\(name)") }

  func move(_ from: String, _ to: String) throws { try files.person.rename("tasks/\(from)", "tasks/\(to)") }

  /// Makes the workspace a git repository whose record of HEAD's moves shows these deeds.
  func recordOfGit(_ deeds: String...) throws {
    let lines = deeds.map { "0 0 me <me@example.com> 1 +0000\t\($0): something\n" }.joined()
    try files.person.createFolder(".git/logs")
    try files.person.save(".git/HEAD", Array("ref: refs/heads/main\n".utf8))
    try files.person.save(".git/logs/HEAD", Array(lines.utf8))
  }

  func copy(_ from: String, _ to: String) throws {
    try files.person.save("tasks/\(to)", files.person.bytes("tasks/\(from)") ?? [])
  }

  // MARK: What a person sees

  /// The names in the folder that a person sees.
  var names: [String] {
    files.person.paths(below: "tasks").map { WorkspacePath.name(of: $0) }.filter { !$0.hasPrefix(".") }
  }

  func text(_ name: String) -> String? {
    files.person.bytes("tasks/\(name)").map { String(decoding: $0, as: UTF8.self) }
  }

  func json(_ name: String) -> JSONObject? {
    files.person.bytes("tasks/\(name)").flatMap { try? JSONValue(parsing: $0) }?.objectValue
  }

  /// The texts in the trash.
  var trash: [String] {
    files.person.paths(below: StateFolder.trash).filter { !$0.hasSuffix(".meta") }
      .compactMap { files.person.bytes($0).map { String(decoding: $0, as: UTF8.self) } }
  }

  // MARK: What waits

  var queue: [PendingMutation] { get throws { try client.read { try $0.pendingMutations() } } }
  var conflicts: [ConflictedMutation] { get throws { try client.read { try $0.conflictedMutations() } } }
  var refusals: [RejectedMutation] { get throws { try client.read { try $0.rejectedMutations() } } }
  var problems: [Problem] { get throws { try client.read { try Problems($0).all() } } }

  /// Whether queue, lists and problems are empty.
  var isClear: Bool {
    get throws { try queue.isEmpty && conflicts.isEmpty && refusals.isEmpty && problems.isEmpty }
  }
}

/// Counts a replica's transactions and kills its process at a planned one.
final class CommitCounter: Sendable {
  private let state = Mutex((count: 0, last: Int.max))

  var commitCount: Int { state.withLock(\.count) }

  func plan(last: Int) { state.withLock { $0 = (0, last) } }

  func restart() { state.withLock { $0 = (0, .max) } }

  func count(_ files: InMemoryFileSystem) throws {
    if files.isStopped { throw Killed() }
    let isLast = state.withLock { state in
      state.count += 1
      return state.count > state.last
    }
    guard isLast else { return }
    files.plan(.stop, atOperation: files.operationCount + 1)
    _ = try? files.status("")
    throw Killed()
  }
}
