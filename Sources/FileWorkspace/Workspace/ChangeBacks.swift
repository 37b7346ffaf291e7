import LosslessJSON
import OfflineEngine

/// Which rows a file and somebody else keep changing back, each after the other.
///
/// Two formatters that disagree, or one and a server that rounds, would go on for ever at full speed, since nothing fails
/// (DESIGN section 5). A round is an edit of a column that this replica edited before and that somebody else changed in
/// between. People take turns, too, but not that fast.
struct ChangeBacks: Sendable {
  /// How many rounds within the window are too many.
  static let roundsMax = 10
  /// How long a round counts.
  static let window = Duration.seconds(60)
  /// How many rows are watched at most: what a program does to more of them at once is no quarrel about one.
  private static let rowCountMax = 8_192

  fileprivate struct Row {
    /// What this replica last made of the columns that it edited.
    var edited: JSONObject
    var editedAt: WallTime
    var rounds: [WallTime] = []
  }

  private var rows: [PathKey: Row] = [:]
  private var pruneAt = 256

  /// Whether one more edit of a row's file waits for a person.
  func holds(_ edit: RowEdit) -> Bool {
    guard let row = rows[edit.path], row.isRound(edit) else { return false }
    return row.rounds.count { edit.at - Self.window <= $0 && $0 <= edit.at } >= Self.roundsMax
  }

  /// Remembers what this replica made of a row's columns by other ways than an edit at the file's path: what shows there
  /// then is nobody else's.
  mutating func note(own columns: JSONObject, of path: PathKey, at time: WallTime) {
    note(RowEdit(path: path, columns: columns, base: [:], at: time))
  }

  /// Remembers an edit, also one that was held: what goes on stays held.
  mutating func note(_ edit: RowEdit) {
    if rows.count >= pruneAt {
      rows = rows.filter { edit.at - Self.window <= $0.value.editedAt && $0.value.editedAt <= edit.at }
      pruneAt = max(256, rows.count * 2)
    }
    guard rows[edit.path] != nil || rows.count < Self.rowCountMax else { return }
    var row = rows[edit.path] ?? Row(edited: [:], editedAt: edit.at)
    row.rounds.removeAll { $0 < edit.at - Self.window || edit.at < $0 }
    if row.isRound(edit) { row.rounds.append(edit.at) }
    row.edited = row.edited.overlaid(with: edit.columns)
    row.editedAt = edit.at
    rows[edit.path] = row
  }
}

/// An edit of a row's file.
struct RowEdit: Sendable {
  var path: PathKey
  /// The columns that were edited, as they are now.
  var columns: JSONObject
  /// What the file showed of the row before.
  var base: JSONObject
  var at: WallTime
}

extension ChangeBacks.Row {
  fileprivate func isRound(_ edit: RowEdit) -> Bool {
    edit.columns.names.contains { name in
      guard let mine = edited[name], let shown = edit.base[name] else { return false }
      return mine != shown
    }
  }
}
