import LosslessJSON
import OfflineEngine

/// What a file and its row last agreed on: the one value whose corruption turns later syncs into deletions.
///
/// It is written from what happened, never from what was planned.
public struct FileBase: Sendable, Hashable {
  /// The row.
  public var key: RowKey
  /// The file's columns without the key.
  ///
  /// A column that the file does not mention keeps the value it last had.
  public var values: JSONObject
  /// The server's version of the values; `nil` before the server's first answer.
  public var version: String?
  /// The key that stands in the file; `nil` when none stands there yet.
  ///
  /// A copied file may show another row's key until
  /// its own is written.
  public var writtenKey: RowKey?

  /// A base of the given parts.
  public init(key: RowKey, values: JSONObject, version: String?, writtenKey: RowKey?) {
    self.key = key
    self.values = values
    self.version = version
    self.writtenKey = writtenKey
  }
}

/// What a path says now.
public enum FileReading: Sendable, Hashable {
  /// Nothing lies there.
  case absent
  /// Something lies there that cannot be read as a row.
  case unreadable
  /// A row's file.
  case row(FileRow)
}

/// A file read as a row.
public struct FileRow: Sendable, Hashable {
  /// The columns that the file mentions, without the key.
  public var values: JSONObject
  /// The key that stands in the file.
  public var key: RowKey?

  /// A reading of the given parts.
  public init(values: JSONObject, key: RowKey?) {
    self.values = values
    self.key = key
  }
}

/// What this device knows of a row, queued writes laid over it.
public enum RowReading: Sendable, Hashable {
  /// The server never showed it, and nothing is queued for it.
  case unknown
  /// It is there, or will be: the file's columns without the key, and the server's version where it has one.
  case present(values: JSONObject, version: String?)
  /// The server showed it once and does not any more.
  case gone
  /// The same, while an edit made here is yet to be answered: what becomes of that is settled with the file.
  case goneUnanswered
  /// A delete of it is queued, and perhaps sent already.
  case deletedHere(mayBeSent: Bool)
  /// Its insert was refused: the numbered entry of the rejected list is all there is of it.
  case refusedInsert(entry: Int64, values: JSONObject)
}

/// Which other path the mirror holds for the key that stands in a file, or for a new file that has none.
public enum KeyOwner: Sendable, Hashable {
  /// No other path.
  case nobody
  /// Another path, whose file is still there.
  case present(path: String)
  /// Another path, whose file is not there any more: perhaps another row's lies in its place.
  case absent(path: String)
}

/// All that decides what happens at one path.
public struct ReconcileInput: Sendable, Hashable {
  /// What the file last agreed on, if the mirror knows the path.
  public var base: FileBase?
  /// What the file says.
  public var file: FileReading
  /// The row of the base; without a base, of the key in the file.
  public var row: RowReading
  /// The row of the key in the file where that is another than the base's.
  public var otherRow: RowReading
  /// Who else has the key in the file.
  public var owner: KeyOwner
  /// Whether the server has moved this row so that its file may be rewritten; false while something must be kept as it is.
  public var mayWrite: Bool

  /// The input of one decision.
  public init(
    base: FileBase?, file: FileReading, row: RowReading, otherRow: RowReading = .unknown, owner: KeyOwner = .nobody,
    mayWrite: Bool = true
  ) {
    self.base = base
    self.file = file
    self.row = row
    self.otherRow = otherRow
    self.owner = owner
    self.mayWrite = mayWrite
  }
}
