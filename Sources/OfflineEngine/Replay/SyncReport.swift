import SupabaseAPI

/// What one pass did (spec 4, "What a sync returns").
public struct SyncReport: Sendable {
  /// Writes sent and accepted.
  public var synced = 0
  /// Writes refused, now on the rejected list.
  public var rejected: [RejectedMutation] = []
  /// Writes still queued at the end.
  public var remaining = 0
  /// Of `synced`: writes that the server already had from an earlier send, and deletes of rows already gone.
  public var alreadyOnServer = 0
  /// Writes held back behind another table's; always 0 for a pass over every table.
  public var heldBehindOtherTables = 0
  /// Conflicts settled with this device's side and sent; also in `synced`.
  public var conflictsResolved = 0
  /// Writes dropped for the server's row.
  public var conflictsKeptServer = 0
  /// Writes parked, now on the conflicted list.
  public var conflicted: [ConflictedMutation] = []
  /// Why the pass stopped early; `nil` when it ran to the end.
  public var stoppedBy: SyncFailure?
  /// The request whose answer stopped it, where it was one.
  var stoppingError: SupabaseError?

  /// Whether the server has answered any write.
  var isAnswered: Bool { synced + rejected.count + conflicted.count + conflictsKeptServer > 0 }

  /// A pass that has done nothing yet.
  public init() {}
}
