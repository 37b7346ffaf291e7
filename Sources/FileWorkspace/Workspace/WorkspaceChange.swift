import LosslessJSON
import OfflineEngine

/// What a command means by its word.
public enum WorkspaceTarget: Sendable, Hashable {
  /// An entry of one of the engine's lists, by its number.
  case entry(Int64)
  /// A row's file or side file, relative to the workspace.
  case path(String)
  /// A row, by its key or the beginning of it.
  case key(String)

  /// The word as the person gave it.
  public var text: String {
    switch self {
    case .entry(let id): String(id)
    case .path(let text), .key(let text): text
    }
  }
}

/// What a command changed.
public struct WorkspaceChange: Sendable, Hashable {
  /// The file that it is about, relative to the workspace.
  public var path: String
  /// The numbers of the entries that it settled.
  public var entries: [Int64] = []
  /// What was done, in one sentence.
  public var message: String
  /// What it came to on the disk and in the queue.
  public var report = WorkspaceReport()
}

extension Workspace {
  /// Writes a file as a person would; the ordinary reconcile then takes it.
  func put(_ bytes: [UInt8], at path: String, over expected: ExpectedFile) throws {
    if let marker = EditorMarker.name(for: path, in: files) {
      throw WorkspaceRequestError.openInEditor(path: path, marker: marker)
    }
    try check(
      writeBack.apply([WriteBackItem(path: path, expected: expected, change: .write(bytes))]).first, path: path)
  }

  /// Moves a row's file to the trash, and forgets which row it was.
  func removeFile(_ path: String, of key: RowKey, _ collection: Collection, reason: String) throws {
    guard let content = try content(path) else { return }
    let context = WriteContext.goneRow(collection: collection.folder, key: key).text
    let item = WriteBackItem(
      path: path, expected: .content(content.hash), change: .trash(reason: reason), context: context)
    try check(currentSync.suspended { writeBack.apply([item]) }.first, path: path)
    takenNames[collection.folder]?.remove(WorkspacePath.name(of: path))
  }

  private func check(_ outcome: WriteBackOutcome?, path: String) throws {
    switch outcome {
    case .written?, .removed?: return
    case .newerSave?, .exists?: throw WorkspaceRequestError.changedMeanwhile(path: path)
    case .failed(let error)?, .unsettled(let error)?:
      throw WorkspaceRequestError.notWritten(path: path, reason: "\(error)")
    case nil: throw WorkspaceRequestError.notWritten(path: path, reason: "nothing was tried")
    }
  }

  /// The file at a path, or `nil` when there is none.
  func content(_ path: String) throws -> FileContent? {
    switch try files.look(path, bytesMax: RowFile.bytesMax) {
    case .absent: return nil
    case .file(let content): return content
    case .other(let status):
      throw WorkspaceRequestError.unreadable(
        path: path, reason: "it is \(status.kind.phrase), cannot be read, or is being written")
    }
  }

  /// The text of a file as a row.
  func rowFile(_ bytes: [UInt8], at path: String, _ collection: Collection) throws -> RowFile {
    do throws(RowFileProblem) {
      return try RowFile.read(bytes, collection.settings)
    } catch {
      throw WorkspaceRequestError.unreadable(path: path, reason: "\(error)")
    }
  }

  /// Writes a whole text that a person asked for by command, in the knowledge of what lies there now.
  ///
  /// It is an edit of all in which it differs from the newest, whatever older text it is like.
  func putDeliberately(
    _ bytes: [UInt8], at path: String, over expected: ExpectedFile, _ report: inout WorkspaceReport
  ) throws {
    try put(bytes, at: path, over: expected)
    deliberateTexts[PathKey(path)] = ContentHash(of: bytes)
    defer { deliberateTexts[PathKey(path)] = nil }
    try take(path, &report)
  }

  /// Takes a file that was just written, and writes what follows from it.
  func take(_ path: String, _ report: inout WorkspaceReport) throws {
    report.add(try look(at: [path]))
    report.add(try writeRows())
  }
}
