import OfflineEngine

/// A write that a sync would send.
public struct PlannedWrite: Sendable, Hashable {
  /// `INSERT`, `UPDATE` or `DELETE`.
  public var operation: String
  /// The table.
  public var table: String
  /// The row's file, where it lies or lay; the key where no file is known.
  public var path: String
  /// The columns that it sets.
  public var columns: [String]
  /// Whether the server's row has changed since the file showed it, so that it merges or becomes a conflict.
  public var meetsChange: Bool
}

extension Workspace {
  /// The queued writes, in the order in which they would be sent.
  public func plannedWrites() throws -> [PlannedWrite] {
    try client.read { transaction in
      try transaction.pendingMutations().map { pending in
        let key = pending.write.key
        let folder = collections.first { $0.table == pending.write.table }?.folder ?? ""
        let entry = try Mirror(transaction).entry(folder, key: key)
        let path = try entry?.lastPath ?? Mirror(transaction).formerPath(folder, key) ?? key.text
        let server = try transaction.cachedRow(pending.write.table, key)
        let isOlder = pending.baseVersion != nil && pending.baseVersion != server?.version
        return PlannedWrite(
          operation: pending.write.operation.rawValue, table: pending.write.table, path: path,
          columns: pending.write.values.names, meetsChange: isOlder && pending.write.operation != .insert)
      }
    }
  }
}
