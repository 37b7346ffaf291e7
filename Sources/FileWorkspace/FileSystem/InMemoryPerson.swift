/// What a person's programs do to an in-memory workspace.
public struct InMemoryPerson: Sendable {
  let files: InMemoryFileSystem

  /// Writes in place: the file keeps its inode, and is made when it is not there.
  public func save(_ path: String, _ bytes: [UInt8]) throws(FileSystemError) {
    try files.change { (disk) throws(FileSystemError) in
      if let inode = try disk.place(path).inode {
        disk.setBytes(inode, bytes)
        disk.noteClosed(inode)
      } else {
        _ = try disk.createFile(path, bytes)
      }
    }
  }

  /// Writes in place with a flush, so that the text survives a loss of power.
  public func saveDurably(_ path: String, _ bytes: [UInt8]) throws(FileSystemError) {
    try save(path, bytes)
    try files.change { (disk) throws(FileSystemError) in try disk.makeDurable([path]) }
  }

  /// Writes a new file aside and renames it over the old one.
  public func saveByRename(_ path: String, _ bytes: [UInt8]) throws(FileSystemError) {
    try files.change { (disk) throws(FileSystemError) in
      let folder = WorkspacePath.folder(of: path)
      let temporary = try disk.makeTemporary(bytes, in: folder, prefix: ".person", like: nil)
      try disk.makeDurable([temporary.path])
      try disk.rename(temporary.path, path, mayReplace: true)
      try disk.makeNamesDurable(folder)
    }
  }

  /// Makes everything durable, as `sync` does.
  public func sync() { files.state.withLock { $0.sync() } }

  /// Makes a folder and those above it.
  public func createFolder(_ path: String) throws(FileSystemError) {
    let parts = try WorkspacePath.components(of: path)
    try files.change { (disk) throws(FileSystemError) in
      for index in parts.indices {
        _ = try disk.createFolder(parts[...index].joined(separator: "/"), mode: 0o755)
      }
    }
  }

  /// Renames, replacing what lies at the target.
  public func rename(_ from: String, _ to: String) throws(FileSystemError) {
    try files.change { (disk) throws(FileSystemError) in try disk.rename(from, to, mayReplace: true) }
  }

  /// Gives a file a second name.
  public func link(_ from: String, _ to: String) throws(FileSystemError) {
    try files.change { (disk) throws(FileSystemError) in try disk.link(from, to) }
  }

  /// Removes a file.
  public func remove(_ path: String) throws(FileSystemError) {
    try files.change { (disk) throws(FileSystemError) in try disk.unlink(path) }
  }

  /// Removes an empty folder.
  public func removeFolder(_ path: String) throws(FileSystemError) {
    try files.change { (disk) throws(FileSystemError) in try disk.removeFolder(path) }
  }

  /// Makes a symbolic link, which leads nowhere here.
  public func createLink(_ path: String) throws(FileSystemError) {
    try files.change { (disk) throws(FileSystemError) in
      let inode = try disk.createFile(path, [])
      disk.nodes[inode]?.kind = .link
    }
  }

  /// Sets a file's mode.
  public func setMode(_ path: String, _ mode: UInt32) throws(FileSystemError) {
    try files.change { (disk) throws(FileSystemError) in
      let inode = try disk.inode(path)
      let time = disk.tick()
      disk.nodes[inode]?.mode = mode
      disk.nodes[inode]?.changed = time
    }
  }

  /// Sets a file's modification time, as `touch -d` and copy tools do.
  public func setModified(_ path: String, _ time: FileTime) throws(FileSystemError) {
    try files.change { (disk) throws(FileSystemError) in
      let inode = try disk.inode(path)
      let changed = disk.tick()
      disk.nodes[inode]?.modified = time
      disk.nodes[inode]?.changed = changed
    }
  }

  /// Gives a file to another user.
  public func setOwner(_ path: String, _ owner: UInt32) throws(FileSystemError) {
    try files.change { (disk) throws(FileSystemError) in
      let inode = try disk.inode(path)
      disk.nodes[inode]?.owner = owner
    }
  }

  /// Opens a file for writing, as an editor that writes later; the content stays as it is.
  public func open(_ path: String) throws(FileSystemError) -> InMemoryWriter {
    try files.change { (disk) throws(FileSystemError) in
      let inode = try disk.inode(path, .file)
      disk.nodes[inode]?.openWriters += 1
      return InMemoryWriter(files: files, inode: inode)
    }
  }

  /// A file's bytes, nil when it is not there.
  public func bytes(_ path: String) -> [UInt8]? {
    files.state.withLock { disk in (try? disk.inode(path, .file)).flatMap { disk.nodes[$0]?.bytes } }
  }

  /// The paths of all files and links below a folder, sorted.
  public func paths(below folder: String = "") -> [String] {
    guard
      let listing = files.state.withLock({ disk in try? disk.list(folder) })
    else { return [] }
    return listing.entries.flatMap { entry in
      let path = WorkspacePath.joined(folder, entry.name)
      return entry.status.kind == .folder ? paths(below: path) : [path]
    }.sorted()
  }
}

/// A file that a person's program holds open for writing, wherever its name went.
public struct InMemoryWriter: Sendable {
  let files: InMemoryFileSystem
  let inode: UInt64

  /// Replaces the whole content through the open file.
  public func write(_ bytes: [UInt8]) { files.state.withLock { $0.setBytes(inode, bytes) } }

  /// Closes the file.
  public func close() {
    _ = try? files.change { (disk) throws(FileSystemError) in
      disk.nodes[inode]?.openWriters -= 1
      disk.noteClosed(inode)
    }
  }
}
