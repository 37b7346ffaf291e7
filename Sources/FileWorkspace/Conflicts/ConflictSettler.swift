import LosslessJSON
import OfflineEngine
import Synchronization

/// Settles conflicts during a pass as the settings say, and keeps what loses.
///
/// Asked by the engine outside of its transactions; the text that is not to stand is in the trash, durably, before the
/// answer is given. What cannot be kept there is held.
public final class ConflictSettler: Sendable {
  private struct State {
    var events: [WorkspaceEvent] = []
    /// What was kept and told already: a write may be asked about again, for instance after the network has failed.
    var told: Set<Loss> = []
  }

  /// A text that a settled conflict replaces.
  private struct Loss: Hashable {
    var mutationID: Int64
    var text: [UInt8]
  }

  private let settings: WorkspaceSettings
  private let store: EngineStore
  private let user: String
  private let trash: Trash
  private let state = Mutex(State())

  /// The settler of a workspace.
  ///
  /// - Parameters:
  ///   - settings: The settings, with their words on conflicts.
  ///   - store: The store that holds the workspace's mirror.
  ///   - user: The workspace's user.
  ///   - files: The workspace's files.
  ///   - clock: The time.
  public init(
    settings: WorkspaceSettings, store: EngineStore, user: String, files: any FileSystem, clock: any EngineClock
  ) {
    self.settings = settings
    self.store = store
    self.user = user
    trash = Trash(files: files, now: { clock.now().nanoseconds / 1_000_000 })
  }

  /// What the engine asks.
  public var resolver: ConflictResolver { { [self] in try settle($0) } }

  /// What was settled since this was last asked for, for the log.
  func takeEvents() -> [WorkspaceEvent] {
    state.withLock { state in
      defer { state.events = [] }
      return state.events
    }
  }

  private func settle(_ conflict: MutationConflict) throws -> ConflictResolution {
    guard let settings = settings.collections.first(where: { $0.table == conflict.table }) else {
      return self.settings.isPhotos(conflict.table) ? PhotoConflict.resolution(of: conflict) : .hold
    }
    let decision = PolicyDecision(conflict, settings)
    guard decision.resolution != .hold else { return .hold }
    let collection = Collection(settings: settings)
    let (path, shown) = try store.read(user: user) { transaction in
      let path = try RowPaths(transaction: transaction, settings: self.settings).path(conflict.table, conflict.rowKey)
      return (path, try Mirror(transaction).entry(collection.folder, key: conflict.rowKey)?.base.values ?? [:])
    }
    let losses = Losses(conflict, decision, collection, shown: shown)
    let place =
      path
      ?? WorkspacePath.joined(
        collection.folder,
        FileNames.fileName(title: collection.title(losses.values), id: conflict.rowKey.text) { _ in false })
    let items = losses.items(path: place, collection, conflict.rowKey)
    let told = state.withLock { $0.told }
    try trash.keep(items.filter { !told.contains(Loss(mutationID: conflict.mutationID, text: $0.bytes)) })
    tell(conflict, losses.sentence, items, at: place)
    return decision.resolution
  }

  private func tell(_ conflict: MutationConflict, _ sentence: String, _ items: [TrashItem], at path: String) {
    guard !sentence.isEmpty else { return }
    // A merge loses nothing; its sentence stands for it.
    let told = (items.isEmpty ? [Array(sentence.utf8)] : items.map(\.bytes)).map {
      Loss(mutationID: conflict.mutationID, text: $0)
    }
    state.withLock { state in
      let isNew = told.reduce(false) { state.told.insert($1).inserted || $0 }
      if isNew { state.events.append(WorkspaceEvent(.settled, path, sentence)) }
    }
  }
}

/// What a settled conflict replaces, and how it is told.
private struct Losses {
  /// The row as this replica saw it before the conflict.
  var values: JSONObject
  /// This replica's text, where it does not stand everywhere.
  private var mine: JSONObject?
  /// The server's text, where it is written over.
  private var theirs: JSONObject?
  private(set) var sentence: String

  init(_ conflict: MutationConflict, _ decision: PolicyDecision, _ collection: Collection, shown: JSONObject) {
    let before = shown.overlaid(with: collection.fileValues(conflict.base ?? [:]))
    values = before
    let server = conflict.server.map { before.overlaid(with: collection.fileValues($0)) }
    let local = before.overlaid(with: collection.fileValues(conflict.local ?? [:]))
    switch (conflict.operation, conflict.server) {
    case (.delete, _) where decision.resolution == .keepLocal:
      theirs = server
      sentence = "deleted, as the settings say; the changed row is in the trash"
    case (.delete, _): sentence = "changed elsewhere since it was deleted here, and kept, as the settings say"
    case (_, nil):
      mine = local
      sentence = "its row is gone; your version is in the trash, as the settings say"
    default:
      if !decision.theirs.isEmpty { mine = local }
      if !decision.mine.isEmpty { theirs = server }
      let parts = [
        Self.part(decision.mine, "yours is kept, theirs is in the trash"),
        Self.part(decision.theirs, "theirs is kept, yours is in the trash"),
        Self.part(decision.merged, "both changes are merged"),
      ]
      sentence = parts.compactMap(\.self).joined(separator: "; ")
    }
  }

  private static func part(_ columns: [String], _ what: String) -> String? {
    columns.isEmpty ? nil : "\(columns.joined(separator: ", ")): \(what)"
  }

  func items(path: String, _ collection: Collection, _ key: RowKey) -> [TrashItem] {
    func item(_ values: JSONObject, _ reason: String) -> TrashItem {
      let text = RowFile.render(collection.keyValues(key).overlaid(with: values), collection.settings)
      return TrashItem(origin: path, bytes: text, reason: reason)
    }
    return [
      mine.map { item($0, "a conflict was settled for theirs, as the settings say") },
      theirs.map { item($0, "a conflict was settled for yours, as the settings say") },
    ].compactMap(\.self)
  }
}
