import LosslessJSON
import OfflineEngine

/// What the settings say about one conflict, column by column.
///
/// A pure value. Without a word in the settings every conflict in which both sides disagree is held.
public struct PolicyDecision: Sendable, Hashable {
  /// What becomes of the write.
  public var resolution: ConflictResolution
  /// The columns in which this replica's value is sent over the server's.
  public var mine: [String] = []
  /// The columns in which the server's value stays.
  public var theirs: [String] = []
  /// The columns in which the lines of both are merged.
  public var merged: [String] = []

  /// Decides about a conflict.
  ///
  /// An update is settled only as a whole: one column that is to be held, or whose lines overlap, holds all of it, so
  /// that what a person typed together stays together. A delete of a row that changed follows the collection's word;
  /// an edit of a row that is gone does, too, but `mine` cannot be sent as an update: it is held here, and the row is
  /// made again where its file is decided about.
  public init(_ conflict: MutationConflict, _ collection: CollectionSettings) {
    switch (conflict.operation, conflict.server) {
    case (.update, let server?):
      resolution = .hold
      settle(conflict, local: conflict.local ?? [:], server: server, collection)
    case (.delete, .some):
      resolution =
        switch collection.conflicts {
        case .mine: .keepLocal
        case .theirs: .keepServer
        case .hold, .merge: .hold
        }
    case (.update, nil): resolution = collection.conflicts == .theirs ? .keepServer : .hold
    default: resolution = .hold
    }
  }

  private mutating func settle(
    _ conflict: MutationConflict, local: JSONObject, server: JSONObject, _ collection: CollectionSettings
  ) {
    var columns = local
    for name in conflict.conflictingColumns {
      // Where nobody can say what this replica saw, as of a file that meets a row with its key for the first time, there
      // is no telling which side is newer.
      guard let before = conflict.base?[name] else { return }
      switch collection.conflicts(in: name) {
      case .hold: return
      case .mine: mine.append(name)
      case .theirs:
        theirs.append(name)
        columns[name] = nil
      case .merge:
        guard case .string(let base) = before, case .string(let mine)? = local[name],
          case .string(let theirs)? = server[name],
          let text = TextMerge(base: base, mine: mine, theirs: theirs).merged
        else { return }
        merged.append(name)
        columns[name] = .string(text) == server[name] ? nil : .string(text)
      }
    }
    resolution = columns.isEmpty ? .keepServer : columns == local ? .keepLocal : .apply(columns)
  }
}
