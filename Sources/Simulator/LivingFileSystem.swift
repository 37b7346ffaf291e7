import FileWorkspace
import Synchronization

/// The files of a device as one run of the program reaches them: nothing once it is over, and nothing new on a full disk.
struct LivingFileSystem: FileSystem {
  let files: InMemoryFileSystem
  let life: Life
  /// Called before a name in a folder of rows changes hands, with its path.
  let beforeSwap: @Sendable (_ path: String) -> Void
  /// Called when a text of the program has come to lie at a path.
  let hasWritten: @Sendable (_ path: String) -> Void
  /// The texts of the program that never lay at a path.
  private let made = MadeFiles()

  private final class MadeFiles: Sendable {
    let identities = Mutex<Set<FileIdentity>>([])
  }

  init(
    files: InMemoryFileSystem, life: Life, beforeSwap: @escaping @Sendable (_ path: String) -> Void,
    hasWritten: @escaping @Sendable (_ path: String) -> Void
  ) {
    self.files = files
    self.life = life
    self.beforeSwap = beforeSwap
    self.hasWritten = hasWritten
  }

  private func noteWritten(_ path: String) {
    guard let identity = try? files.status(path)?.identity,
      made.identities.withLock({ $0.remove(identity) }) != nil
    else { return }
    hasWritten(path)
  }

  var user: UInt32 { files.user }

  fileprivate func act(_ operation: String, _ path: String, growing: Bool = false) throws(FileSystemError) {
    guard life.mayAct() else { throw .failed(path, operation: operation, errno: 0) }
    if growing, life.isDiskFull { throw .diskFull(path, operation: operation, errno: 28) }  // ENOSPC
  }

  func list(_ folder: String) throws(FileSystemError) -> FolderListing {
    try act("list", folder)
    return try files.list(folder)
  }

  func status(_ path: String) throws(FileSystemError) -> FileStatus? {
    try act("look at", path)
    return try files.status(path)
  }

  func read(_ path: String, bytesMax: Int) throws(FileSystemError) -> FileContent {
    try act("read", path)
    return try files.read(path, bytesMax: bytesMax)
  }

  func open(_ path: String) throws(FileSystemError) -> any ReadableFile {
    try act("open", path)
    return LivingReadableFile(file: try files.open(path), path: path, system: self)
  }

  func create(in folder: String, prefix: String) throws(FileSystemError) -> any WritableFile {
    try act("write", folder, growing: true)
    return LivingWritableFile(file: try files.create(in: folder, prefix: prefix), system: self)
  }

  func append(to path: String) throws(FileSystemError) -> any WritableFile {
    try act("write", path, growing: true)
    return LivingWritableFile(file: try files.append(to: path), system: self)
  }

  func createFolder(_ path: String, isPrivate: Bool) throws(FileSystemError) -> Bool {
    try act("make the folder", path, growing: true)
    return try files.createFolder(path, isPrivate: isPrivate)
  }

  func removeFolder(_ path: String) throws(FileSystemError) {
    try act("remove the folder", path)
    try files.removeFolder(path)
  }

  func makeTemporary(
    _ bytes: [UInt8], in folder: String, prefix: String, like model: String?
  ) throws(FileSystemError) -> TemporaryFile {
    try act("write", folder, growing: true)
    let file = try files.makeTemporary(bytes, in: folder, prefix: prefix, like: model)
    _ = made.identities.withLock { $0.insert(file.status.identity) }
    return file
  }

  func makeDurable(_ paths: [String]) throws(FileSystemError) {
    try act("make durable", paths.first ?? "")
    try files.makeDurable(paths)
  }

  func makeNamesDurable(_ folders: [String]) throws(FileSystemError) {
    try act("make durable", folders.first ?? "")
    try files.makeNamesDurable(folders)
  }

  func exchange(_ one: String, _ other: String) throws(FileSystemError) {
    beforeSwap(other)
    try act("swap", other)
    try files.exchange(one, other)
    noteWritten(other)
  }

  func renameNoReplace(_ from: String, _ to: String) throws(FileSystemError) {
    try act("rename", to)
    try files.renameNoReplace(from, to)
    noteWritten(to)
  }

  func rename(_ from: String, _ to: String) throws(FileSystemError) {
    beforeSwap(from)
    try act("rename", to)
    try files.rename(from, to)
  }

  func link(_ from: String, _ to: String) throws(FileSystemError) {
    try act("link", to)
    try files.link(from, to)
  }

  func unlink(_ path: String) throws(FileSystemError) {
    try act("remove", path)
    try files.unlink(path)
  }

  func isOpenElsewhere(_ path: String) throws(FileSystemError) -> OpenElsewhere {
    try act("ask for a lease on", path)
    return try files.isOpenElsewhere(path)
  }
}

private struct LivingReadableFile: ReadableFile {
  let file: any ReadableFile
  let path: String
  let system: LivingFileSystem

  var status: FileStatus { file.status }
  var systemPath: String? { file.systemPath }

  func currentStatus() throws(FileSystemError) -> FileStatus {
    try system.act("look at", path)
    return try file.currentStatus()
  }

  func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(FileSystemError) -> Int {
    try system.act("read", path)
    return try file.read(at: position, into: buffer)
  }
}

private struct LivingWritableFile: WritableFile {
  let file: any WritableFile
  let system: LivingFileSystem

  var path: String { file.path }

  func write(_ bytes: UnsafeRawBufferPointer) throws(FileSystemError) {
    try system.act("write", path, growing: true)
    try file.write(bytes)
  }

  func finish(modified: FileTime?) throws(FileSystemError) -> FileStatus {
    try system.act("set the time of", path)
    return try file.finish(modified: modified)
  }
}
