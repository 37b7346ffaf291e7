import LosslessJSON
import SQLite

extension EngineTransaction {
  /// Gives the user's later queued writes to a row the version that an answered write made (DESIGN section 5,
  /// "Forwarding with care").
  ///
  /// - Parameters:
  ///   - mutation: The answered write.
  ///   - answer: The columns the server returned, the version among them.
  ///   - version: The version the write was guarded with; `nil` for an insert.
  ///   - rowRead: The row as it was read by key before a resend; `nil` when the first send was taken.
  func forward(
    _ mutation: PendingMutation, _ table: TableDescription, answer: JSONObject, guardedWith version: String?,
    rowRead: JSONObject?
  ) throws {
    guard let newVersion = table.version(of: answer) else { return }
    for later in try mutations(list: .queued, table: table.name, key: mutation.write.key) where later.id > mutation.id {
      guard let base = later.write.base else { continue }
      if let rowRead {
        // Another's change lies between: only a write whose writer saw exactly this row may pass over it unasked.
        let now = rowRead.merging(answer)
        guard later.write.operation == .update, base.values.members.allSatisfy({ now[$0.name] == $0.value }) else {
          continue
        }
      } else {
        guard base.version == version else { continue }
      }
      // Of a row just made nobody else can have changed anything: its writer may take the server's defaults as seen.
      let seen = mutation.write.operation == .insert ? base.values.names + later.write.values.names : base.values.names
      let values = base.values.merging(answer.picking(seen))
      try setBase(later.id, WriteBase(values: values, version: newVersion))
    }
  }

  /// A row of the table that the server is known to show this user, other than `key`.
  func anyVisibleRow(_ table: TableDescription, besides key: RowKey) throws -> RowKey? {
    guard
      let found = try database.first(
        "SELECT body FROM cached_row WHERE user_id = ? AND table_name = ? AND key <> ? AND body IS NOT NULL LIMIT 1",
        [.text(user), .text(table.name), .text(key.text)])
    else { return nil }
    return try found.text("body").map(Self.object).flatMap(table.key)
  }
}
