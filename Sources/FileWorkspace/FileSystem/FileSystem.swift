/// Whether another process has a file open for writing.
public enum OpenElsewhere: Sendable, Hashable {
  /// Nobody has.
  case no
  /// Somebody has.
  case yes
  /// The file system or the user's rights do not allow to find out.
  case unknown
}

/// A temporary file that has just been made.
public struct TemporaryFile: Sendable, Hashable {
  /// Where it lies.
  public var path: String
  /// Its status right after it was written.
  public var status: FileStatus

  /// Makes a temporary file's description.
  public init(path: String, status: FileStatus) {
    self.path = path
    self.status = status
  }
}

/// The files of one workspace: everything that touches them goes through here.
///
/// Paths are relative to the workspace's folder (`WorkspacePath`). No operation follows a symbolic link, in any component,
/// so none can reach outside. Calls block, and may be made from any thread. A call that throws has changed nothing,
/// unless it says so.
public protocol FileSystem: Sendable {
  /// The user id that files must belong to, to be written.
  var user: UInt32 { get }

  /// Where a folder's file system does not report the changes that others make to it, which kind it is.
  func kindWithoutEvents(_ folder: String) -> FileSystemKind?

  /// Lists a folder with the status of each entry, in one pass; entries that vanish meanwhile are left out.
  func list(_ folder: String) throws(FileSystemError) -> FolderListing

  /// The names in a folder that begin with `prefix`, in no order; the entries themselves are not looked at.
  func names(in folder: String, prefix: String) throws(FileSystemError) -> [String]

  /// Runs `body` with folders kept open from one operation to the next, for many operations in few folders.
  ///
  /// A folder that is moved meanwhile is followed, as if it had been moved when `body` has ended.
  func withFoldersOpen<Result>(_ body: () throws -> Result) rethrows -> Result

  /// The status of what lies at the path, nil when nothing does (or a folder on the way is missing).
  func status(_ path: String) throws(FileSystemError) -> FileStatus?

  /// Reads a whole regular file.
  ///
  /// - Throws: `changedWhileReading` when the status moved between the beginning and the end, `tooLarge`, `absent`,
  ///   `wrongKind`.
  func read(_ path: String, bytesMax: Int) throws(FileSystemError) -> FileContent

  /// Opens a regular file for reading piece by piece, however large it is.
  func open(_ path: String) throws(FileSystemError) -> any ReadableFile

  /// Makes a new file under a name that was free, starting with `prefix`, to be written piece by piece.
  func create(in folder: String, prefix: String) throws(FileSystemError) -> any WritableFile

  /// Opens a file of our own for writing behind what is in it; made, private to the user, where there is none.
  func append(to path: String) throws(FileSystemError) -> any WritableFile

  /// Makes a folder, readable by the user's own account only when `isPrivate`; true when it was not there before.
  @discardableResult
  func createFolder(_ path: String, isPrivate: Bool) throws(FileSystemError) -> Bool

  /// Removes an empty folder.
  func removeFolder(_ path: String) throws(FileSystemError)

  /// Writes a new file under a name that was free, starting with `prefix`. The bytes are not durable yet.
  ///
  /// - Parameters:
  ///   - bytes: The content.
  ///   - folder: An existing folder.
  ///   - prefix: The beginning of the name; the rest is chosen here.
  ///   - model: A file whose mode, group and extended attributes the new file takes as far as the user may; ignored
  ///     when it is absent.
  func makeTemporary(
    _ bytes: [UInt8], in folder: String, prefix: String, like model: String?
  ) throws(FileSystemError) -> TemporaryFile

  /// Makes the content and the names of files durable: one by one up to 8 files, else by one flush of their file system.
  func makeDurable(_ files: [String]) throws(FileSystemError)

  /// Makes the names in folders durable.
  func makeNamesDurable(_ folders: [String]) throws(FileSystemError)

  /// Swaps what lies at two paths in one step, whatever it is.
  func exchange(_ one: String, _ other: String) throws(FileSystemError)

  /// Renames; throws `exists` when something lies at the target.
  func renameNoReplace(_ from: String, _ to: String) throws(FileSystemError)

  /// Renames; a file at the target is lost.
  func rename(_ from: String, _ to: String) throws(FileSystemError)

  /// Gives a file a second name; throws `exists` when something lies there.
  func link(_ from: String, _ to: String) throws(FileSystemError)

  /// Removes the name of a file.
  func unlink(_ path: String) throws(FileSystemError)

  /// Tells whether another process has the file open for writing.
  func isOpenElsewhere(_ path: String) throws(FileSystemError) -> OpenElsewhere

  /// Begins longer work on these files, which goes on beside what the caller does meanwhile where there is a thread for it.
  func begin<Result: Sendable>(_ work: @escaping @Sendable () -> Result) -> WorkUnderway<Result>
}

/// Work on files that has begun.
public struct WorkUnderway<Result: Sendable>: Sendable {
  /// Blocks until the work is done, and gives its result.
  public let result: @Sendable () -> Result

  /// Work whose result is waited for so.
  public init(_ result: @escaping @Sendable () -> Result) { self.result = result }
}

extension FileSystem {
  /// Does the work at once: files in memory gain nothing by a thread, and a simulated run has one alone.
  public func begin<Result: Sendable>(_ work: @escaping @Sendable () -> Result) -> WorkUnderway<Result> {
    let result = work()
    return WorkUnderway { result }
  }

  /// The names of a listing that begin with `prefix`.
  public func names(in folder: String, prefix: String) throws(FileSystemError) -> [String] {
    try list(folder).entries.map(\.name).filter { $0.utf8.starts(with: prefix.utf8) }
  }

  /// Reports every change.
  public func kindWithoutEvents(_ folder: String) -> FileSystemKind? { nil }

  /// Runs `body`; what keeps no folders open has nothing else to do.
  public func withFoldersOpen<Result>(_ body: () throws -> Result) rethrows -> Result { try body() }

  /// Renames without ever replacing, by a second name where the file system has no such rename.
  ///
  /// - Throws: `exists` when something lies at the target, `unsupported` when neither way works.
  public func moveNoReplace(_ from: String, _ to: String) throws(FileSystemError) {
    do {
      try renameNoReplace(from, to)
    } catch .unsupported {
      try link(from, to)
      try unlink(from)
    }
  }

  /// Renames a folder, never onto something that is there.
  ///
  /// - Throws: `absent` where it is not there, `exists` where something lies at the target, `wrongKind` for a file.
  func moveFolder(_ from: String, _ to: String) throws(FileSystemError) {
    guard let status = try status(from) else { throw .absent(from) }
    guard status.kind == .folder else { throw .wrongKind(from, found: status.kind, expected: .folder) }
    do {
      try renameNoReplace(from, to)
    } catch .unsupported {
      if try self.status(to) != nil { throw .exists(to) }
      try rename(from, to)  // The kernel refuses to put a folder over anything but an empty folder.
    }
  }

  /// Replaces or makes a file of our own (never one that a person edits): temporary file, durable, rename, durable.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - bytes: Its new content.
  ///   - temporaryFolder: An existing folder on the same file system.
  public func replace(_ path: String, with bytes: [UInt8], temporaryFolder: String) throws(FileSystemError) {
    let name = WorkspacePath.cut(WorkspacePath.name(of: path), bytesMax: 200)
    let temporary = try makeTemporary(bytes, in: temporaryFolder, prefix: name, like: path)
    do {
      try makeDurable([temporary.path])
      try rename(temporary.path, path)
    } catch {
      try? unlink(temporary.path)
      throw error
    }
    try makeNamesDurable([WorkspacePath.folder(of: path)])
  }
}
