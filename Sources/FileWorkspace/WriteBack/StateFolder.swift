/// Where the program keeps its own files in a workspace.
public enum StateFolder {
  /// The workspace's marker: without it nothing is written and nothing counts as deleted.
  public static let root = ".tidemark"
  /// New texts before they take their place.
  public static let temporary = ".tidemark/tmp"
  /// Whatever left a path, until nobody can write to it any more.
  public static let replaced = ".tidemark/replaced"
  /// Texts kept for a person.
  public static let trash = ".tidemark/trash"
  /// Conflicts that are being merged in an editor, a folder each.
  public static let drafts = ".tidemark/drafts"
  /// The JSON Schemas of the rows' files, for editors.
  public static let schemas = ".tidemark/schema"
  /// The folder inside a collection that takes the place of the first two where `.tidemark` lies on another file system.
  public static let insideCollection = ".tidemark-files"

  /// Makes the folders inside the marker, private to the user; what is there already stays.
  ///
  /// - Throws: `FileSystemError.absent` when the marker itself is missing: making it is for setting a workspace up alone,
  ///   since its absence is the sign of a disk that is not mounted.
  public static func create(in files: any FileSystem) throws(FileSystemError) {
    for folder in [temporary, replaced, trash] { try files.createFolder(folder, isPrivate: true) }
  }
}
