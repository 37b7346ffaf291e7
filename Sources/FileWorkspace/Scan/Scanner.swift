/// Why a folder's listing must not be taken for its content.
public enum ScanError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The workspace's marker is gone: perhaps its disk is not mounted.
  case markerMissing
  /// The collection's folder is gone.
  case folderMissing(folder: String)
  /// Another file system lies at the folder than earlier in this run.
  case otherMount(folder: String)
  /// The folder could not be listed.
  case files(FileSystemError)

  /// What is wrong, where, and what to do.
  public var description: String {
    switch self {
    case .markerMissing:
      "the workspace's '\(StateFolder.root)' folder is missing; nothing counts as deleted until it is back "
        + "(is the disk mounted?)"
    case .folderMissing(let folder):
      "the folder '\(folder)' is missing; its files do not count as deleted until it is back"
    case .otherMount(let folder):
      "another file system was mounted at '\(folder)' while the program ran; its files do not count as deleted"
    case .files(let error):
      error.description
    }
  }
}

/// One regular file that a scan found.
public struct ScannedFile: Sendable, Hashable {
  /// Whether the file must be read.
  public enum Change: Sendable, Hashable {
    /// Its numbers are those of the last reading.
    case unchanged
    /// Its numbers moved, or are too fresh to be sure.
    case changed
    /// No file was known at this path.
    case new
  }

  /// The path in the workspace.
  public var path: String
  /// What the kernel says of it.
  public var status: FileStatus
  /// Whether it must be read.
  public var change: Change

  /// Makes a scanned file.
  public init(path: String, status: FileStatus, change: Change) {
    self.path = path
    self.status = status
    self.change = change
  }
}

/// A complete listing of one collection's folder, compared with what was known.
public struct FolderScan: Sendable {
  /// The folder.
  public var folder: String
  /// By what to know the folder again at the next scan.
  public var identity: FolderIdentity
  /// False when the folder was made anew since the last scan: its files must be adopted before any absence counts.
  public var isSameFolder: Bool
  /// False when the folder changed while it was listed: a file renamed meanwhile may be missing, so no absence counts.
  public var isSteady: Bool
  /// The files that may be rows, sorted by path.
  public var files: [ScannedFile]
  /// Known paths at which no file lies any more, sorted.
  public var absent: [String]
  /// Entries that have a row's name and are not regular files, sorted by path.
  public var notFiles: [ScannedFile]
  /// Every name in the folder, as editors' markers must be found among them; sorted.
  public var names: [String]
  /// Names that are not UTF-8.
  public var unreadableNames: [[UInt8]]
}

/// Lists collections' folders and tells what must be looked at; reads no file.
public struct Scanner: Sendable {
  private let files: any FileSystem
  private let isRow: @Sendable (_ name: String) -> Bool

  /// Makes a scanner.
  ///
  /// - Parameters:
  ///   - files: The workspace's files.
  ///   - isRow: Whether a name directly in a collection's folder may be a row's.
  public init(files: any FileSystem, isRow: @escaping @Sendable (_ name: String) -> Bool) {
    self.files = files
    self.isRow = isRow
  }

  /// Lists one folder completely, not its folders.
  ///
  /// - Parameters:
  ///   - folder: The collection's folder.
  ///   - known: What was remembered of its files, by path.
  ///   - identity: What the last scan of this run gave; nil for the first.
  /// - Throws: Whatever makes an absence meaningless.
  /// - Complexity: One status per entry; about 2 µs each.
  public func scan(
    _ folder: String, known: [PathKey: KnownFile], identity: FolderIdentity? = nil
  ) throws(ScanError) -> FolderScan {
    try checkMarker()
    let listing = try list(folder)
    let found = FolderIdentity(listing.folder)
    if let identity, identity.mount != found.mount || identity.device != found.device {
      throw .otherMount(folder: folder)
    }
    var scan = FolderScan(
      folder: folder, identity: found, isSameFolder: identity.map { $0 == found } ?? true, isSteady: listing.isSteady,
      files: [], absent: [], notFiles: [], names: [], unreadableNames: listing.unreadableNames)
    scan.files.reserveCapacity(listing.entries.count)
    scan.names.reserveCapacity(listing.entries.count)
    var seen = 0
    for index in WorkspacePath.order(of: listing.entries.map(\.name)) {
      let entry = listing.entries[index]
      scan.names.append(entry.name)
      let path = WorkspacePath.joined(folder, entry.name)
      let memory = known[PathKey(path)]
      // A known path is a row's; only other names are judged.
      guard memory != nil || isRow(entry.name) else { continue }
      if entry.status.kind == .file {
        if memory != nil { seen += 1 }
        scan.files.append(
          ScannedFile(path: path, status: entry.status, change: Self.change(entry.status.stamp, memory)))
      } else {
        scan.notFiles.append(ScannedFile(path: path, status: entry.status, change: .new))
      }
    }
    // Marker and mount may have gone while the folder was listed.
    try checkMarker()
    if seen < known.count { scan.absent = Self.absent(known, in: scan) }
    return scan
  }

  private static func change(_ stamp: FileStamp, _ known: KnownFile?) -> ScannedFile.Change {
    guard let known else { return .new }
    return known.stamp == stamp && known.isCertain ? .unchanged : .changed
  }

  private static func absent(_ known: [PathKey: KnownFile], in scan: FolderScan) -> [String] {
    let present = Set(scan.files.map { PathKey($0.path) })
    return known.keys.filter { !present.contains($0) }.sorted().map(\.text)
  }

  private func checkMarker() throws(ScanError) {
    do {
      guard try files.status(StateFolder.root)?.kind == .folder else { throw ScanError.markerMissing }
    } catch let error as FileSystemError {
      throw .files(error)
    } catch {
      throw .markerMissing
    }
  }

  private func list(_ folder: String) throws(ScanError) -> FolderListing {
    do {
      return try files.list(folder)
    } catch {
      if case .absent = error { throw .folderMissing(folder: folder) }
      throw .files(error)
    }
  }
}
