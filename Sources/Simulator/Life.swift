import FileWorkspace
import Synchronization

/// One run of the program on a device: from the moment it is over, nothing that it still does has any effect.
///
/// Everything that reaches out of the process counts as an effect: a file operation, a commit, a request. So a process can
/// die between any two of them.
final class Life: Sendable {
  private struct State {
    var isOver = false
    var effectsLeft = Int.max
    var isDiskFull = false
  }

  private let state = Mutex(State())
  private let hasDied: @Sendable () -> Void

  /// - Parameter hasDied: Called when the planned end has come.
  init(hasDied: @escaping @Sendable () -> Void) { self.hasDied = hasDied }

  var isOver: Bool { state.withLock(\.isOver) }

  func end() { state.withLock { $0.isOver = true } }

  /// Ends it after so many effects more.
  func end(afterEffects count: Int) { state.withLock { $0.effectsLeft = count } }

  var isDiskFull: Bool {
    get { state.withLock(\.isDiskFull) }
    set { state.withLock { $0.isDiskFull = newValue } }
  }

  /// Counts an effect; false when it must not happen.
  func mayAct() -> Bool {
    let (mayAct, endsNow) = state.withLock { state -> (Bool, Bool) in
      if state.isOver { return (false, false) }
      if state.effectsLeft == 0 {
        state.isOver = true
        return (false, true)
      }
      if state.effectsLeft != .max { state.effectsLeft -= 1 }
      return (true, false)
    }
    if endsNow { hasDied() }
    return mayAct
  }
}

/// The files of a device as one run of the program reaches them: nothing once it is over, and nothing new on a full disk.
struct LivingFileSystem: FileSystem {
  let files: InMemoryFileSystem
  let life: Life

  var user: UInt32 { files.user }

  private func act(_ operation: String, _ path: String, growing: Bool = false) throws(FileSystemError) {
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
    return try files.makeTemporary(bytes, in: folder, prefix: prefix, like: model)
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
    try act("swap", other)
    try files.exchange(one, other)
  }

  func renameNoReplace(_ from: String, _ to: String) throws(FileSystemError) {
    try act("rename", to)
    try files.renameNoReplace(from, to)
  }

  func rename(_ from: String, _ to: String) throws(FileSystemError) {
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
