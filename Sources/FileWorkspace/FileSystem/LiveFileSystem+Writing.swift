import CLinuxFiles
import Glibc
import Synchronization

extension LiveFileSystem {
  /// Reads a whole regular file.
  public func read(_ path: String, bytesMax: Int) throws(FileSystemError) -> FileContent {
    let place = try place(of: path)
    let file = try system(path, "read") { () throws(SystemError) in
      try Descriptor.open(in: place.folder, place.name, O_RDONLY)
    }
    let before = try system(path, "look at") { () throws(SystemError) in try Self.status(in: file, "") }
    guard before.kind == .file else { throw .wrongKind(path, found: before.kind, expected: .file) }
    guard before.size <= Int64(bytesMax) else { throw .tooLarge(path, bytes: before.size, bytesMax: bytesMax) }
    // One byte more than the file should have: a file that grows shows itself.
    let bytes = try system(path, "read") { () throws(SystemError) in
      try Self.read(file, atMost: Int(before.size) + 1)
    }
    let after = try system(path, "look at") { () throws(SystemError) in try Self.status(in: file, "") }
    guard before.stamp == after.stamp, bytes.count == Int(before.size) else { throw .changedWhileReading(path) }
    return FileContent(bytes: bytes, status: after)
  }

  private static func read(_ file: borrowing Descriptor, atMost limit: Int) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: limit)
    var filled = 0
    while filled < limit {
      let count = try call {
        bytes.withUnsafeMutableBytes { Glibc.read(file.number, $0.baseAddress?.advanced(by: filled), limit - filled) }
      }
      if count == 0 { break }
      filled += count
    }
    bytes.removeLast(limit - filled)
    return bytes
  }

  /// Makes a folder; true when it was not there before.
  @discardableResult
  public func createFolder(_ path: String, isPrivate: Bool) throws(FileSystemError) -> Bool {
    let place = try place(of: path)
    do {
      try call { mkdirat(place.folder.number, place.name, isPrivate ? 0o700 : 0o777) }
      letFoldersGo()
      return true
    } catch {
      guard error.code == EEXIST else { throw .from(error.code, path, "make the folder") }
      _ = try openFolder(path)  // A file or link there is no folder.
      return false
    }
  }

  /// Removes an empty folder.
  public func removeFolder(_ path: String) throws(FileSystemError) {
    let place = try place(of: path)
    try system(path, "remove the folder") { () throws(SystemError) in
      _ = try call { unlinkat(place.folder.number, place.name, AT_REMOVEDIR) }
    }
    letFoldersGo()
  }

  /// Writes a new file under a name that was free.
  public func makeTemporary(
    _ bytes: [UInt8], in folder: String, prefix: String, like model: String?
  ) throws(FileSystemError) -> TemporaryFile {
    let descriptor = try openFolder(folder)
    let look = try openModel(model)
    let new = try createUnique(in: descriptor, folder: folder, prefix: prefix, mode: look.isNone ? 0o666 : 0o600)
    let path = WorkspacePath.joined(folder, new.name)
    do {
      try Self.write(bytes, to: new.file)
      try Self.copyLook(of: look, to: new.file)
      return TemporaryFile(path: path, status: try Self.status(in: new.file, ""))
    } catch {
      unlinkat(descriptor.number, new.name, 0)
      throw .from(error.code, path, "write")
    }
  }

  private struct NewFile: ~Copyable {
    let file: Descriptor
    let name: String
  }

  /// Opens the model; none when it is absent or cannot be read, since its look then cannot be known either.
  private func openModel(_ path: String?) throws(FileSystemError) -> Descriptor {
    guard let path else { return .none }
    let place = try place(of: path)
    do {
      return try Descriptor.open(in: place.folder, place.name, O_RDONLY)
    } catch {
      return .none
    }
  }

  private func createUnique(
    in folder: borrowing Descriptor, folder path: String, prefix: String, mode: mode_t
  ) throws(FileSystemError) -> NewFile {
    while true {
      // Names need to be unique only against what lies there; the process id keeps two processes from racing for one.
      let number = temporaryNumber.add(1, ordering: .relaxed).newValue
      let name = "\(prefix).\(getpid())-\(number)"
      do {
        let file = try Descriptor.open(in: folder, name, O_WRONLY | O_CREAT | O_EXCL, mode: mode)
        return NewFile(file: file, name: name)
      } catch {
        if error.code != EEXIST { throw .from(error.code, WorkspacePath.joined(path, name), "write") }
      }
    }
  }

  private static func write(_ bytes: [UInt8], to file: borrowing Descriptor) throws(SystemError) {
    var written = 0
    while written < bytes.count {
      written += try call {
        bytes.withUnsafeBytes { Glibc.write(file.number, $0.baseAddress?.advanced(by: written), bytes.count - written) }
      }
    }
  }

  /// Copies group, extended attributes (access lists among them) and mode, in this order: changing the group drops bits.
  private static func copyLook(of model: borrowing Descriptor, to file: borrowing Descriptor) throws(SystemError) {
    if model.isNone { return }
    let status = try status(ofOpen: model.number)
    if status.kind != .file { return }
    // A person may belong to fewer groups than the file's; it then gets their own, as any editor's new file would.
    _ = fchown(file.number, uid_t.max, status.group)
    let room = tm_flistxattr(model.number, nil, 0)
    if room > 0 {
      var names = [CChar](repeating: 0, count: room)
      let length = tm_flistxattr(model.number, &names, room)
      for name in names.prefix(max(0, length)).split(separator: 0) {
        copyAttribute(Array(name) + [0], of: model, to: file)
      }
    }
    try call { fchmod(file.number, mode_t(status.mode)) }
  }

  /// Copies one extended attribute; those that only the system may set stay behind.
  private static func copyAttribute(
    _ name: [CChar], of model: borrowing Descriptor, to file: borrowing Descriptor
  ) {
    let size = tm_fgetxattr(model.number, name, nil, 0)
    guard size >= 0 else { return }
    var value = [UInt8](repeating: 0, count: max(1, size))
    let length = tm_fgetxattr(model.number, name, &value, size)
    if length == size { _ = tm_fsetxattr(file.number, name, value, length, 0) }
  }

  /// Makes the content and the names of files durable.
  public func makeDurable(_ files: [String]) throws(FileSystemError) {
    guard files.count > 8 else {
      for path in files {
        let place = try place(of: path)
        try system(path, "make durable") { () throws(SystemError) in
          let file = try Descriptor.open(in: place.folder, place.name, O_RDONLY)
          _ = try call { fdatasync(file.number) }
        }
      }
      return try makeNamesDurable(files.map(WorkspacePath.folder(of:)))
    }
    var flushed: Set<UInt64> = []
    for folder in Set(files.map { PathKey(WorkspacePath.folder(of: $0)) }).sorted() {
      let descriptor = try openFolder(folder.text)
      try system(folder.text, "make durable") { () throws(SystemError) in
        guard flushed.insert(try Self.status(in: descriptor, "").device).inserted else { return }
        _ = try call { tm_syncfs(descriptor.number) }
      }
    }
  }

  /// Makes the names in folders durable.
  public func makeNamesDurable(_ folders: [String]) throws(FileSystemError) {
    for folder in Set(folders.map(PathKey.init)).sorted() {
      let descriptor = try openFolder(folder.text)
      try system(folder.text, "make durable") { () throws(SystemError) in
        _ = try call { fsync(descriptor.number) }
      }
    }
  }

  /// Swaps what lies at two paths in one step.
  public func exchange(_ one: String, _ other: String) throws(FileSystemError) {
    try rename(one, other, flags: UInt32(tm_rename_exchange), "swap")
  }

  /// Renames; throws `exists` when something lies at the target.
  public func renameNoReplace(_ from: String, _ to: String) throws(FileSystemError) {
    try rename(from, to, flags: UInt32(tm_rename_noreplace), "rename")
  }

  /// Renames; a file at the target is lost.
  public func rename(_ from: String, _ to: String) throws(FileSystemError) {
    try rename(from, to, flags: 0, "rename")
  }

  private func rename(
    _ from: String, _ to: String, flags: UInt32, _ operation: String
  ) throws(FileSystemError) {
    let source = try place(of: from)
    let target = try place(of: to)
    do {
      try call { tm_renameat2(source.folder.number, source.name, target.folder.number, target.name, flags) }
    } catch {
      // The kernel does not say which of the two is missing.
      let isSourceThere = (try? Self.status(in: source.folder, source.name)) != nil
      throw .from(error.code, error.code == ENOENT && !isSourceThere ? from : to, operation)
    }
  }

  /// Gives a file a second name.
  public func link(_ from: String, _ to: String) throws(FileSystemError) {
    let source = try place(of: from)
    let target = try place(of: to)
    do {
      try call { linkat(source.folder.number, source.name, target.folder.number, target.name, 0) }
    } catch {
      // A file system without links says EPERM, which must not read as a matter of rights.
      if error.code == EPERM { throw .unsupported(to, operation: "give a file a second name") }
      throw .from(error.code, error.code == ENOENT ? from : to, "link")
    }
  }

  /// Removes the name of a file.
  public func unlink(_ path: String) throws(FileSystemError) {
    let place = try place(of: path)
    try system(path, "remove") { () throws(SystemError) in
      _ = try call { unlinkat(place.folder.number, place.name, 0) }
    }
  }
}
