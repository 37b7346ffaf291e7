import LosslessJSON
import OfflineEngine
import SQLite

/// An edit of a file that clears columns which had values.
///
/// One is a person's wish; many at once are a script gone wrong, and wait as deletes in large numbers do.
struct BlankingEdit: Sendable, Hashable {
  var path: String
  /// The columns that it clears.
  var columns: [String]
  /// When it was found.
  var since: WallTime

  /// Whether a value says nothing.
  static func isBlank(_ value: JSONValue?) -> Bool {
    switch value {
    case nil, .null?: true
    case .string(let text)?: text.allSatisfy(\.isWhitespace)
    default: false
    }
  }

  /// What is held, and what to do.
  static func sentence(_ edits: [BlankingEdit]) -> String {
    let columns = Set(edits.flatMap(\.columns)).sorted().map { "'\($0)'" }.joined(separator: ", ")
    return
      "\(edits.count) files would clear \(columns) (\(WorkspaceSummary.short(edits.map(\.path).sorted()))); put the "
      + "values back, or 'tidemark confirm' sends them"
  }
}

/// The edits that wait for a person, within one transaction.
struct HeldEdits {
  private let database: Database

  init(_ transaction: EngineTransaction) { database = transaction.database }

  func all() throws -> [PathKey: BlankingEdit] {
    var edits: [PathKey: BlankingEdit] = [:]
    for row in try database.rows("SELECT * FROM held_edit") {
      let edit = BlankingEdit(
        path: row.text("path") ?? "",
        columns: row.text("columns").flatMap { try? JSONValue(parsing: $0) }?.arrayValue?.compactMap(\.stringValue)
          ?? [],
        since: WallTime(nanoseconds: row.integer("since") ?? 0))
      edits[PathKey(edit.path)] = edit
    }
    return edits
  }

  func save(_ edit: BlankingEdit) throws {
    let columns = JSONValue.array(edit.columns.map(JSONValue.string)).serialized()
    try database.execute(
      "INSERT OR REPLACE INTO held_edit VALUES (?, ?, ?)",
      [.text(edit.path), .text(columns), .integer(edit.since.nanoseconds)])
  }

  func remove(_ path: String) throws {
    try database.execute("DELETE FROM held_edit WHERE path = ?", [.text(path)])
  }
}

extension Workspace {
  /// Takes note of edits that were not taken, and of files that blank nothing any more.
  func noteBlanks(_ blanking: [BlankingEdit], among paths: [String], _ collection: Collection) throws {
    guard !blanking.isEmpty || !waitingBlanks.isEmpty || !heldBlanks.isEmpty else { return }
    var mended = Set(paths.map(PathKey.init))
    for edit in blanking {
      mended.remove(PathKey(edit.path))
      guard heldBlanks[PathKey(edit.path)] == nil else { continue }
      let since = waitingBlanks[PathKey(edit.path)]?.since
      waitingBlanks[PathKey(edit.path)] = edit
      waitingBlanks[PathKey(edit.path)]?.since = since ?? edit.since
    }
    for path in mended {
      waitingBlanks[path] = nil
      guard heldBlanks.removeValue(forKey: path) != nil else { continue }
      try client.transaction { try HeldEdits($0).remove(path.text) }
    }
  }

  /// Decides about the edits of a collection that would blank columns: few are queued, many are held.
  ///
  /// - Parameter delay: How long each waits for others; zero where everything was looked at.
  func settleBlanks(_ collection: Collection, after delay: Duration, _ report: inout WorkspaceReport) throws {
    let isHere = { (edit: BlankingEdit) in WorkspacePath.folder(of: edit.path) == collection.folder }
    let waiting = waitingBlanks.values.filter(isHere)
    guard !waiting.isEmpty, gitWork == nil else { return }
    let recent = heldBlanks.values.filter { isHere($0) && now - $0.since < AbsenceDecision.accidentSpan }
    var counts: [String: Int] = [:]
    for column in (waiting + recent).flatMap(\.columns) { counts[column, default: 0] += 1 }
    let total = try client.read { try Mirror($0).count(collection.folder) }
    let held = waiting.filter { $0.columns.contains { VanishingBrake.holds(counts[$0] ?? 0, of: total) } }
    if !held.isEmpty {
      try client.transaction { transaction in for edit in held { try HeldEdits(transaction).save(edit) } }
      for edit in held {
        heldBlanks[PathKey(edit.path)] = edit
        waitingBlanks[PathKey(edit.path)] = nil
      }
      report.note(.held, collection.folder, BlankingEdit.sentence(held))
    }
    let due = waiting.filter { waitingBlanks[PathKey($0.path)] != nil && now - $0.since >= delay }
    guard !due.isEmpty else { return }
    let before = mayBlank
    mayBlank = Set(due.map { PathKey($0.path) })
    defer { mayBlank = before }
    try reconcile(due.map(\.path).sorted(), collection, &report)
  }
}
