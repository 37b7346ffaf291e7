import OfflineEngine

/// What an undo did, or would do.
public struct UndoReport: Sendable, Hashable {
  /// What became of one file that the sync had changed.
  public enum Fate: String, Sendable, Hashable {
    /// It says again what it said before.
    case putBack = "put back"
    /// It had been removed and is there again.
    case restored
    /// It had come new and went to the trash.
    case removed
    /// It had come new and stays.
    case stays
    /// It is left as it is for good, since it has changed since.
    case left
    /// Something stands in the way; the next undo tries it again.
    case waits
  }

  /// One file that the sync had changed.
  public struct File: Sendable, Hashable {
    /// Where it lies.
    public var path: String
    /// What became of it.
    public var fate: Fate
    /// More about it: a reason, or what to do.
    public var detail: String
  }

  /// When the sync changed the first of them; `nil` when there is nothing to undo.
  public var at: WallTime?
  /// Its files, by path.
  public var files: [File] = []
  /// What it came to on the disk and in the queue.
  public var report = WorkspaceReport()
}
