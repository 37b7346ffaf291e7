import LosslessJSON
import SQLite

extension EngineTransaction {
  /// Keeps what the server answered when this very send made the row, defaults and version among it.
  func setMadeRow(_ table: String, _ key: RowKey, _ answer: JSONObject) throws {
    try database.execute(
      """
      INSERT INTO made_row VALUES (?1, ?2, ?3, ?4)
      ON CONFLICT (user_id, table_name, key) DO UPDATE SET body = ?4
      """,
      [.text(user), .text(table), .text(key.text), .text(JSONValue.object(answer).serialized())])
  }

  /// Takes what the server answered when it took a row made here; `nil` when that was taken before.
  ///
  /// The maker of a row has seen all of it, also what the server filled in: nobody else knew the row before. So a caller
  /// may make it the base of a row that it has inserted and whose answer it has not looked at yet.
  public func takeMadeRow(_ table: String, _ key: RowKey) throws -> JSONObject? {
    let place: [SQLiteValue] = [.text(user), .text(table), .text(key.text)]
    guard
      let row = try database.first(
        "SELECT body FROM made_row WHERE user_id = ? AND table_name = ? AND key = ?", place)
    else { return nil }
    try database.execute("DELETE FROM made_row WHERE user_id = ? AND table_name = ? AND key = ?", place)
    return try row.text("body").map(Self.object)
  }
}
