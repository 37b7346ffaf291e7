import Glibc

/// Puts photos' files where a person wants them, and nothing else: what that means is found by looking at the files.
///
/// A file appears under its name only whole and durable, so that nobody sees half of it, and what loses its place goes to
/// the trash.
public struct PhotoFiles: Sendable {
  private let files: LiveFileSystem
  private let trash: Trash

  /// The photos' files of a workspace.
  ///
  /// - Parameter now: Milliseconds since 1970.
  public init(files: LiveFileSystem, now: @escaping @Sendable () -> Int64) {
    self.files = files
    trash = Trash(files: files, now: now)
  }

  /// Copies a file, with the time of its last change, to a path where none is.
  ///
  /// - Parameter source: Any path of this machine.
  public func add(_ source: String, at path: String) throws {
    try checkFree(path)
    let copy = try copy(source, for: path)
    try finish(path) {
      try makeFolders(for: path)
      try files.makeDurable([copy])
      try files.moveNoReplace(copy, path)
      try files.makeNamesDurable([WorkspacePath.folder(of: path)])
    } undo: {
      try? files.unlink(copy)
    }
  }

  /// Gives a file another path where none is.
  public func move(_ path: String, to other: String) throws {
    try checkFree(other)
    try finish(path) {
      try makeFolders(for: other)
      try files.moveNoReplace(path, other)
      try files.makeNamesDurable([WorkspacePath.folder(of: other), WorkspacePath.folder(of: path)])
    }
  }

  /// Has a path show another file; the one that was there goes to the trash.
  public func replace(_ path: String, with source: String) throws {
    let copy = try copy(source, for: path)
    var hasSwapped = false
    try finish(path) {
      try files.makeDurable([copy])
      try files.exchange(copy, path)
      hasSwapped = true
      try trash.take(copy, origin: path, reason: "replaced by another photo")
      try files.makeNamesDurable([WorkspacePath.folder(of: path)])
    } undo: {
      // What the exchange brought out is the only copy of the old photo.
      if !hasSwapped { try? files.unlink(copy) }
    }
  }

  /// Moves a file to the trash.
  public func remove(_ path: String) throws {
    try finish(path) { try trash.take(path, origin: path, reason: "photo removed") }
  }

  // MARK: Steps

  private func checkFree(_ path: String) throws {
    let name = WorkspacePath.name(of: path)
    guard !FileNames.isIgnored(name) else {
      throw WorkspaceRequestError.badInput("'\(name)' is a name that is left alone; rename the file")
    }
    guard try files.status(path) == nil else {
      throw WorkspaceRequestError.notWritten(path: path, reason: "a file lies there already")
    }
  }

  private func makeFolders(for path: String) throws(FileSystemError) {
    var folder = ""
    for name in try WorkspacePath.components(of: WorkspacePath.folder(of: path)) {
      folder = WorkspacePath.joined(folder, name)
      if try files.createFolder(folder, isPrivate: false) {
        try files.makeNamesDurable([WorkspacePath.folder(of: folder)])
      }
    }
  }

  private func finish(_ path: String, _ body: () throws -> Void, undo: () -> Void = {}) throws {
    do { try body() } catch let error as FileSystemError {
      undo()
      throw WorkspaceRequestError.notWritten(path: path, reason: "\(error)")
    }
  }

  /// Copies a file into the folder of temporary files, piece by piece.
  private func copy(_ source: String, for path: String) throws -> String {
    func trouble(_ place: String) -> WorkspaceRequestError {
      .notWritten(path: path, reason: "\(place): \(String(cString: strerror(errno)))")
    }
    let input = open(source, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard input >= 0 else { throw trouble(source) }
    defer { close(input) }
    var status = stat()
    guard fstat(input, &status) == 0 else { throw trouble(source) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw WorkspaceRequestError.notWritten(path: path, reason: "\(source) is no regular file")
    }
    do {
      try StateFolder.create(in: files)
      let output = try files.create(in: StateFolder.temporary, prefix: "photo")
      do {
        try Self.copy(input, to: output) { trouble(source) }
        _ = try output.finish(
          modified: FileTime(
            seconds: Int64(status.st_mtim.tv_sec), nanoseconds: UInt32(clamping: status.st_mtim.tv_nsec)))
      } catch {
        try? files.unlink(output.path)
        throw error
      }
      return output.path
    } catch let error as FileSystemError {
      throw WorkspaceRequestError.notWritten(path: path, reason: "\(error)")
    }
  }

  private static func copy(
    _ input: Int32, to output: any WritableFile, trouble: () -> WorkspaceRequestError
  ) throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { buffer.deallocate() }
    while true {
      let count = read(input, buffer.baseAddress, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw trouble() }
      if count == 0 { return }
      try output.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }
}
