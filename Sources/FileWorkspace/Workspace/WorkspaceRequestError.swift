/// Why something that a person asked for with a command was not done.
public enum WorkspaceRequestError: Error, Sendable, Hashable, CustomStringConvertible {
  /// No file or row is meant by the words.
  case noSuchRow(String)
  /// The beginning of a key fits several rows.
  case ambiguous(String, count: Int)
  /// No entry of a list is meant by the words.
  case noSuchEntry(String, list: String, hint: String)
  /// No collection is meant, or none that can take it.
  case noCollection(String)
  /// The file cannot be read as its row.
  case unreadable(path: String, reason: String)
  /// An editor has the file open.
  case openInEditor(path: String, marker: String)
  /// Somebody saved the file meanwhile.
  case changedMeanwhile(path: String)
  /// The file could not be written.
  case notWritten(path: String, reason: String)
  /// The conflict is not any more what the person has looked at.
  case movedOn(path: String)
  /// It was done in part, and the rest waits.
  case notSettled(path: String)
  /// The words cannot be what is asked for.
  case badInput(String)

  /// What happened and what to do.
  public var description: String {
    switch self {
    case .noSuchRow(let words): "there is no row and no file '\(words)'; 'tidemark list' shows them"
    case .ambiguous(let words, let count): "'\(words)' begins the keys of \(count) rows; give more of it, or the path"
    case .noSuchEntry(let words, let list, let hint): "there is nothing \(list) under '\(words)'; \(hint)"
    case .noCollection(let reason): reason
    case .unreadable(let path, let reason): "'\(path)' cannot be used: \(reason)"
    case .openInEditor(let path, let marker):
      "'\(path)' is open in an editor (\(marker)), which would save over the change; save and close it, then try again"
    case .changedMeanwhile(let path): "'\(path)' was saved by somebody at this moment; nothing was changed, try again"
    case .notWritten(let path, let reason): "'\(path)' was not written: \(reason)"
    case .movedOn(let path):
      "the conflict of '\(path)' has changed since you began; nothing was settled. 'tidemark conflicts' shows it as it is now"
    case .notSettled(let path):
      "'\(path)' was written, and is taken as soon as nothing is in the way; 'tidemark status' says what is"
    case .badInput(let reason): reason
    }
  }
}

extension WorkspaceRequestError {
  /// No conflict is meant by the words.
  public static func noSuchConflict(_ target: WorkspaceTarget) -> WorkspaceRequestError {
    .noSuchEntry(
      target.text, list: "in conflict",
      hint: "'tidemark conflicts' lists them; refusals are settled with 'tidemark retry' and 'tidemark dismiss'")
  }
}
