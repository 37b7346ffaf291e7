import LosslessJSON
import SQLite
import SupabaseAPI

/// How much the rejected list, and likewise the conflicted list, holds of all users together.
///
/// When a list is full its oldest entries go, and their writes are lost.
public struct ListBounds: Sendable, Hashable {
  /// The most entries.
  public var entries: Int
  /// The most characters of all entries.
  public var characters: Int
  /// The most characters of one body; a larger one is not kept, and its entry can no longer be sent as it is.
  public var bodyCharacters: Int
  /// The most characters of one text of the server's answer.
  public var textCharacters: Int

  /// Bounds of the given sizes.
  public init(entries: Int, characters: Int, bodyCharacters: Int, textCharacters: Int) {
    self.entries = entries
    self.characters = characters
    self.bodyCharacters = bodyCharacters
    self.textCharacters = textCharacters
  }

  /// The bounds of the specification (spec 5, "The conflicted list").
  public static let standard = ListBounds(
    entries: 100, characters: 512 << 10, bodyCharacters: 16 << 10, textCharacters: 4 << 10)
}

extension EngineTransaction {
  /// How many refusals of an unknown table or column reject a write (spec 4).
  static let unknownCountMax = 10
  /// How long after the last one a refusal counts.
  private static let unknownPause = Duration.seconds(30)

  /// Counts a refusal of a table or column that the server may still learn of.
  ///
  /// - Returns: How many have counted.
  func countUnknown(_ id: Int64) throws -> Int {
    try database.execute(
      """
      UPDATE mutation SET unknown_count = unknown_count + 1, unknown_at = ?2
      WHERE id = ?1 AND (unknown_at IS NULL OR unknown_at > ?2 OR ?2 - unknown_at >= ?3)
      """, [.integer(id), .integer(now.nanoseconds), .integer(Self.unknownPause.nanoseconds)])
    return Int(
      try database.first("SELECT unknown_count AS n FROM mutation WHERE id = ?", [.integer(id)])?.integer("n") ?? 0)
  }

  /// Trims a new entry of a list, then drops the list's oldest entries until it is within its bounds.
  func bound(_ list: MutationList, _ id: Int64, _ bounds: ListBounds?) throws {
    guard let bounds else { return }
    try trim(id, bounds)
    var (count, size) = (0, 0)
    let entries = try database.rows(
      """
      SELECT id, length(body) + ifnull(length(request), 0) + ifnull(length(base), 0) + ifnull(length(server), 0)
        + ifnull(length(server_error), 0) + ifnull(length(message), 0) AS size
      FROM mutation WHERE list = ? ORDER BY listed_at DESC, id DESC
      """, [.text(list.rawValue)])
    for entry in entries {
      count += 1
      size += Int(entry.integer("size") ?? 0)
      // The newest stays, however large: it is why the list is looked at.
      guard count > 1, count > bounds.entries || size > bounds.characters else { continue }
      try database.execute("DELETE FROM mutation WHERE id = ?", [.integer(entry.integer("id") ?? 0)])
    }
  }

  /// Leaves out of an entry what is too large for a list.
  private func trim(_ id: Int64, _ bounds: ListBounds) throws {
    let entry: [SQLiteValue] = [.integer(id)]
    guard
      let row = try database.first(
        "SELECT body, request, message, server_error, length(body) + ifnull(length(request), 0) AS size FROM mutation WHERE id = ?",
        entry)
    else { return }
    if (row.integer("size") ?? 0) > Int64(bounds.bodyCharacters) {
      var request = try row.text("request").map(Self.object).flatMap(WriteRequest.init) ?? WriteRequest()
      request.rows = nil
      request.isWhole = false
      try database.execute(
        "UPDATE mutation SET body = '{}', request = ?2 WHERE id = ?1",
        entry + [.text(JSONValue.object(request.json).serialized())])
    }
    let limit = bounds.textCharacters
    if let text = row.text("message"), text.count > limit {
      try database.execute(
        "UPDATE mutation SET message = ?2 WHERE id = ?1", entry + [.text(String(text.prefix(limit)))])
    }
    if var error = try row.text("server_error").map({ ServerError(try Self.object($0)) }) {
      error.message = String(error.message.prefix(limit))
      error.details = error.details.map { String($0.prefix(limit)) }
      error.hint = error.hint.map { String($0.prefix(limit)) }
      try database.execute(
        "UPDATE mutation SET server_error = ?2 WHERE id = ?1",
        entry + [.text(JSONValue.object(error.json).serialized())])
    }
  }
}
