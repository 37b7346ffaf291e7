/// Which folder a row's photos lie in; nothing here touches a disk.
public struct PhotoFolders: Sendable {
  private let collections: [(collection: CollectionSettings, photos: PhotosSettings)]

  /// The folders that the settings name.
  public init(_ settings: WorkspaceSettings) {
    collections = settings.collections.compactMap { collection in collection.photos.map { (collection, $0) } }
  }

  /// Whether there are photos at all.
  public var isEmpty: Bool { collections.isEmpty }

  /// The folder of a row's photos, by the path of the row's file or by that of the folder itself.
  ///
  /// - Returns: The folder, and the row's file that it belongs to; `nil` for a path that is neither.
  public func folder(_ path: String) -> (photos: String, row: String)? {
    let (parent, name) = (WorkspacePath.folder(of: path), WorkspacePath.name(of: path))
    for (collection, photos) in collections {
      if parent == collection.folder, FileNames.isRowFile(name) { return (photos.path(forFileNamed: name), path) }
      if parent == photos.folder { return (path, WorkspacePath.joined(collection.folder, name + ".json")) }
    }
    return nil
  }

  /// The folder that a photo's file lies in; `nil` for a path at which no photo can lie.
  public func folder(ofPhoto path: String) -> String? {
    let folder = WorkspacePath.folder(of: path)
    return collections.contains { WorkspacePath.folder(of: folder) == $0.photos.folder } ? folder : nil
  }
}
