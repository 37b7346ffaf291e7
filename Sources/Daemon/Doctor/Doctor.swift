import FileWorkspace
import Glibc
import LosslessJSON
import OfflineEngine
import SupabaseAPI

/// Looks at everything that a workspace needs, beside a running watcher as without one.
///
/// Nothing is changed but a session whose access token has ended: that is renewed, as the next sync would do.
public struct Doctor: Sendable {
  let folder: WorkspaceFolder
  let environment: EngineEnvironment

  /// A look at the workspace at `folder`.
  public init(_ folder: WorkspaceFolder, environment: EngineEnvironment) {
    self.folder = folder
    self.environment = environment
  }

  /// Looks, from the settings outwards; what needs something that is broken is left out.
  public func checks() async -> [DoctorCheck] {
    var checks: [DoctorCheck] = []
    let settings: WorkspaceSettings
    do throws(DaemonError) {
      settings = try folder.settings()
    } catch {
      return [DoctorCheck("settings", .failure, "\(error)"), lock(), watches()]
    }
    let folders = settings.collections.map { "\($0.folder)/" }.joined(separator: ", ")
    checks.append(DoctorCheck("settings", .ok, "tidemark.json is good; collections: \(folders)"))
    checks.append(lock())
    checks.append(watches())
    checks.append(kinds(settings))
    checks.append(privacy())
    do {
      let store = try EngineStore(
        path: folder.databasePath, clock: environment.clock, callerMigrations: Workspace.migrations)
      checks.append(try integrity(store))
      let identity = try WorkspaceIdentity(store, folder, settings)
      checks += try state(store, identity, settings)
      checks += await server(store, identity, settings)
    } catch {
      checks.append(DoctorCheck("database", .failure, "\(error)"))
    }
    return checks
  }

  // MARK: This device

  private func lock() -> DoctorCheck {
    let holder = WorkspaceLock.holder(path: folder.lockPath).map { "process \($0)" }
    switch Result(catching: { try ControlClient.ask(ControlRequest("status"), folderPath: folder.statePath) }) {
    case .success(.some): return DoctorCheck("watcher", .ok, "a watcher runs\(holder.map { " (\($0))" } ?? "")")
    case .success(nil):
      guard let holder else { return DoctorCheck("watcher", .note, "no watcher runs, and nobody holds the lock") }
      return DoctorCheck("watcher", .note, "\(holder) holds the lock and is no watcher; it ends with that process")
    case .failure(let error): return DoctorCheck("watcher", .trouble, "\(error); \(holder ?? "nobody") holds the lock")
    }
  }

  private func watches() -> DoctorCheck {
    let limit = { (name: String) -> Int? in
      WorkspaceFolder.bytes("/proc/sys/fs/inotify/\(name)")
        .flatMap { Int(String(decoding: $0.filter { $0 != 10 }, as: UTF8.self)) }
    }
    guard let count = limit("max_user_watches"), let instances = limit("max_user_instances") else {
      return DoctorCheck("watches", .note, "the system does not tell its limits for watching")
    }
    let text = "the system allows \(count) watches and \(instances) watchers a user"
    if count < 1_024 || instances < 16 {
      return DoctorCheck(
        "watches", .trouble,
        "\(text), which is little: raise fs.inotify.max_user_watches and fs.inotify.max_user_instances with sysctl")
    }
    return DoctorCheck("watches", .ok, text)
  }

  /// Whether the kernel reports every change of the folders.
  private func kinds(_ settings: WorkspaceSettings) -> DoctorCheck {
    let name = "file system"
    guard let files = try? LiveFileSystem(root: folder.path) else {
      return DoctorCheck(name, .failure, "the workspace's folder cannot be opened")
    }
    for path in [""] + settings.collections.map(\.folder) {
      guard let kind = files.kindWithoutEvents(path) else { continue }
      return DoctorCheck(
        name, .note,
        "\(path.isEmpty ? "the workspace" : "\(path)/") lies on \(kind.name), where changes made elsewhere are not reported: "
          + "'tidemark watch' lists the folders every few seconds instead")
    }
    return DoctorCheck(name, .ok, "changes are reported by the kernel")
  }

  /// Whether others on this machine could read what is kept for its user.
  private func privacy() -> DoctorCheck {
    let isOpen = { (path: String) -> Bool in
      var status = stat()
      return stat(path, &status) == 0 && status.st_mode & 0o077 != 0
    }
    if isOpen(folder.session.path) || isOpen(folder.statePath) {
      return DoctorCheck(
        "privacy", .trouble, "others on this machine may look into .tidemark; run chmod -R go= .tidemark")
    }
    return DoctorCheck("privacy", .ok, "session and state can be read by their owner only")
  }

  /// What SQLite's own check finds wrong with the database.
  static func damages(_ store: EngineStore) throws -> [String] {
    try store.read(user: "") { transaction in
      try transaction.database.rows("PRAGMA integrity_check(5)").compactMap { $0.text("integrity_check") }
    }.filter { $0 != "ok" }
  }

  private func integrity(_ store: EngineStore) throws -> DoctorCheck {
    let found = try Self.damages(store)
    if found.isEmpty { return DoctorCheck("database", .ok, "its integrity check found nothing wrong") }
    return DoctorCheck(
      "database", .failure,
      "it is damaged (\(found.joined(separator: "; "))); stop the watcher and run 'tidemark doctor --repair': files that equal "
        + "their rows are adopted, others become conflicts")
  }

  // MARK: State

  private func state(
    _ store: EngineStore, _ identity: WorkspaceIdentity, _ settings: WorkspaceSettings
  ) throws -> [DoctorCheck] {
    let files = try LiveFileSystem(root: folder.path)
    return try store.read(user: identity.user) { transaction in
      var checks: [DoctorCheck] = []
      for collection in settings.collections {
        let health = try CollectionHealth(transaction, collection, files: files)
        checks.append(Self.mirror(health))
        if let check = Self.overlooked(health) { checks.append(check) }
        checks.append(Self.version(health, collection))
        if let check = Self.policies(try transaction.rejectedMutations(), table: collection.table) {
          checks.append(check)
        }
      }
      let counts = try transaction.counts()
      let problems = try WorkspaceSummary(transaction, settings, files: files).problems.count
      let text =
        "\(counts.queued) queued, \(counts.rejected) refused, \(counts.conflicted) in conflict, \(problems) with problems"
      checks.append(
        DoctorCheck("lists", counts.rejected + counts.conflicted + problems > 0 ? .trouble : .ok, text))
      return checks
    }
  }

  static func mirror(_ health: CollectionHealth) -> DoctorCheck {
    let name = "files of \(health.folder)/"
    guard health.isFolderThere else {
      return DoctorCheck(name, .trouble, "the folder is missing: put it back; until then nothing counts as deleted")
    }
    var parts = ["\(health.known) known"]
    func add(_ paths: [String], _ word: String) {
      if let first = paths.first { parts.append("\(paths.count) \(word) (\(first)\(paths.count > 1 ? ", …" : ""))") }
    }
    add(health.missing, "missing")
    add(health.unknown, "not looked at yet")
    if health.rowsWithoutFile > 0 { parts.append("\(health.rowsWithoutFile) rows without a file") }
    let isQuiet = parts.count == 1
    return DoctorCheck(
      name, isQuiet ? .ok : health.rowsWithoutFile > 0 ? .trouble : .note,
      parts.joined(separator: ", ") + (isQuiet ? "" : "; \(advice(health))"))
  }

  /// Names what lies in the folder like a row and is none.
  private static func overlooked(_ health: CollectionHealth) -> DoctorCheck? {
    guard !health.overlooked.isEmpty else { return nil }
    let names = health.overlooked.prefix(3).joined(separator: ", ") + (health.overlooked.count > 3 ? ", …" : "")
    return DoctorCheck(
      "names in \(health.folder)/", .note,
      "\(names): no row, since only files directly in \(health.folder)/ whose names end in .json are; left alone")
  }

  private static func advice(_ health: CollectionHealth) -> String {
    health.held > 0
      ? "\(health.held) missing files are held: 'tidemark restore \(health.folder)' brings them back, 'tidemark confirm' lets them go"
      : "'tidemark sync' settles that"
  }

  static func version(_ health: CollectionHealth, _ collection: CollectionSettings) -> DoctorCheck {
    let name = "version of \(health.table)"
    guard let column = collection.version else {
      return DoctorCheck(name, .note, "there is no version column: a change made elsewhere can be overwritten unseen")
    }
    switch health.versionColumn {
    case .moves?: return DoctorCheck(name, .ok, "'\(column)' moves when a row changes")
    case .stays?:
      return DoctorCheck(
        name, .trouble,
        "'\(column)' stayed when a row changed: no trigger moves it, so changes can be overwritten unseen; see the trigger "
          + "in schema.sql")
    case nil:
      return DoctorCheck(name, .note, "whether '\(column)' moves cannot be told yet: no row was seen to change")
    }
  }
}
