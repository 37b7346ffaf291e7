/// A file's identity and text, as an intent remembers it.
public struct FileMark: Sendable, Hashable {
  /// Inode and birth time.
  public var identity: FileIdentity
  /// The hash of its bytes.
  public var hash: ContentHash
  /// Modification time: after a loss of power an older one shows that a text fell back.
  public var modified: FileTime

  /// Makes a mark.
  public init(identity: FileIdentity, hash: ContentHash, modified: FileTime) {
    self.identity = identity
    self.hash = hash
    self.modified = modified
  }
}

/// What is about to happen to one path, written down before it does.
public struct WriteBackIntent: Sendable, Hashable {
  /// What kind of change it is.
  public enum Kind: String, Sendable, Hashable {
    /// A file's text is replaced.
    case replace
    /// A file is made.
    case create
    /// A file goes to the trash.
    case remove
  }

  /// What kind of change it is.
  public var kind: Kind
  /// The file.
  public var path: String
  /// Where the new text waits, unique among intents; empty for a removal.
  public var temporary: String
  /// Where the old file goes, unique among intents; empty for a creation.
  public var replaced: String
  /// The file that was compared; nil for a creation.
  public var old: FileMark?
  /// The new text; nil for a removal.
  public var new: FileMark?
  /// Why a removed text goes to the trash.
  public var reason: String
  /// The caller's own words about the row.
  public var context: String

  /// Makes an intent.
  public init(
    kind: Kind, path: String, temporary: String, replaced: String, old: FileMark?, new: FileMark?, reason: String = "",
    context: String = ""
  ) {
    self.kind = kind
    self.path = path
    self.temporary = temporary
    self.replaced = replaced
    self.old = old
    self.new = new
    self.reason = reason
    self.context = context
  }
}

/// A file that left its path and is kept until nobody can write to it any more.
public struct ReplacedFile: Sendable, Hashable {
  /// Where it lies now.
  public var path: String
  /// The path that it left.
  public var origin: String
  /// The hash of the text that is accounted for; another text there is a late save.
  public var hash: ContentHash
  /// The numbers that held for that text; nil means that it must be read.
  public var stamp: FileStamp?
  /// When it left, in milliseconds since 1970.
  public var since: Int64
  /// The intent's words about the row, by which the base that it replaced is found.
  public var context: String

  /// Makes an entry.
  public init(path: String, origin: String, hash: ContentHash, stamp: FileStamp?, since: Int64, context: String) {
    self.path = path
    self.origin = origin
    self.hash = hash
    self.stamp = stamp
    self.since = since
    self.context = context
  }
}

/// An intent with what became of it.
public struct SettledIntent: Sendable, Hashable {
  /// What was planned.
  public var intent: WriteBackIntent
  /// What happened.
  public var outcome: WriteBackOutcome
  /// Files that left the path and are now kept aside.
  public var replaced: [ReplacedFile]
  /// The text that left the path, where it is known.
  public var former: [UInt8]?
  /// Whether a newer save was put where somebody had moved our text meanwhile: that is the file of the row now.
  public var isFollowed = false

  /// Makes a settled intent.
  public init(
    intent: WriteBackIntent, outcome: WriteBackOutcome, replaced: [ReplacedFile] = [], former: [UInt8]? = nil
  ) {
    self.intent = intent
    self.outcome = outcome
    self.replaced = replaced
    self.former = former
  }
}

/// The durable memory of write-backs, kept in the state database.
///
/// Calls block. What a call was given is on the disk when it returns; a call that throws has stored nothing.
public protocol WriteBackJournal: Sendable {
  /// In one transaction: advances the bases of what was written or removed, keeps what lay there before for an undo,
  /// stores the replaced files, drops the intents; and stores those of what is to be swapped next.
  func complete(_ settled: [SettledIntent], recording intents: [WriteBackIntent]) throws

  /// The intents that were recorded and never completed.
  func pendingIntents() throws -> [WriteBackIntent]

  /// All replaced files that were not forgotten.
  func replacedFiles() throws -> [ReplacedFile]

  /// The replaced file at a path, if there is one.
  func replacedFile(_ path: String) throws -> ReplacedFile?

  /// Stores entries, each in place of the one with its path where there is one.
  func updateReplaced(_ files: [ReplacedFile]) throws

  /// Forgets entries by their paths.
  func forgetReplaced(_ paths: [String]) throws
}
