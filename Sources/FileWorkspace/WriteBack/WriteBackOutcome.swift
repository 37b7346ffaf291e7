/// What lies at a path instead of what was expected.
public enum FoundFile: Sendable, Hashable {
  /// Nothing.
  case absent
  /// A file with another text.
  case file(hash: ContentHash, status: FileStatus)
  /// A folder, a link, or a file that cannot be read just now.
  case other(FileKind)
}

/// A file as a write-back left it.
public struct WrittenFile: Sendable, Hashable {
  /// The status to remember; where a save may have come right after, it is one that will not match any more.
  public var status: FileStatus
  /// The hash of the text that was written.
  public var hash: ContentHash
  /// True when the old file had further names, which now show the old text alone.
  public var splitHardLink: Bool

  /// Makes a description.
  public init(status: FileStatus, hash: ContentHash, splitHardLink: Bool = false) {
    self.status = status
    self.hash = hash
    self.splitHardLink = splitHardLink
  }
}

/// How a write-back ended.
public enum WriteBackOutcome: Sendable, Hashable {
  /// Our text took the path from what was compared. The base may advance to it, whatever was saved since.
  case written(WrittenFile)
  /// The file that was compared left its path and stands in the trash.
  case removed(TrashEntry)
  /// Somebody saved meanwhile: their text lies at the path. Reconcile anew after one settle time.
  case newerSave(FoundFile)
  /// Something lies where a new file was to be.
  case exists(FoundFile)
  /// Nothing was changed.
  case failed(WriteBackError)
  /// It cannot be told what happened; the intent stays in the journal, and `settle` finds out.
  case unsettled(WriteBackError)
}

/// Why a write-back did not happen.
public enum WriteBackError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A file operation failed.
  case files(FileSystemError)
  /// The file belongs to another user, whose file would become ours.
  case otherOwner(path: String, owner: UInt32)
  /// The journal could not be written; nothing is swapped without it.
  case journal(reason: String)
  /// The program ended before it took the path.
  case interrupted(path: String)

  /// What happened, to which file, and what to do.
  public var description: String {
    switch self {
    case .files(let error): error.description
    case .otherOwner(let path, let owner):
      "'\(path)' belongs to user \(owner), so it is not rewritten; make it yours (chown) or remove it"
    case .journal(let reason):
      "nothing was written because the state database refused the plan: \(reason)"
    case .interrupted(let path):
      "writing '\(path)' was cut off before it began; it is done again by itself"
    }
  }
}
