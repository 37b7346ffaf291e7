extension InMemoryFileSystem {
  /// Opens a regular file for reading.
  public func open(_ path: String) throws(FileSystemError) -> any ReadableFile {
    let (inode, status) = try perform("open", path) { (disk) throws(FileSystemError) in
      let inode = try disk.inode(path, .file)
      guard let status = disk.status(inode: inode) else { throw .absent(path) }
      return (inode, status)
    }
    return InMemoryReadableFile(files: self, inode: inode, path: path, status: status)
  }

  /// Makes a new file under a name that was free, starting with `prefix`.
  public func create(in folder: String, prefix: String) throws(FileSystemError) -> any WritableFile {
    let made = try makeTemporary([], in: folder, prefix: prefix, like: nil)
    return InMemoryWritableFile(files: self, inode: made.status.inode, path: made.path)
  }

  /// Opens a file of our own for writing behind what is in it.
  public func append(to path: String) throws(FileSystemError) -> any WritableFile {
    if try status(path) == nil {
      let made = try makeTemporary([], in: WorkspacePath.folder(of: path), prefix: "new", like: nil)
      try renameNoReplace(made.path, path)
    }
    let inode = try perform("write", path) { (disk) throws(FileSystemError) in try disk.inode(path, .file) }
    return InMemoryWritableFile(files: self, inode: inode, path: path)
  }
}

private struct InMemoryReadableFile: ReadableFile {
  let files: InMemoryFileSystem
  let inode: UInt64
  let path: String
  let status: FileStatus

  var systemPath: String? { nil }

  func currentStatus() throws(FileSystemError) -> FileStatus {
    try files.perform("look at", path) { (disk) throws(FileSystemError) in
      guard let status = disk.status(inode: inode) else { throw .absent(path) }
      return status
    }
  }

  func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(FileSystemError) -> Int {
    let bytes = try files.perform("read", path) { (disk) throws(FileSystemError) in
      guard let node = disk.nodes[inode] else { throw .absent(path) }
      return Array(node.bytes.dropFirst(Int(position)).prefix(buffer.count))
    }
    buffer.copyBytes(from: bytes)
    return bytes.count
  }
}

private struct InMemoryWritableFile: WritableFile {
  let files: InMemoryFileSystem
  let inode: UInt64
  let path: String

  func write(_ bytes: UnsafeRawBufferPointer) throws(FileSystemError) {
    let added = Array(bytes)
    try files.perform("write", path) { (disk) throws(FileSystemError) in
      disk.setBytes(inode, (disk.nodes[inode]?.bytes ?? []) + added)
    }
  }

  func finish(modified: FileTime?) throws(FileSystemError) -> FileStatus {
    try files.perform("set the time of", path) { (disk) throws(FileSystemError) in
      if let modified {
        let changed = disk.tick()
        disk.nodes[inode]?.modified = modified
        disk.nodes[inode]?.changed = changed
      }
      guard let status = disk.status(inode: inode) else { throw .absent(path) }
      return status
    }
  }
}
