/// Where the new texts of a collection wait, where its old files go, and how they change places.
struct WriteBackPlaces: Sendable, Hashable {
  enum Way: Sendable, Hashable {
    /// Both names are swapped in one step.
    case exchange
    /// The file moves aside, then ours takes the free name; the name is absent for a moment.
    case aside
  }

  var temporary: String
  var replaced: String
  var way: Way

  /// Finds out by trying what a collection folder allows.
  ///
  /// Device numbers would not tell: a rename between two bind mounts of one device fails, as between some subvolumes.
  static func tried(for folder: String, in files: any FileSystem) throws(FileSystemError) -> WriteBackPlaces {
    try StateFolder.create(in: files)
    let inside = WorkspacePath.joined(folder, StateFolder.insideCollection)
    try files.createFolder(inside, isPrivate: true)
    if let way = try way(between: StateFolder.temporary, and: inside, in: files) {
      // Files of an earlier run may still wait there, or wait to be looked at.
      try? files.removeFolder(inside)
      return WriteBackPlaces(temporary: StateFolder.temporary, replaced: StateFolder.replaced, way: way)
    }
    let temporary = "\(inside)/tmp"
    let replaced = "\(inside)/replaced"
    try files.createFolder(temporary, isPrivate: true)
    try files.createFolder(replaced, isPrivate: true)
    return WriteBackPlaces(
      temporary: temporary, replaced: replaced, way: try way(between: temporary, and: inside, in: files) ?? .aside)
  }

  /// How files of two folders can change places; nil when they cannot.
  private static func way(
    between one: String, and other: String, in files: any FileSystem
  ) throws(FileSystemError) -> Way? {
    let first = try files.makeTemporary([], in: one, prefix: "probe", like: nil).path
    defer { try? files.unlink(first) }
    let second = try files.makeTemporary([], in: other, prefix: "probe", like: nil).path
    defer { try? files.unlink(second) }
    do {
      try files.exchange(first, second)
      return .exchange
    } catch .otherFileSystem {
      return nil
    } catch .unsupported {
      // Some file systems cannot swap, and could not rename across either: that is another question.
    }
    do {
      try files.rename(first, second)
      return .aside
    } catch .otherFileSystem {
      return nil
    }
  }
}
