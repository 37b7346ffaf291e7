import LosslessJSON
import SQLite

extension EngineTransaction {
  /// Keeps what the server answered when it took a write at exactly the version that its writer saw: by that the row moved
  /// on from that version, and by nothing else.
  ///
  /// - Parameters:
  ///   - version: The version at which the write was taken; `nil` for one that made the row.
  ///   - isRepeated: Whether an earlier send of the write was left without an answer.
  func setTakenWrite(
    _ table: TableDescription, _ key: RowKey, _ answer: JSONObject, at version: String?, isRepeated: Bool = false
  ) throws {
    var (start, body, isRepeated) = (version, answer, isRepeated)
    // What moved on once more has moved on from where it began.
    if let version, let before = try takenWrite(table.name, key), table.version(of: before.answer) == version {
      (start, body, isRepeated) = (before.version, before.answer.merging(answer), before.isRepeated)
    }
    try database.execute(
      """
      INSERT INTO made_row (user_id, table_name, key, body, version, is_repeated) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
      ON CONFLICT (user_id, table_name, key) DO UPDATE SET body = ?4, version = ?5, is_repeated = ?6
      """,
      [
        .text(user), .text(table.name), .text(key.text), .text(JSONValue.object(body).serialized()), .optional(start),
        .integer(isRepeated ? 1 : 0),
      ])
  }

  /// Whether a row was made here by a repeated send; told once.
  ///
  /// The send before may have made it, too, and somebody may have deleted it since, with what belongs to it.
  public func takeRepeatedInsert(_ table: String, _ key: RowKey) throws -> Bool {
    guard let taken = try takenWrite(table, key), taken.version == nil else { return false }
    try forgetTakenWrite(table, key)
    return taken.isRepeated
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

  private func takenWrite(
    _ table: String, _ key: RowKey
  ) throws -> (version: String?, answer: JSONObject, isRepeated: Bool)? {
    let row = try database.first(
      "SELECT body, version, is_repeated FROM made_row WHERE user_id = ? AND table_name = ? AND key = ?",
      [.text(user), .text(table), .text(key.text)])
    guard let row, let body = row.text("body") else { return nil }
    return (row.text("version"), try Self.object(body), row.integer("is_repeated") == 1)
  }
}
