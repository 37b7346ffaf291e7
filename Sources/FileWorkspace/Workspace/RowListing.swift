import LosslessJSON
import OfflineEngine

/// One row's file, as a list shows it.
public struct ListedRow: Sendable, Hashable {
  /// Where it stands between file and server.
  public enum State: String, Sendable, Hashable {
    /// File and server agree, as far as this device knows.
    case same
    /// A change is queued.
    case pending
    /// A change was refused.
    case rejected
    /// A change met another one.
    case conflict
    /// The file was changed or made, and nobody has looked at it yet.
    case changed
    /// The file cannot be read as a row.
    case problem
  }

  /// The file.
  public var path: String
  /// The row's key as text; `nil` for a file that is no row yet.
  public var key: String?
  /// What names the row.
  public var title: String
  /// The values that the file shows, or that its row has where the file does not mention them.
  public var values: JSONObject
  /// Whether the row is done; `nil` where the collection has no such column.
  public var isDone: Bool?
  /// Where it stands.
  public var state: State
  /// Why the file cannot be read.
  public var problem: String?

  /// The row as `tidemark list --json` prints it.
  public var json: JSONObject {
    var json: JSONObject = [
      "path": .string(path), "key": key.map(JSONValue.string) ?? .null, "title": .string(title),
      "state": .string(state.rawValue), "values": .object(values),
    ]
    if let problem { json["problem"] = .string(problem) }
    return json
  }

  /// Whether each of the words is in the file's name or in one of the texts, whatever their case.
  public func holds(_ words: [String]) -> Bool {
    if words.isEmpty { return true }
    let texts = ([WorkspacePath.name(of: path), title] + values.members.compactMap(\.value.stringValue))
      .map(FileNames.folded)
    return words.map(FileNames.folded).allSatisfy { word in texts.contains { $0.contains(word) } }
  }
}

/// The rows of a workspace as its files say them: the truth, whether or not anybody has looked at them since.
public struct RowListing {
  let transaction: EngineTransaction
  let settings: WorkspaceSettings
  let files: any FileSystem

  /// A listing over one look at the state and the files.
  public init(_ transaction: EngineTransaction, _ settings: WorkspaceSettings, files: any FileSystem) {
    self.transaction = transaction
    self.settings = settings
    self.files = files
  }

  /// The rows in the order of the collections and of the files' names.
  ///
  /// - Parameter folder: One collection's folder; all when `nil`.
  public func rows(in folder: String? = nil) throws -> [ListedRow] {
    try settings.collections.filter { folder == nil || $0.folder == folder }.flatMap(rows)
  }

  private func rows(of collection: CollectionSettings) throws -> [ListedRow] {
    guard try files.status(collection.folder)?.kind == .folder else { return [] }
    let listing = try files.list(collection.folder)
    var known: [PathKey: MirrorEntry] = [:]
    for entry in try Mirror(transaction).entries(collection.folder) {
      if let path = entry.path { known[PathKey(path)] = entry }
    }
    let states = try states(collection.table)
    let found = listing.entries.filter { $0.status.kind == .file && FileNames.isRowFile($0.name) }
    return found.sorted { PathKey($0.name) < PathKey($1.name) }.map { file in
      let path = WorkspacePath.joined(collection.folder, file.name)
      return row(path, file.status, known[PathKey(path)], collection, states)
    }
  }

  private func states(_ table: String) throws -> [String: ListedRow.State] {
    var states: [String: ListedRow.State] = [:]
    for entry in try transaction.pendingMutations() where entry.write.table == table {
      states[entry.write.key.text] = .pending
    }
    for entry in try transaction.rejectedMutations() where entry.write.table == table {
      states[entry.write.key.text] = .rejected
    }
    for entry in try transaction.conflictedMutations() where entry.write.table == table {
      states[entry.write.key.text] = .conflict
    }
    return states
  }

  private func row(
    _ path: String, _ status: FileStatus, _ entry: MirrorEntry?, _ collection: CollectionSettings,
    _ states: [String: ListedRow.State]
  ) -> ListedRow {
    let name = WorkspacePath.name(of: path)
    var row = ListedRow(path: path, key: entry?.base.key.text, title: "", values: [:], state: .same)
    row.values = entry?.base.values ?? [:]
    row.state = entry.flatMap { states[$0.base.key.text] } ?? .same
    // A file with the numbers of the last look says what was read then.
    if entry?.seen?.stamp != status.stamp || entry == nil {
      do throws(RowFileProblem) {
        let bytes = (try? files.read(path, bytesMax: RowFile.bytesMax))?.bytes ?? []
        let file = try RowFile.read(bytes, collection)
        let values = file.isEmpty ? RowFile.valuesOfEmptyFile(named: name, collection) : file.values
        if entry == nil || !edit(values, from: row.values).isEmpty { row.state = .changed }
        row.values = row.values.overlaid(with: values)
        row.key = row.key ?? file.key.map { RowKey($0).text }
      } catch {
        row.state = .problem
        row.problem = error.description(in: path)
      }
    }
    let title = collection.name.flatMap { row.values[$0]?.stringValue }
    row.title = title ?? FileNames.title(fromFileName: name) ?? name
    row.isDone = collection.doneColumn.map { row.values[$0]?.boolValue ?? false }
    return row
  }
}
