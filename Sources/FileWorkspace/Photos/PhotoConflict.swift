import LosslessJSON
import OfflineEngine

/// What becomes of a write to a photo's row that met another change.
///
/// Nothing of it waits for a person, since pictures lie side by side: whoever replaced a picture that was replaced
/// elsewhere keeps theirs as a photo of its own. Of two names, and of two places, the last one stands.
enum PhotoConflict {
  static func resolution(of conflict: MutationConflict) -> ConflictResolution {
    guard let server = conflict.server else { return .keepServer }
    switch conflict.operation {
    case .delete: return isSamePicture(conflict.base, server) ? .keepLocal : .keepServer
    case .update:
      guard let local = conflict.local else { return .keepServer }
      guard conflict.conflictingColumns.contains(where: PhotoTable.isContent) else { return .keepLocal }
      let place = JSONObject(local.members.filter { !PhotoTable.isContent($0.name) })
      return place.isEmpty ? .keepServer : .apply(place)
    case .insert, .upsert: return .keepServer
    }
  }

  private static func isSamePicture(_ base: JSONObject?, _ server: JSONObject) -> Bool {
    (base?.members ?? []).allSatisfy { !PhotoTable.isContent($0.name) || server[$0.name] == $0.value }
  }
}

extension WorkspaceSettings {
  /// Whether a table has the rows of photos.
  func isPhotos(_ table: String) -> Bool { collections.contains { $0.photos?.table == table } }

  /// The tables that are read: those of the collections, and behind them those of their photos.
  public var tables: [String] { collections.map(\.table) + collections.compactMap(\.photos?.table) }
}
