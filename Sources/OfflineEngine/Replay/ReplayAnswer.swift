import SupabaseAPI

/// What became of one queued write in a pass, told as soon as it is known and kept.
public struct ReplayAnswer: Sendable {
  /// What it came to.
  public enum Outcome: Sendable, Hashable {
    /// The server took it.
    case taken
    /// The server had it already, from an earlier send or from somebody else.
    case alreadyThere
    /// The row does not fulfil the write's conditions any more: there was nothing to do.
    case unreached
    /// The server refused it, with a code of PostgreSQL or PostgREST where it gave one.
    case refused(code: String?)
    /// It met another change, and waits for somebody to choose.
    case conflicted
    /// It met another change, and gave way as the settings say.
    case gaveWay
  }

  /// The write's table.
  public var table: String
  /// The row's key; of a write to several rows, the first's.
  public var key: RowKey
  /// What it does.
  public var operation: MutationOperation
  /// The columns that it sets.
  public var columns: [String]
  /// What it came to.
  public var outcome: Outcome

  init(_ mutation: PendingMutation, _ outcome: Outcome) {
    table = mutation.write.table
    key = mutation.write.key
    operation = mutation.write.operation
    columns = mutation.write.values.names
    self.outcome = outcome
  }
}
