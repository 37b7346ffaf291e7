/// What an event says about a path; a reason to look, never a fact.
public enum WatchHint: Sendable, Hashable {
  /// Somebody closed the file after writing, or moved it there whole.
  case finished
  /// The name appeared, or the file was seen to differ; it may still be written.
  case made
  /// The name went.
  case gone
  /// Mode, times or attributes changed.
  case touched
}

/// Why a folder is not watched any more.
public enum WatchLoss: Sendable, Hashable, CustomStringConvertible {
  /// The folder was removed. It is watched again when it comes back.
  case removed
  /// The folder was moved away. It is watched again when it comes back.
  case movedAway
  /// Its file system was unmounted.
  case unmounted
  /// The user's watches are used up; the number is their limit.
  case outOfWatches(limit: Int)
  /// Watches can be set here, but no event ever comes (as on most network file systems).
  case noEvents
  /// The kernel's error number.
  case failed(errno: Int32)

  /// What happened, and what to do.
  public var description: String {
    switch self {
    case .removed: "the folder was removed"
    case .movedAway: "the folder was moved away"
    case .unmounted: "its file system was unmounted"
    case .outOfWatches(let limit): outOfWatchesText(limit)
    case .noEvents: "the file system reports no changes, so the folder is looked at from time to time instead"
    case .failed(let code): errorText(code)
    }
  }
}

/// What a watcher tells.
public enum WatchEvent: Sendable, Hashable {
  /// All watches are set and proved; what changes from now on is told.
  ///
  /// Comes first, once. Where nothing is ever reported a `lostWatch` of the whole workspace comes instead, and the end.
  case ready
  /// Look at a path.
  case changed(String, WatchHint)
  /// List a folder: it is new, or came back, or something in it cannot be told by name.
  case folderChanged(String)
  /// Events were lost: look at everything.
  case overflow
  /// A folder is not watched; the empty path is the workspace itself.
  case lostWatch(String, WatchLoss)
}

/// A folder to be watched.
public struct WatchedFolder: Sendable, Hashable {
  /// The folder's path in the workspace.
  public var path: String
  /// Whether its folders are watched too, except hidden ones and repositories of their own.
  public var isRecursive: Bool

  /// Makes a description of a folder to be watched.
  public init(_ path: String, isRecursive: Bool = false) {
    self.path = path
    self.isRecursive = isRecursive
  }
}

/// Why watching cannot start.
public enum WatchError: Error, Sendable, Hashable, CustomStringConvertible {
  /// This process watches already; the library below has room for one.
  case alreadyWatching
  /// The user's watches are used up; the number is their limit.
  case outOfWatches(limit: Int)
  /// The user's inotify instances are used up; the number is their limit.
  case outOfInstances(limit: Int)
  /// A folder could not be watched.
  case cannotWatch(String, errno: Int32)
  /// A file operation failed.
  case files(FileSystemError)

  /// What happened, and what to do.
  public var description: String {
    switch self {
    case .alreadyWatching:
      "this process watches a workspace already; start another process for a second one"
    case .outOfWatches(let limit): outOfWatchesText(limit)
    case .outOfInstances(let limit):
      "the limit of \(limit) inotify instances is used up by this user's programs; raise it with "
        + "'sysctl fs.inotify.max_user_instances=\(limit * 4)'"
    case .cannotWatch(let path, let code): "cannot watch '\(path)': \(errorText(code))"
    case .files(let error): error.description
    }
  }
}

private func outOfWatchesText(_ limit: Int) -> String {
  "the limit of \(limit) watched folders is used up by this user's programs; raise it with "
    + "'sysctl fs.inotify.max_user_watches=\(limit * 4)'"
}

/// Tells where to look, never what is there: after a missed event a scan must give the same result.
public protocol Watcher: Sendable {
  /// Starts watching; to be called once.
  ///
  /// The events come in the order in which things happened, as far as the kernel keeps it. The workspace's own folder is
  /// watched for names alone, so that a folder that comes back is watched again and a change of the settings is seen.
  ///
  /// - Returns: The events; one reader. Ending the loop ends the watching. A reader that falls 65,536 events behind
  ///   gets an `overflow` for those it missed.
  func start(_ folders: [WatchedFolder]) throws(WatchError) -> AsyncStream<WatchEvent>

  /// Stops watching and ends the sequence.
  func stop()
}
