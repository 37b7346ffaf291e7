import LosslessJSON
import OfflineEngine

/// What a workspace knows of one path, and why it is as it is: the answer of `tidemark why`.
///
/// It names columns, versions and places, never a value of a row.
public struct FileAnswer: Sendable, Hashable {
  /// One write in the queue or in one of the engine's lists.
  public struct Entry: Sendable, Hashable {
    /// Its number.
    public var id: Int64
    /// `queued`, `rejected` or `conflicted`.
    public var list: String
    /// `INSERT`, `UPDATE` or `DELETE`.
    public var operation: String
    /// The columns that it sets.
    public var columns: [String]
    /// When it was made.
    public var since: WallTime
    /// How often it was sent without a clear answer.
    public var sendCount: Int
    /// Why it waits for a person.
    public var message: String?
  }

  /// Something that keeps the path from being in step.
  public struct Wait: Sendable, Hashable {
    /// What for, as a sentence.
    public var reason: String
    /// Until when at the latest, where that is known.
    public var until: WallTime?

    /// A wait for a reason.
    public init(_ reason: String, until: WallTime? = nil) {
      self.reason = reason
      self.until = until
    }
  }

  /// The path, relative to the workspace.
  public var path: String
  /// Whether it is a row's file.
  public var isRowFile: Bool
  /// What it is, or why it is no row's file, as a sentence.
  public var what: String
  /// The row's table.
  public var table: String?
  /// The row's key; `nil` when none is known yet.
  public var key: String?
  /// When the key is to be written into the file, if it stays quiet until then; `nil` when it stands there.
  public var keyDueAt: WallTime?
  /// The version that file and row last agreed on.
  public var baseVersion: String?
  /// The version that the server last showed.
  public var serverVersion: String?
  /// Where the row stands, as a sentence.
  public var row: String?
  /// The columns in which the file differs from what it last agreed on with the row.
  public var edited: [String] = []
  /// The writes to the row, in the order they were made.
  public var entries: [Entry] = []
  /// The side files of the row.
  public var sideFiles: [String] = []
  /// What is wrong with the file.
  public var problem: Problem?
  /// What it waits for.
  public var waits: [Wait] = []

  init(_ path: String, what: String, isRowFile: Bool = false) {
    self.path = path
    self.what = what
    self.isRowFile = isRowFile
  }

  /// Whether a person must do something.
  public var needsPerson: Bool { problem != nil || entries.contains { $0.list != MutationList.queued.rawValue } }

  /// The answer as JSON.
  public var json: JSONObject {
    let text = { (text: String?) in text.map(JSONValue.string) ?? .null }
    return [
      "path": .string(path), "isRowFile": .bool(isRowFile), "what": .string(what), "table": text(table),
      "key": text(key), "keyDueAt": text(keyDueAt?.text),
      "baseVersion": text(baseVersion), "serverVersion": text(serverVersion), "row": text(row),
      "edited": .array(edited.map(JSONValue.string)),
      "entries": .array(
        entries.map { entry in
          [
            "id": .integer(entry.id), "list": .string(entry.list), "operation": .string(entry.operation),
            "columns": .array(entry.columns.map(JSONValue.string)), "since": .string(entry.since.text),
            "sendCount": .integer(Int64(entry.sendCount)), "message": text(entry.message),
          ]
        }),
      "sideFiles": .array(sideFiles.map(JSONValue.string)), "problem": text(problem?.description),
      "waits": .array(waits.map { ["for": .string($0.reason), "until": text($0.until?.text)] }),
    ]
  }
}
