import LosslessJSON
import SQLite

extension EngineTransaction {
  /// Keeps what the server answered when it took a write at exactly the version that its writer saw: by that the row moved
  /// on from that version, and by nothing else.
  ///
  /// - Parameter version: The version at which the write was taken; `nil` for one that made the row.
  func setTakenWrite(_ table: TableDescription, _ key: RowKey, _ answer: JSONObject, at version: String?) throws {
    var (start, body) = (version, answer)
    // What moved on once more has moved on from where it began.
    if let version, let before = try takenWrite(table.name, key), table.version(of: before.answer) == version {
      (start, body) = (before.version, before.answer.merging(answer))
    }
    try database.execute(
      """
      INSERT INTO made_row (user_id, table_name, key, body, version) VALUES (?1, ?2, ?3, ?4, ?5)
      ON CONFLICT (user_id, table_name, key) DO UPDATE SET body = ?4, version = ?5
      """,
      [
        .text(user), .text(table.name), .text(key.text), .text(JSONValue.object(body).serialized()), .optional(start),
      ])
  }

  /// Takes what the server answered when it took the writes that were made here on a version of a row; `nil` when there is
  /// none, or that was taken before.
  ///
  /// The maker of a row has seen all of it, also what the server filled in, and whoever changed a version has seen what came
  /// of it: nobody else was between. So a caller may make it the base of a row whose answer it has not looked at yet.
  ///
  /// - Parameter version: The version that the caller has as its base; `nil` for a row that was made here.
  public func takeTakenWrite(_ table: String, _ key: RowKey, at version: String?) throws -> JSONObject? {
    guard let taken = try takenWrite(table, key), taken.version == version else { return nil }
    try forgetTakenWrite(table, key)
    return taken.answer
  }

  /// Lets go of the answer for a row: it was taken, or the row is gone and nobody will.
  func forgetTakenWrite(_ table: String, _ key: RowKey) throws {
    try database.execute(
      "DELETE FROM made_row WHERE user_id = ? AND table_name = ? AND key = ?",
      [.text(user), .text(table), .text(key.text)])
  }

  private func takenWrite(_ table: String, _ key: RowKey) throws -> (version: String?, answer: JSONObject)? {
    let row = try database.first(
      "SELECT body, version FROM made_row WHERE user_id = ? AND table_name = ? AND key = ?",
      [.text(user), .text(table), .text(key.text)])
    guard let row, let body = row.text("body") else { return nil }
    return (row.text("version"), try Self.object(body))
  }
}
