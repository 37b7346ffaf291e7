import FileWorkspace
import LosslessJSON
import OfflineEngine

/// What an undo tells.
public struct UndoResult: Sendable, Equatable {
  /// One file that the sync had changed.
  public struct File: Sendable, Equatable {
    /// Where it lies, relative to the workspace.
    public var path: String
    /// What became of it, or would.
    public var fate: UndoReport.Fate
    /// More about it.
    public var detail: String
  }

  /// When the sync changed the first of them, as RFC 3339; `nil` when there is nothing to undo.
  public var at: String?
  /// Its files.
  public var files: [File]
  /// Whether nothing was done.
  public var isDryRun = false

  init(_ report: UndoReport) {
    at = report.at?.text
    files = report.files.map { File(path: $0.path, fate: $0.fate, detail: $0.detail) }
  }

  /// Finds out what an undo would do now, whether or not a watcher runs; nothing is changed.
  public static func plan(
    _ folder: WorkspaceFolder, isAddedToo: Bool, clock: any EngineClock
  ) throws -> UndoResult {
    let report = try WorkspaceState.read(folder, clock: clock) { transaction, settings, files in
      try UndoReport.plan(transaction, settings, files: files, isAddedToo: isAddedToo)
    }
    var result = UndoResult(report)
    result.isDryRun = true
    return result
  }

  /// The result as it travels, and as `--json` prints it.
  public var json: JSONValue {
    [
      "sync": at.map(JSONValue.string) ?? .null, "dryRun": .bool(isDryRun),
      "files": .array(
        files.map { file in
          ["path": .string(file.path), "fate": .string(file.fate.rawValue), "detail": .string(file.detail)]
        }),
    ]
  }

  /// The result as a watcher sent it.
  public init(json: JSONValue) {
    at = json["sync"]?.stringValue
    isDryRun = json["dryRun"]?.boolValue ?? false
    files = (json["files"]?.arrayValue ?? []).compactMap { file in
      guard let fate = file["fate"]?.stringValue.flatMap(UndoReport.Fate.init) else { return nil }
      return File(path: file["path"]?.stringValue ?? "", fate: fate, detail: file["detail"]?.stringValue ?? "")
    }
  }
}
