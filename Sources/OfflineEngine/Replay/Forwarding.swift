import LosslessJSON
import SQLite

/// How the server came to give the answer to a write, which decides what later writes may be told.
enum AnsweredBy: Sendable {
  /// The write made the row.
  case making
  /// The first send was taken by a row of exactly that version.
  case row(version: String?)
  /// A send without a guard was taken, and gave the row back.
  case unguarded
  /// The row was read by its key, then held the write's values or took them.
  case reading(JSONObject)
}

extension EngineTransaction {
  /// Gives the user's later queued writes to a row the version that an answered write made (DESIGN section 5,
  /// "Forwarding with care").
  ///
  /// - Parameters:
  ///   - mutation: The answered write.
  ///   - answer: The columns the server returned, the version among them.
  ///   - origin: How it came to be answered.
  func forward(_ mutation: PendingMutation, _ table: TableDescription, answer: JSONObject, _ origin: AnsweredBy) throws
  {
    guard let newVersion = table.version(of: answer) else { return }
    // What writes in between have set: whoever made one behind them saw that, and not what the server answered now.
    var covered: Set<String> = []
    // What those of them have set that were told the new version themselves: whoever came behind saw it laid over the row.
    var passed = JSONObject()
    for later in try mutations(list: .queued, table: table.name, key: mutation.write.key) where later.id > mutation.id {
      defer { covered.formUnion(later.write.values.names) }
      guard let base = later.write.base else { continue }
      var seen = base.values.names
      switch origin {
      case .making:
        // Of a row just made nobody else can have changed anything: its writer may take the server's defaults as seen.
        guard base.version == nil else { continue }
        seen += later.write.values.names
      case .row(let version?):
        guard base.version == version else { continue }
      case .row(nil): continue
      case .unguarded:
        // Another's change may lie before it: only a write that saw the row so but for this write's columns may pass.
        let own = mutation.write.values
        guard later.write.operation == .update, later.write.values.names.allSatisfy({ base.values[$0] != nil }),
          base.values.members.allSatisfy({ own[$0.name] != nil || answer[$0.name] == $0.value })
        else { continue }
      case .reading(let row):
        // Another's change may lie between: only a write whose writer saw exactly this row may pass over it unasked.
        let row = row.merging(answer)
        let isNew = mutation.write.operation == .insert && base.version == nil
        // A delete takes all of the row along, so that all of it must have been seen, but for what columns begin with: its
        // writer may have made the row without them.
        let besides = table.identityColumns + [table.cursorColumn].compactMap(\.self)
        let isSeen =
          later.write.operation == .update
          || later.write.operation == .delete
            && row.members.allSatisfy {
              besides.contains($0.name) || base.values[$0.name] != nil || $0.value.isBeginning
            }
        guard isSeen, base.values.members.allSatisfy({ (passed[$0.name] ?? row[$0.name]) == $0.value }),
          later.write.values.names.allSatisfy({ base.values[$0] != nil || isNew && row[$0]?.isNull ?? true })
        else { continue }
        if isNew { seen += later.write.values.names }
      }
      let told = answer.picking(seen.filter { !covered.contains($0) })
      try setBase(later.id, WriteBase(values: base.values.merging(told), version: newVersion))
      passed = passed.merging(later.write.values)
    }
  }

  /// Rows of the table that the server is known to show this user, other than `key`, at most `limit`.
  func visibleRows(_ table: TableDescription, besides key: RowKey, limit: Int) throws -> [RowKey] {
    try database.rows(
      """
      SELECT body FROM cached_row WHERE user_id = ? AND table_name = ? AND key <> ? AND body IS NOT NULL LIMIT ?
      """, [.text(user), .text(table.name), .text(key.text), .integer(Int64(limit))]
    ).compactMap { try $0.text("body").map(Self.object).flatMap(table.key) }
  }
}

extension JSONValue {
  /// Whether it is one that columns begin with: null, false, zero or empty.
  var isBeginning: Bool { isNull || self == false || self == 0 || self == "" }
}
