/// What must lie at a path for a write-back to go ahead.
public enum ExpectedFile: Sendable, Hashable {
  /// Nothing may lie there.
  case absent
  /// A file that says exactly what was compared.
  ///
  /// Only the content counts: a file written anew with the same text is what was compared.
  case content(ContentHash)
}

/// What a write-back does.
public enum WriteBackChange: Sendable, Hashable {
  /// The file gets these bytes.
  case write([UInt8])
  /// The file leaves its path; its text goes to the trash with the reason.
  case trash(reason: String)
}

/// One file to be written or removed, guarded by what it said when that was decided.
public struct WriteBackItem: Sendable, Hashable {
  /// The file's path in the workspace, already passed through the name rules.
  public var path: String
  /// What must lie there.
  public var expected: ExpectedFile
  /// What to do.
  public var change: WriteBackChange
  /// The caller's own words about the row, kept with the intent and given back with the outcome.
  public var context: String

  /// Makes an item.
  public init(path: String, expected: ExpectedFile, change: WriteBackChange, context: String = "") {
    self.path = path
    self.expected = expected
    self.change = change
    self.context = context
  }
}
