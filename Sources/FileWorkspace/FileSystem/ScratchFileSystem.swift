import Synchronization

/// Files that can be changed without being changed: reads go to the real ones, writes stay in memory and lie over them.
///
/// What a dry run uses. Of the things that lie in the real folders only regular files can be moved.
public final class ScratchFileSystem: FileSystem {
  private enum Node {
    case file(FileContent)
    case folder(FileStatus)
    case gone
  }

  private struct State {
    var nodes: [PathKey: Node] = [:]
    var lastNumber: UInt64 = 0
  }

  private let real: any FileSystem
  private let state = Mutex(State())

  /// Inode numbers made here begin behind those of any real file system.
  private static let firstInode: UInt64 = 1 << 62

  /// A scratch layer over `real`.
  public init(over real: any FileSystem) { self.real = real }

  /// The user id of the real files' program.
  public var user: UInt32 { real.user }

  private func node(_ path: String) -> Node? { state.withLock { $0.nodes[PathKey(path)] } }

  private func set(_ path: String, _ node: Node) { state.withLock { $0.nodes[PathKey(path)] = node } }

  // MARK: Reading

  /// Lists the real folder with what was changed here.
  public func list(_ folder: String) throws(FileSystemError) -> FolderListing {
    var listing: FolderListing
    if case .folder(let status)? = node(folder) {
      listing = FolderListing(folder: status, entries: [])
    } else {
      listing = try real.list(folder)
    }
    let here = state.withLock { state in
      state.nodes.filter { WorkspacePath.folder(of: $0.key.text) == folder && !$0.key.text.isEmpty }
    }
    listing.entries.removeAll { here[PathKey(WorkspacePath.joined(folder, $0.name))] != nil }
    for (path, node) in here.sorted(by: { $0.key < $1.key }) {
      let name = WorkspacePath.name(of: path.text)
      switch node {
      case .file(let content): listing.entries.append(FolderEntry(name: name, status: content.status))
      case .folder(let status): listing.entries.append(FolderEntry(name: name, status: status))
      case .gone: break
      }
    }
    return listing
  }

  /// The status of what lies at the path.
  public func status(_ path: String) throws(FileSystemError) -> FileStatus? {
    switch node(path) {
    case .file(let content)?: content.status
    case .folder(let status)?: status
    case .gone?: nil
    case nil: try real.status(path)
    }
  }

  /// Reads a whole regular file.
  public func read(_ path: String, bytesMax: Int) throws(FileSystemError) -> FileContent {
    switch node(path) {
    case .file(let content)?:
      guard content.bytes.count <= bytesMax else {
        throw .tooLarge(path, bytes: Int64(content.bytes.count), bytesMax: bytesMax)
      }
      return content
    case .folder?: throw .wrongKind(path, found: .folder, expected: .file)
    case .gone?: throw .absent(path)
    case nil: return try real.read(path, bytesMax: bytesMax)
    }
  }

  /// Asks the real file system, where the file is a real one.
  public func isOpenElsewhere(_ path: String) throws(FileSystemError) -> OpenElsewhere {
    if node(path) != nil { return .no }
    return try real.isOpenElsewhere(path)
  }

  // MARK: Writing, in memory

  /// Makes a folder here.
  @discardableResult
  public func createFolder(_ path: String, isPrivate: Bool) throws(FileSystemError) -> Bool {
    if try status(path) != nil { return false }
    set(path, .folder(try made(.folder, size: 0, in: WorkspacePath.folder(of: path))))
    return true
  }

  /// Removes an empty folder here.
  public func removeFolder(_ path: String) throws(FileSystemError) {
    guard try list(path).entries.isEmpty else { throw .notEmpty(path) }
    set(path, .gone)
  }

  /// Keeps a new file here.
  public func makeTemporary(
    _ bytes: [UInt8], in folder: String, prefix: String, like model: String?
  ) throws(FileSystemError) -> TemporaryFile {
    let status = try made(.file, size: bytes.count, in: folder)
    let path = WorkspacePath.joined(folder, "\(prefix).\(status.inode - Self.firstInode)")
    set(path, .file(FileContent(bytes: bytes, status: status)))
    return TemporaryFile(path: path, status: status)
  }

  private func made(_ kind: FileKind, size: Int, in folder: String) throws(FileSystemError) -> FileStatus {
    let parent = try status(folder)
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    // Times that no real file has, each one its own.
    let time = FileTime(nanoseconds: 100_000 * 86_400 * 1_000_000_000 / 4 + Int64(number))
    return FileStatus(
      kind: kind, size: Int64(size), modified: time, changed: time, born: time, inode: Self.firstInode + number,
      device: parent?.device ?? 0, mount: parent?.mount ?? 0, owner: user)
  }

  /// Nothing here outlives the process.
  public func makeDurable(_ files: [String]) throws(FileSystemError) {}

  /// Nothing here outlives the process.
  public func makeNamesDurable(_ folders: [String]) throws(FileSystemError) {}

  /// Swaps two files here.
  public func exchange(_ one: String, _ other: String) throws(FileSystemError) {
    let (first, second) = (try file(one), try file(other))
    set(one, .file(second))
    set(other, .file(first))
  }

  /// Renames here; throws `exists` when something lies at the target.
  public func renameNoReplace(_ from: String, _ to: String) throws(FileSystemError) {
    if try status(to) != nil { throw .exists(to) }
    try rename(from, to)
  }

  /// Renames here.
  public func rename(_ from: String, _ to: String) throws(FileSystemError) {
    let moved = try file(from)
    set(from, .gone)
    set(to, .file(moved))
  }

  /// Gives a file a second name here.
  public func link(_ from: String, _ to: String) throws(FileSystemError) {
    if try status(to) != nil { throw .exists(to) }
    set(to, .file(try file(from)))
  }

  /// Removes the name of a file here.
  public func unlink(_ path: String) throws(FileSystemError) {
    if try status(path) == nil { throw .absent(path) }
    set(path, .gone)
  }

  private func file(_ path: String) throws(FileSystemError) -> FileContent {
    try read(path, bytesMax: .max)
  }
}
