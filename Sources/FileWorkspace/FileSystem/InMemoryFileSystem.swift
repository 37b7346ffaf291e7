import Synchronization

/// A file system in memory that behaves like the real one, fails on command, and can lose power.
///
/// Time is a counter unless a clock is given. Operations of the program go through `FileSystem` and are counted; what a
/// person does meanwhile goes through `person`, which is neither counted nor made to fail.
public final class InMemoryFileSystem: FileSystem {
  /// What happens instead of an operation.
  public enum Fault: Sendable, Hashable {
    /// The operation throws what the kernel would for this error number, and changes nothing.
    case error(errno: Int32)
    /// This operation and all later ones fail: the process has died. `crash` or `restart` ends it.
    case stop
    /// The operation happens, then it and all later ones fail: the process died right after it.
    case stopAfter
  }

  /// What the file system can do, for playing poorer ones.
  public struct Abilities: Sendable, Hashable {
    /// Two names can be swapped.
    public var canExchange = true
    /// A rename can refuse to replace.
    public var canRenameNoReplace = true
    /// A file can have a second name.
    public var canLink = true
    /// A lease tells whether somebody has a file open.
    public var canLease = true
    /// Folders that lie on a file system of their own, so that nothing can be renamed into or out of them.
    public var foldersApart: [String] = []

    /// Everything that ext4 can do.
    public init() {}
  }

  /// The user id of the program and of the person.
  public let user: UInt32 = 1000
  private let abilities: Abilities
  let state: Mutex<InMemoryDisk>
  private let control = Mutex(Control())
  private let watcher = Mutex(Listener())

  /// In a type of its own: a bare function in a `Mutex` gets a wrapper more with each look.
  private struct Listener {
    var tell: (@Sendable (_ path: String, _ hint: WatchHint) -> Void)?
  }

  private struct Control {
    var operations = 0
    var isStopped = false
    var faults: [Int: Fault] = [:]
    var before: (@Sendable (_ number: Int, _ operation: String) -> Void)?
  }

  /// Makes an empty workspace.
  ///
  /// - Parameters:
  ///   - abilities: What it can do.
  ///   - now: Gives the time of changes, in nanoseconds since 1970; nil counts up, so that no two changes are at one time.
  public init(_ abilities: Abilities = Abilities(), now: (@Sendable () -> Int64)? = nil) {
    self.abilities = abilities
    state = Mutex(InMemoryDisk(now: now))
  }

  /// The same files as a person's programs see them: not counted, never failing on command.
  public var person: InMemoryPerson { InMemoryPerson(files: self) }

  /// How many operations the program has tried.
  public var operationCount: Int { control.withLock { $0.operations } }

  /// True from the moment a `stop` fault was met until `crash` or `restart`.
  public var isStopped: Bool { control.withLock { $0.isStopped } }

  /// Plans a fault for the operation with this number; the first one of the program is 1.
  public func plan(_ fault: Fault, atOperation number: Int) { control.withLock { $0.faults[number] = fault } }

  /// Calls a function before each operation of the program, where a test lets a person save.
  public func beforeEachOperation(_ body: (@Sendable (_ number: Int, _ operation: String) -> Void)?) {
    control.withLock { $0.before = body }
  }

  /// Ends a planned stop as a restarted process would: nothing is lost, open files are closed, counting begins anew.
  public func restart() {
    control.withLock { $0 = Control() }
    state.withLock { $0.closeAll() }
  }

  /// Loses power, then starts again.
  ///
  /// Of the names, any beginning of what was done since they were last made durable survives; each file whose bytes were
  /// not made durable has its old, its new or no content.
  ///
  /// - Parameter choose: Picks a number below its argument; called once for the names, then once for each such file.
  public func crash(_ choose: (Int) -> Int) {
    control.withLock { $0 = Control() }
    state.withLock { $0.crash(choose) }
  }

  func perform<Result>(
    _ operation: String, _ path: String, _ body: (inout sending InMemoryDisk) throws(FileSystemError) -> sending Result
  ) throws(FileSystemError) -> Result {
    let (number, before) = control.withLock { control in
      control.operations += 1
      return (control.operations, control.before)
    }
    before?(number, operation)
    let fault: Fault? = control.withLock { control in
      if control.isStopped { return .stop }
      let fault = control.faults[number]
      if fault == .stop || fault == .stopAfter { control.isStopped = true }
      return fault
    }
    switch fault {
    case .error(let code): throw .from(code, path, operation)
    case .stop: throw .failed(path, operation: operation, errno: 0)
    case .stopAfter:
      _ = try change(body)
      throw .failed(path, operation: operation, errno: 0)
    case nil: return try change(body)
    }
  }

  // MARK: Watching

  /// Tells what a kernel would tell a watcher, the person's doings and the program's own alike.
  ///
  /// - Parameter body: Called after each operation with each path that it touched; `nil` for nobody.
  public func watch(_ body: (@Sendable (_ path: String, _ hint: WatchHint) -> Void)?) {
    watcher.withLock { $0.tell = body }
    state.withLock { disk in
      _ = disk.takeNews()
      disk.isWatched = body != nil
    }
  }

  /// Looks or changes, and tells the watcher of it.
  func change<Result>(
    _ body: (inout sending InMemoryDisk) throws(FileSystemError) -> sending Result
  ) throws(FileSystemError) -> sending Result {
    let result = try state.withLock(body)
    if let tell = watcher.withLock(\.tell) {
      for one in state.withLock({ $0.takeNews() }) { tell(one.path, one.hint) }
    }
    return result
  }

  // MARK: FileSystem

  /// Lists a folder with the status of each entry.
  public func list(_ folder: String) throws(FileSystemError) -> FolderListing {
    try perform("list", folder) { (disk) throws(FileSystemError) in try disk.list(folder) }
  }

  /// The status of what lies at the path, nil when nothing does.
  public func status(_ path: String) throws(FileSystemError) -> FileStatus? {
    try perform("look at", path) { (disk) throws(FileSystemError) in try disk.status(path) }
  }

  /// Reads a whole regular file.
  public func read(_ path: String, bytesMax: Int) throws(FileSystemError) -> FileContent {
    try perform("read", path) { (disk) throws(FileSystemError) in try disk.read(path, bytesMax: bytesMax) }
  }

  /// Makes a folder; true when it was not there before.
  @discardableResult
  public func createFolder(_ path: String, isPrivate: Bool) throws(FileSystemError) -> Bool {
    try perform("make the folder", path) { (disk) throws(FileSystemError) in
      try disk.createFolder(path, mode: isPrivate ? 0o700 : 0o755)
    }
  }

  /// Removes an empty folder.
  public func removeFolder(_ path: String) throws(FileSystemError) {
    try perform("remove the folder", path) { (disk) throws(FileSystemError) in try disk.removeFolder(path) }
  }

  /// Writes a new file under a name that was free.
  public func makeTemporary(
    _ bytes: [UInt8], in folder: String, prefix: String, like model: String?
  ) throws(FileSystemError) -> TemporaryFile {
    try perform("write", folder) { (disk) throws(FileSystemError) in
      try disk.makeTemporary(bytes, in: folder, prefix: prefix, like: model)
    }
  }

  /// Makes the content and the names of files durable.
  public func makeDurable(_ files: [String]) throws(FileSystemError) {
    try perform("make durable", files.first ?? "") { (disk) throws(FileSystemError) in try disk.makeDurable(files) }
  }

  /// Makes the names in folders durable.
  public func makeNamesDurable(_ folders: [String]) throws(FileSystemError) {
    try perform("make durable", folders.first ?? "") { (disk) throws(FileSystemError) in
      for folder in folders { try disk.makeNamesDurable(folder) }
    }
  }

  /// Swaps what lies at two paths in one step.
  public func exchange(_ one: String, _ other: String) throws(FileSystemError) {
    try perform("swap", other) { (disk) throws(FileSystemError) in
      try requireOneFileSystem(one, other)
      if !abilities.canExchange { throw .unsupported(other, operation: "swap") }
      try disk.exchange(one, other)
    }
  }

  /// Renames; throws `exists` when something lies at the target.
  public func renameNoReplace(_ from: String, _ to: String) throws(FileSystemError) {
    try perform("rename", to) { (disk) throws(FileSystemError) in
      try requireOneFileSystem(from, to)
      if !abilities.canRenameNoReplace { throw .unsupported(to, operation: "rename") }
      try disk.rename(from, to, mayReplace: false)
    }
  }

  /// Renames; a file at the target is lost.
  public func rename(_ from: String, _ to: String) throws(FileSystemError) {
    try perform("rename", to) { (disk) throws(FileSystemError) in
      try requireOneFileSystem(from, to)
      try disk.rename(from, to, mayReplace: true)
    }
  }

  /// Gives a file a second name.
  public func link(_ from: String, _ to: String) throws(FileSystemError) {
    try perform("link", to) { (disk) throws(FileSystemError) in
      try requireOneFileSystem(from, to)
      if !abilities.canLink { throw .unsupported(to, operation: "give a file a second name") }
      try disk.link(from, to)
    }
  }

  /// Removes the name of a file.
  public func unlink(_ path: String) throws(FileSystemError) {
    try perform("remove", path) { (disk) throws(FileSystemError) in try disk.unlink(path) }
  }

  /// Tells whether another process has the file open for writing.
  public func isOpenElsewhere(_ path: String) throws(FileSystemError) -> OpenElsewhere {
    try perform("ask for a lease on", path) { (disk) throws(FileSystemError) in
      let isOpen = try disk.isOpen(path)
      return abilities.canLease ? (isOpen ? .yes : .no) : .unknown
    }
  }

  private func requireOneFileSystem(_ one: String, _ other: String) throws(FileSystemError) {
    for folder in abilities.foldersApart {
      let isInside = { (path: String) in path.utf8.starts(with: "\(folder)/".utf8) }
      if isInside(one) != isInside(other) { throw .otherFileSystem(other) }
    }
  }
}
