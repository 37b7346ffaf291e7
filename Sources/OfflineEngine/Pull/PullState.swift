import LosslessJSON
import SQLite

/// How far the pulls of one table have come.
struct PullState: Sendable, Equatable {
  /// The cursor value of the last row that a pull saw, exactly as the server sent it.
  var cursor: String?
  /// The key of that row, as JSON of its values.
  var cursorKey: RowKey?
  /// When that cursor value was first seen, by the device's clock; `nil` once no older transaction can still end.
  var cursorSeenAt: WallTime?
  /// When all rows shortly before the cursor were last read again; `nil` when they were not since the cursor moved.
  var overlapReadAt: WallTime?
  /// When the whole table was last swept; `nil` when it never was.
  var sweptAt: WallTime?
  /// Rows that the last sweep missed and that wait for a person, since too many were missing at once.
  var heldVanished = 0
  /// The key of the last row that an unfinished first pull read; the next one goes on behind it.
  var firstKey: RowKey?
  /// The server's time when the first pull began, in seconds since the Unix epoch.
  var firstDate: Int64?
  /// Which columns were read under which conditions; `nil` for what an older program read.
  var shape: String?
}

extension EngineTransaction {
  func pullState(_ table: String) throws -> PullState {
    guard
      let row = try database.first(
        "SELECT * FROM pull_state WHERE user_id = ? AND table_name = ?", [.text(user), .text(table)])
    else { return PullState() }
    func key(_ column: String) throws -> RowKey? {
      try row.text(column).flatMap { try JSONValue(parsing: $0).arrayValue }.map(RowKey.init)
    }
    return PullState(
      cursor: row.text("cursor"), cursorKey: try key("cursor_key"),
      cursorSeenAt: row.integer("cursor_seen_at").map(WallTime.init(nanoseconds:)),
      overlapReadAt: row.integer("overlap_read_at").map(WallTime.init(nanoseconds:)),
      sweptAt: row.integer("swept_at").map(WallTime.init(nanoseconds:)),
      heldVanished: Int(row.integer("held_vanished") ?? 0), firstKey: try key("first_key"),
      firstDate: row.integer("first_date"), shape: row.text("shape"))
  }

  func setPullState(_ table: String, _ state: PullState) throws {
    func key(_ key: RowKey?) -> SQLiteValue { .optional(key.map { JSONValue.array($0.values).serialized() }) }
    try database.execute(
      """
      INSERT INTO pull_state
        (user_id, table_name, cursor, cursor_key, cursor_seen_at, swept_at, held_vanished, overlap_read_at, first_key,
         first_date, shape)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
      ON CONFLICT (user_id, table_name) DO UPDATE SET
        cursor = ?3, cursor_key = ?4, cursor_seen_at = ?5, swept_at = ?6, held_vanished = ?7, overlap_read_at = ?8,
        first_key = ?9, first_date = ?10, shape = ?11
      """,
      [
        .text(user), .text(table), .optional(state.cursor), key(state.cursorKey),
        .optional(state.cursorSeenAt?.nanoseconds), .optional(state.sweptAt?.nanoseconds),
        .integer(Int64(state.heldVanished)), .optional(state.overlapReadAt?.nanoseconds), key(state.firstKey),
        .optional(state.firstDate), .optional(state.shape),
      ])
  }

  /// How many rows of the table the server no longer shows and that wait for a person.
  public func heldVanishedRows(_ table: String) throws -> Int { try pullState(table).heldVanished }

  /// Has the next pull read every row of the table anew, whatever is known of it; queued writes stay.
  public func forgetVersions(_ table: String) throws {
    try database.execute("DELETE FROM pull_state WHERE user_id = ? AND table_name = ?", [.text(user), .text(table)])
    try database.execute(
      "UPDATE cached_row SET version = NULL WHERE user_id = ? AND table_name = ? AND body IS NOT NULL",
      [.text(user), .text(table)])
  }

  /// Whether a pull of the table has ever come to its end: before that, absence means nothing.
  public func hasBeenSwept(_ table: String) throws -> Bool { try pullState(table).sweptAt != nil }
}

extension TableDescription {
  /// Which columns a pull reads under which conditions, as one text: rows that were read otherwise tell nothing of what is
  /// missing of them.
  var shape: String {
    let columns = readColumns.map { JSONValue.string($0) }
    return JSONValue.array([.array(columns), .array(conditions.map(\.storedForm))]).serialized()
  }
}
