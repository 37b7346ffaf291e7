import LosslessJSON
import OfflineEngine

/// How much waits in a workspace and for what.
public struct WorkspaceSummary: Sendable, Hashable {
  /// One collection.
  public struct CollectionCounts: Sendable, Hashable {
    /// The table's name.
    public var table: String
    /// The folder's name.
    public var folder: String
    /// Files that lie there, as far as is known.
    public var files: Int
    /// Rows that the server showed.
    public var rows: Int

    /// The counts of one collection.
    public init(table: String, folder: String, files: Int, rows: Int) {
      self.table = table
      self.folder = folder
      self.files = files
      self.rows = rows
    }
  }

  /// The engine's lists.
  public var counts = MutationCounts()
  /// Files that cannot be read as their rows, and other troubles of single files.
  public var problems: [Problem] = []
  /// How many conflicts are deletes that met a change.
  public var conflictedDeletes = 0
  /// What is not even queued because it needs a person: deletes that look like an accident, rows that vanished.
  public var held = 0
  /// A file that is gone, and when a watcher deletes its row.
  public struct MissingFile: Sendable, Hashable {
    /// Where it lay.
    public var path: String
    /// Until when its return takes everything back.
    public var until: WallTime
  }

  /// What is held and what a person can do about it, a sentence each.
  public var holds: [String] = []
  /// Collections whose files wait until all rows were read once.
  public var adopting: [String] = []
  /// Files that are gone and whose rows will be deleted unless they come back.
  public var missing: [MissingFile] = []
  /// The photos that something is still to be done about.
  public var photos = PhotoSummary()
  /// The collections in the settings' order.
  public var collections: [CollectionCounts] = []

  /// Whether anything waits for a person.
  public var needsPerson: Bool { counts.rejected + counts.conflicted + problems.count + held > 0 }

  /// Counts what stands in the state.
  ///
  /// - Parameter files: The workspace's files, to see whether a collection's folder is there at all.
  public init(_ transaction: EngineTransaction, _ settings: WorkspaceSettings, files: any FileSystem) throws {
    counts = try transaction.counts()
    photos = try PhotoSummary(transaction, settings)
    problems = try Problems(transaction).all() + photos.problems
    held += photos.held
    holds += photos.holds
    let mirror = Mirror(transaction)
    let marker = try files.status(StateFolder.root)
    for collection in settings.collections {
      let known = try mirror.count(collection.folder)
      let isThere = try marker != nil && files.status(collection.folder)?.kind == .folder
      let absent = try isThere ? mirror.absentEntries(collection.folder) : []
      collections.append(
        CollectionCounts(
          table: collection.table, folder: collection.folder, files: isThere ? known - absent.count : 0,
          rows: try transaction.cachedRowCount(collection.table)))
      conflictedDeletes += try SideFiles(transaction).all(collection.folder).count { $0.kind == .deleted }
      switch try transaction.adoption(collection.folder) {
      case .held(let unknown, let differing):
        held += unknown + differing
        holds.append(
          "\(collection.folder): "
            + Workspace.question(collection.folder, unknown: unknown, differing: differing))
      case .waiting, .chosen: adopting.append(collection.folder)
      case nil: break
      }
      let blanking = try HeldEdits(transaction).all().values.filter { edit in
        WorkspacePath.folder(of: edit.path) == collection.folder
      }
      held += blanking.count
      if !blanking.isEmpty {
        holds.append("\(collection.folder): \(BlankingEdit.sentence(Array(blanking)))")
      }
      let vanished = try transaction.heldVanishedRows(collection.table)
      held += vanished
      if vanished > 0 {
        holds.append(
          "\(collection.folder): \(vanished) rows vanished from the server at once; their files stay until 'tidemark "
            + "confirm', or the rows come back")
      }
      if !isThere {
        held += known
        if known > 0 {
          holds.append(
            "\(collection.folder): the folder is missing with its \(known) files; put it back, or 'tidemark restore "
              + "\(collection.folder)' writes them anew")
        }
      } else {
        let heldPaths = absent.filter(\.isHeld).map(\.lastPath).sorted()
        held += heldPaths.count
        if !heldPaths.isEmpty {
          holds.append(
            "\(collection.folder): \(heldPaths.count) of \(known) files are missing (\(Self.short(heldPaths))); 'tidemark "
              + "restore \(collection.folder)' brings them back, 'tidemark confirm' deletes their rows")
        }
        missing += absent.filter { !$0.isHeld }.map { entry in
          MissingFile(
            path: entry.lastPath,
            until: (entry.absentSince ?? transaction.now) + max(settings.deleteAfter, Workspace.absenceProof))
        }
      }
    }
  }
}

extension WorkspaceSummary {
  /// The first of some paths.
  static func short(_ paths: [String]) -> String {
    paths.prefix(3).joined(separator: ", ") + (paths.count > 3 ? ", …" : "")
  }
}

extension Workspace {
  /// How much waits and for what.
  public func summary() throws -> WorkspaceSummary {
    var summary = try client.read { try WorkspaceSummary($0, settings, files: files) }
    summary.photos.transfer = try photoTransfer()
    return summary
  }
}

extension Workspace {
  /// What keeps single files or everything from going on, a sentence each.
  public func waits() -> [String] {
    var waits: [String] = []
    if let gitWork { waits.append("waiting for git: \(gitWork.text)") }
    for (path, marker) in waitingForEditor.sorted(by: { $0.key < $1.key }) {
      waits.append("\(path): the server's change waits until the editor closes it (\(marker))")
    }
    for (folder, error) in unscannable.sorted(by: { $0.key < $1.key }) { waits.append("\(folder): \(error)") }
    return waits
  }
}
