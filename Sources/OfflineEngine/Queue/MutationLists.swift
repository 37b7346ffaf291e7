import LosslessJSON
import SQLite

/// Why a request about an entry of a list was refused.
public enum ListError: Error, Sendable, Equatable, CustomStringConvertible {
  /// No entry of this user has this number in this list.
  case noSuchEntry(id: Int64)
  /// The resolution cannot apply to the entry.
  case cannotResolve(id: Int64, reason: String)

  /// What happened and what to do.
  public var description: String {
    switch self {
    case .noSuchEntry(let id): "there is no entry \(id); 'tidemark status' counts what waits"
    case .cannotResolve(let id, let reason): "entry \(id) cannot be settled so: \(reason)"
    }
  }
}

extension EngineTransaction {
  /// Whether any write to the table stands on the rejected or the conflicted list.
  public func hasListedMutations(_ table: String) throws -> Bool {
    try database.first(
      """
      SELECT 1 FROM mutation WHERE user_id = ? AND list IN ('rejected', 'conflicted') AND table_name = ? LIMIT 1
      """, [.text(user), .text(table)]) != nil
  }

  /// Removes a queued write unsent: it is lost, and its row shows again as the server last sent it.
  public func discardPendingMutation(_ id: Int64) throws {
    guard try entry(id, list: .queued) != nil else { throw ListError.noSuchEntry(id: id) }
    try remove(id)
  }

  /// Drops a refused write for good.
  public func dismissRejectedMutation(_ id: Int64) throws {
    guard try entry(id, list: .rejected) != nil else { throw ListError.noSuchEntry(id: id) }
    try remove(id)
  }

  /// Drops a parked write: the server's row stands.
  public func dismissConflictedMutation(_ id: Int64) throws {
    guard try entry(id, list: .conflicted) != nil else { throw ListError.noSuchEntry(id: id) }
    try remove(id)
  }

  /// Settles a parked write (spec 5, "The conflicted list").
  ///
  /// `keepLocal` and `apply` queue the write again at the end of the queue under a new number, guarded by the server's
  /// version as the entry saw it; `keepServer` drops it. On a row that was gone, `keepLocal` of a whole row (the
  /// workspace's way of making it again) is given as a new insert by the caller instead.
  ///
  /// - Returns: The number of the new queued write, or `nil` when nothing is sent.
  @discardableResult
  public func resolveConflictedMutation(_ id: Int64, _ resolution: ConflictResolution) throws -> Int64? {
    guard let conflict = try conflictedMutation(id) else { throw ListError.noSuchEntry(id: id) }
    var write = conflict.write
    write.request?.isSingle = false
    switch resolution {
    case .hold: throw ListError.cannotResolve(id: id, reason: "it is held already")
    case .keepServer:
      try remove(id)
      return nil
    case .keepLocal: break
    case .apply(let columns):
      guard write.operation != .delete, !columns.isEmpty else {
        throw ListError.cannotResolve(id: id, reason: "only columns of an update can be chosen, and at least one")
      }
      write.values = columns
      // Its conditions were kept: what is sent is whole again.
      if !write.rowKeys.isEmpty { write.request?.isWhole = true }
    }
    if case .keepLocal = resolution, !(write.request?.isWhole ?? true) {
      throw ListError.cannotResolve(id: id, reason: "its body was too large to keep; choose columns instead")
    }
    guard let server = conflict.server else {
      throw ListError.cannotResolve(id: id, reason: "its row is gone from the server")
    }
    if write.operation == .insert { write.operation = .update }  // The row is there: its columns are set.
    write.base = WriteBase(
      values: write.operation == .delete ? server : server.picking(write.values.names), version: conflict.serverVersion)
    try remove(id)
    return try enqueue(write)
  }

  /// Queues a refused write again, with `values` in place of its own where given.
  ///
  /// - Returns: The number of the new queued write.
  @discardableResult
  public func retryRejectedMutation(_ id: Int64, values: JSONObject? = nil) throws -> Int64? {
    guard let row = try entry(id, list: .rejected) else { throw ListError.noSuchEntry(id: id) }
    var write = try rejectedMutation(row).write
    guard values != nil || write.request?.isWhole ?? true else {
      throw ListError.cannotResolve(id: id, reason: "its body was too large to keep; make the change again")
    }
    if let values { write.values = values }
    try remove(id)
    return try enqueue(write)
  }
}
