import CLinuxFiles
import Glibc
import Synchronization
import Threads

/// The files of a real folder.
///
/// The folder is opened once. Each path is walked from there, component by component, with `O_NOFOLLOW`: that needs no
/// newer kernel call, and a link swapped in anywhere gives an error instead of a way out.
public final class LiveFileSystem: FileSystem {
  /// The workspace's folder as it was given.
  public let root: String
  /// The user id that the process acts as.
  public let user: UInt32
  let rootFolder: Descriptor
  let temporaryNumber = Atomic<UInt64>(0)
  private let openFolders = Mutex(OpenFolders())

  /// Opens the workspace's folder.
  ///
  /// - Throws: `FileSystemError` whose path is the folder itself.
  public init(root: String) throws(FileSystemError) {
    self.root = root
    user = geteuid()
    do {
      // The folder itself may be reached through links: that is the person's choice, made outside the workspace.
      rootFolder = Descriptor(try call { Glibc.open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
    } catch {
      throw .from(error.code, root, "open")
    }
  }

  /// The status of what lies at the path, nil when nothing does.
  public func status(_ path: String) throws(FileSystemError) -> FileStatus? {
    do {
      let place = try place(of: path)
      return try system(path, "look at") { () throws(SystemError) in
        try Self.status(in: place.folder, place.name)
      }
    } catch {
      if case .absent = error { return nil }
      throw error
    }
  }

  /// Lists a folder with the status of each entry.
  public func list(_ folder: String) throws(FileSystemError) -> FolderListing {
    let descriptor = try openFolder(folder)
    return try system(folder, "list") { () throws(SystemError) in
      let before = try Self.status(in: descriptor, "")
      var listing = FolderListing(folder: before, entries: [])
      try Self.forEachEntry(in: descriptor) { start throws(SystemError) in
        try Self.add(start, in: descriptor, to: &listing)
      }
      let after = try Self.status(in: descriptor, "")
      listing.isSteady = before.stamp == after.stamp
      return listing
    }
  }

  /// Calls `body` with each name in an open folder but `.` and `..`.
  private static func forEachEntry(
    in folder: borrowing Descriptor, _ body: (UnsafePointer<CChar>) throws(SystemError) -> Void
  ) throws(SystemError) {
    guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return }
    // A second descriptor of its own: the stream closes the one it is given, and moves its position.
    let copy = try call { openat(folder.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard let stream = fdopendir(copy) else {
      let code = errno
      close(copy)
      throw SystemError(code: code)
    }
    defer { closedir(stream) }
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        if errno != 0 { throw SystemError(code: errno) }
        return
      }
      let start = UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self)
      if start[0] == 46 && (start[1] == 0 || (start[1] == 46 && start[2] == 0)) { continue }
      try body(start)
    }
  }

  private static func add(
    _ start: UnsafePointer<CChar>, in folder: borrowing Descriptor, to listing: inout FolderListing
  ) throws(SystemError) {
    var raw = statx()
    do {
      try call { tm_statx(folder.number, start, statusFlags, statusMask, &raw) }
    } catch {
      if error.code == ENOENT { return }  // Gone since the folder was read: normal.
      throw error
    }
    if let name = String(validatingCString: start) {
      listing.entries.append(FolderEntry(name: name, status: FileStatus(raw)))
    } else {
      listing.unreadableNames.append(
        UnsafeBufferPointer(start: start, count: strlen(start)).map(UInt8.init(bitPattern:)))
    }
  }

  /// The names in a folder that begin with `prefix`.
  public func names(in folder: String, prefix: String) throws(FileSystemError) -> [String] {
    let descriptor = try openFolder(folder)
    return try system(folder, "list") { () throws(SystemError) in
      var names: [String] = []
      try Self.forEachEntry(in: descriptor) { start throws(SystemError) in
        guard strncmp(start, prefix, prefix.utf8.count) == 0, let name = String(validatingCString: start) else {
          return
        }
        names.append(name)
      }
      return names
    }
  }

  /// Tells whether another process has the file open for writing.
  public func isOpenElsewhere(_ path: String) throws(FileSystemError) -> OpenElsewhere {
    let place = try place(of: path)
    do {
      let file = try Descriptor.open(in: place.folder, place.name, O_RDONLY)
      // The kernel tells a lease's owner by a signal when somebody opens the file meanwhile. The usual one would end the
      // process; this one is ignored unless somebody asked for it.
      try call { fcntl(file.number, Int32(tm_f_setsig), SIGURG) }
      try call { fcntl(file.number, Int32(tm_f_setlease), Int32(F_RDLCK)) }
      try call { fcntl(file.number, Int32(tm_f_setlease), Int32(F_UNLCK)) }
      return .no
    } catch {
      switch error.code {
      case EAGAIN: return .yes
      case ENOENT: throw .absent(path)
      default: return .unknown
      }
    }
  }

  // MARK: Ways into the workspace

  /// A folder's descriptor and the name in it; the name of the root is empty.
  struct Place: ~Copyable {
    let folder: Descriptor
    let name: String
  }

  func place(of path: String) throws(FileSystemError) -> Place {
    let folder = WorkspacePath.folder(of: path)
    if let open = openFolders.withLock({ $0.folders[PathKey(folder)] }) {
      let name = WorkspacePath.name(of: path)
      try WorkspacePath.check(component: name, of: path)
      return Place(folder: open.lent(), name: name)
    }
    var parts = try WorkspacePath.components(of: path)
    let name = parts.popLast() ?? ""
    return Place(folder: kept(try openFolder(parts, path), as: folder), name: name)
  }

  func openFolder(_ path: String) throws(FileSystemError) -> Descriptor {
    if let open = openFolders.withLock({ $0.folders[PathKey(path)] }) { return open.lent() }
    return kept(try openFolder(try WorkspacePath.components(of: path), path), as: path)
  }

  /// Runs `body` with folders kept open from one operation to the next.
  public func withFoldersOpen<Result>(_ body: () throws -> Result) rethrows -> Result {
    openFolders.withLock { $0.users += 1 }
    defer {
      openFolders.withLock { open in
        open.users -= 1
        if open.users == 0 { open.folders = [:] }
      }
    }
    return try body()
  }

  /// Begins longer work on a thread of its own.
  public func begin<Result: Sendable>(_ work: @escaping @Sendable () -> Result) -> WorkUnderway<Result> {
    let beside = WorkBeside(work)
    return WorkUnderway { beside.wait() }
  }

  /// Walks every path anew from here on: folders came or went.
  func letFoldersGo() { openFolders.withLock { $0.folders = [:] } }

  /// The folders that are kept open while somebody wants them to be.
  private struct OpenFolders {
    var users = 0
    var folders: [PathKey: SharedDescriptor] = [:]
  }

  /// Keeps a folder open where that is wanted; never the root, whose descriptor is at hand anyway.
  private func kept(_ folder: consuming Descriptor, as path: String) -> Descriptor {
    guard !path.isEmpty, openFolders.withLock({ $0.users > 0 }) else { return folder }
    let shared = SharedDescriptor(folder)
    openFolders.withLock { open in
      if open.users > 0 { open.folders[PathKey(path)] = shared }
    }
    return shared.lent()
  }

  private func openFolder(_ parts: [String], _ path: String) throws(FileSystemError) -> Descriptor {
    let flags = O_RDONLY | O_DIRECTORY
    guard let first = parts.first else {
      return try system(path, "open") { () throws(SystemError) in
        Descriptor(try call { openat(rootFolder.number, ".", flags | O_CLOEXEC) })
      }
    }
    var folder: Descriptor
    do {
      folder = try Descriptor.open(in: rootFolder, first, flags)
    } catch {
      throw Self.notOpened(error, first, in: rootFolder, path, walked: first)
    }
    for (index, part) in parts.enumerated().dropFirst() {
      do {
        folder = try Descriptor.open(in: folder, part, flags)
      } catch {
        throw Self.notOpened(error, part, in: folder, path, walked: parts[...index].joined(separator: "/"))
      }
    }
    return folder
  }

  private static func notOpened(
    _ error: SystemError, _ name: String, in folder: borrowing Descriptor, _ path: String, walked: String
  ) -> FileSystemError {
    if let kind = try? status(in: folder, name).kind, kind != .folder {
      return .wrongKind(walked, found: kind, expected: .folder)
    }
    return .from(error.code, error.code == ENOENT ? path : walked, "open")
  }

  /// Gives an error number its path and the words for what was tried.
  func system<Result: ~Copyable>(
    _ path: String, _ operation: String, _ body: () throws(SystemError) -> Result
  ) throws(FileSystemError) -> Result {
    do {
      return try body()
    } catch {
      throw .from(error.code, path, operation)
    }
  }

  private static let statusMask = UInt32(STATX_BASIC_STATS) | UInt32(STATX_BTIME) | UInt32(STATX_MNT_ID)
  private static let statusFlags = AT_SYMLINK_NOFOLLOW

  /// The status of a name in a folder; of the folder itself for an empty name.
  static func status(in folder: borrowing Descriptor, _ name: String) throws(SystemError) -> FileStatus {
    if name.isEmpty { return try status(ofOpen: folder.number) }
    var raw = statx()
    try call { tm_statx(folder.number, name, statusFlags, statusMask, &raw) }
    return FileStatus(raw)
  }

  static func status(ofOpen descriptor: Int32) throws(SystemError) -> FileStatus {
    var raw = statx()
    try call { tm_statx(descriptor, "", statusFlags | Int32(tm_at_empty_path), statusMask, &raw) }
    return FileStatus(raw)
  }
}

extension FileStatus {
  /// Takes over what statx says.
  init(_ raw: statx) {
    let kind: FileKind =
      switch mode_t(raw.stx_mode) & mode_t(tm_mode_kind) {
      case 0o100000: .file
      case 0o040000: .folder
      case 0o120000: .link
      default: .other
      }
    let hasBirth = raw.stx_mask & UInt32(STATX_BTIME) != 0
    let hasMount = raw.stx_mask & UInt32(STATX_MNT_ID) != 0
    self.init(
      kind: kind, size: Int64(clamping: raw.stx_size), modified: FileTime(raw.stx_mtime),
      changed: FileTime(raw.stx_ctime), born: hasBirth ? FileTime(raw.stx_btime) : nil, inode: raw.stx_ino,
      device: UInt64(raw.stx_dev_major) << 32 | UInt64(raw.stx_dev_minor), mount: hasMount ? raw.stx_mnt_id : 0,
      mode: UInt32(raw.stx_mode) & 0o7777, owner: raw.stx_uid, group: raw.stx_gid, links: raw.stx_nlink)
  }
}

extension FileTime {
  fileprivate init(_ raw: statx_timestamp) { self.init(seconds: raw.tv_sec, nanoseconds: raw.tv_nsec) }
}
