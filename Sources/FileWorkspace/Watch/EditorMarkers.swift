import Synchronization

/// The editors' markers in one folder while paths of it are decided together.
///
/// For a few paths their markers' names are asked for; for many the folder's hidden names are read once, when the first
/// of them matters.
final class EditorMarkers: Sendable {
  private let folder: String
  private let isForMany: Bool
  private let files: any FileSystem
  private let found = Mutex<[PathKey: String]?>(nil)

  /// From how many paths on reading the names of a large folder costs less than six questions a path.
  private static let many = 64

  init(folder: String, pathCount: Int, in files: any FileSystem) {
    self.folder = folder
    isForMany = pathCount >= Self.many
    self.files = files
  }

  /// The path of the marker that says that an editor has the file open; `nil` when there is none or it cannot be told.
  func marker(of path: String) -> String? {
    guard isForMany, WorkspacePath.folder(of: path) == folder else { return EditorMarker.name(for: path, in: files) }
    let marker = found.withLock { found in
      if found == nil { found = (try? files.names(in: folder, prefix: ".")).map(EditorMarker.markers) }
      return found?[PathKey(WorkspacePath.name(of: path))]
    }
    guard let marker else { return nil }
    let markerPath = WorkspacePath.joined(folder, marker)
    guard let status = try? files.status(markerPath), status.kind == .file || status.kind == .link else { return nil }
    return markerPath
  }
}
