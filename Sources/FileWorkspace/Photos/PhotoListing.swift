import OfflineEngine

/// What lies in a collection's folder of photos, listed in one go: everything, or some of the folders in it.
struct PhotoListing: Sendable {
  /// A regular file that may be a photo.
  struct Found: Sendable {
    var path: String
    /// The folder's name, which is that of a row's file; `nil` where the file lies loose in the folder of photos itself.
    var folder: String?
    var name: String
    var status: FileStatus
  }

  /// The files, the oldest first: of a file and its copy the first is the original.
  var files: [Found] = []
  /// What can be no photo, and why.
  var problems: [(path: String, message: String)] = []
  /// False when something changed while it was listed, or could not be listed: then nothing counts as gone.
  var isSteady = true
  /// The names in the folder of photos that were looked at; `nil` for all.
  let names: Set<String>?

  /// Lists the folders.
  ///
  /// - Throws: Where an absence would mean nothing: the workspace's marker or the folder itself is missing.
  init(_ table: PhotoTable, in files: any FileSystem) throws {
    names = nil
    guard try files.status(StateFolder.root)?.kind == .folder else { throw ScanError.markerMissing }
    let settings = table.settings
    let top: FolderListing
    do throws(FileSystemError) { top = try files.list(settings.folder) } catch {
      if case .absent = error { throw ScanError.folderMissing(folder: settings.folder) }
      throw ScanError.files(error)
    }
    isSteady = top.isSteady
    noteUnreadable(top.unreadableNames, in: settings.folder)
    for entry in top.entries where !PhotoNames.isIgnored(entry.name, settings) {
      take(entry.name, entry.status, settings, files)
    }
    sort()
    guard try files.status(StateFolder.root)?.kind == .folder else { throw ScanError.markerMissing }
  }

  /// Lists some of what lies in the folder of photos; a name under which nothing lies is an empty folder.
  ///
  /// - Throws: As when everything is listed.
  init(_ table: PhotoTable, in files: any FileSystem, names: Set<String>) throws {
    self.names = names
    let settings = table.settings
    for name in names.sorted() where !PhotoNames.isIgnored(name, settings) {
      let path = WorkspacePath.joined(settings.folder, name)
      let status: FileStatus?
      do throws(FileSystemError) { status = try files.status(path) } catch { throw ScanError.files(error) }
      if let status { take(name, status, settings, files) }
    }
    sort()
    guard try files.status(StateFolder.root)?.kind == .folder else { throw ScanError.markerMissing }
    guard try files.status(settings.folder)?.kind == .folder else {
      throw ScanError.folderMissing(folder: settings.folder)
    }
  }

  private mutating func sort() {
    files.sort { ($0.status.born?.nanoseconds ?? .max, $0.path) < ($1.status.born?.nanoseconds ?? .max, $1.path) }
  }

  private mutating func take(_ name: String, _ status: FileStatus, _ settings: PhotosSettings, _ files: any FileSystem)
  {
    let path = WorkspacePath.joined(settings.folder, name)
    switch status.kind {
    case .folder: list(name, path, settings, files)
    case .file: self.files.append(Found(path: path, folder: nil, name: name, status: status))
    case .link, .other: problems.append((path, "this is \(status.kind.phrase); it is left alone"))
    }
  }

  /// Whether what lies at a path would be in the listing.
  func covers(_ path: String, _ settings: PhotosSettings) -> Bool {
    guard let names else { return true }
    return settings.entry(of: path).map(names.contains) ?? false
  }

  private mutating func list(_ folder: String, _ path: String, _ settings: PhotosSettings, _ files: any FileSystem) {
    let listing: FolderListing
    do throws(FileSystemError) { listing = try files.list(path) } catch {
      // One that went meanwhile changed the folder above it, too.
      isSteady = false
      if case .absent = error { return }
      problems.append((path, "\(error)"))
      return
    }
    isSteady = isSteady && listing.isSteady
    noteUnreadable(listing.unreadableNames, in: path)
    for entry in listing.entries where !PhotoNames.isIgnored(entry.name, settings) {
      let place = WorkspacePath.joined(path, entry.name)
      switch entry.status.kind {
      case .file: self.files.append(Found(path: place, folder: folder, name: entry.name, status: entry.status))
      case .folder: problems.append((place, "this is a folder; photos lie in '\(path)' itself"))
      case .link, .other: problems.append((place, "this is \(entry.status.kind.phrase), not a photo; it is left alone"))
      }
    }
  }

  private mutating func noteUnreadable(_ names: [[UInt8]], in folder: String) {
    for name in names {
      problems.append(
        (
          WorkspacePath.joined(folder, Workspace.printable(name)),
          "the name is not UTF-8; it is left alone until the file is renamed"
        ))
    }
  }
}
