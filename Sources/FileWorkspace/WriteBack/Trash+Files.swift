import LosslessJSON

extension Trash {
  /// Moves a file itself to the trash, however large it is; the file of a photo is not read for that.
  ///
  /// - Parameters:
  ///   - path: Where it lies now.
  ///   - origin: The path that it had for a person.
  ///   - reason: Why it is kept, in a few words for a person.
  /// - Throws: `FileSystemError.otherFileSystem` or another, with the file where it was.
  @discardableResult
  public func take(_ path: String, origin: String, reason: String) throws(FileSystemError) -> TrashEntry {
    guard let status = try files.status(path) else { throw .absent(path) }
    try StateFolder.create(in: files)
    let at = now()
    let item = TrashItem(origin: origin, bytes: [], reason: reason)
    let notes = try files.makeTemporary(Self.notes(item, at), in: StateFolder.temporary, prefix: "trash", like: nil)
      .path
    do {
      try files.makeDurable([notes])
      let place = try place(path, named: origin, at: at)
      try files.rename(notes, place + Self.notesSuffix)
      try files.makeNamesDurable([StateFolder.trash, WorkspacePath.folder(of: path)])
      return TrashEntry(path: place, origin: origin, reason: reason, at: at, bytes: status.size)
    } catch {
      try? files.unlink(notes)
      throw error
    }
  }
}
