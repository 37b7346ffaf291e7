import LosslessJSON

/// A queued write that met a change made elsewhere, as a resolver sees it (spec 5, "The resolver").
public struct MutationConflict: Sendable, Hashable {
  /// The write's number.
  public var mutationID: Int64
  /// The table's name.
  public var table: String
  /// What the write does.
  public var operation: MutationOperation
  /// The row.
  public var rowKey: RowKey
  /// What this device saw before the write.
  public var base: JSONObject?
  /// What the write sets; `nil` for a delete.
  public var local: JSONObject?
  /// The server's row now; `nil` when it is gone.
  public var server: JSONObject?
  /// The columns the write sets whose server value differs from the base.
  public var changedOnServer: [String]
  /// Those of them on which both sides disagree.
  public var conflictingColumns: [String]

  /// A conflict of the given parts, for trying out a resolver.
  public init(
    mutationID: Int64, table: String, operation: MutationOperation, rowKey: RowKey, base: JSONObject?,
    local: JSONObject?, server: JSONObject?, changedOnServer: [String], conflictingColumns: [String]
  ) {
    self.mutationID = mutationID
    self.table = table
    self.operation = operation
    self.rowKey = rowKey
    self.base = base
    self.local = local
    self.server = server
    self.changedOnServer = changedOnServer
    self.conflictingColumns = conflictingColumns
  }
}

/// What becomes of a conflict.
public enum ConflictResolution: Sendable, Hashable {
  /// The write is sent again against the server's version as it is now.
  case keepLocal
  /// The write is dropped and the server's row stands.
  case keepServer
  /// These columns are sent instead.
  case apply(JSONObject)
  /// The write waits on the conflicted list for a person.
  case hold
}

/// Settles conflicts during a pass; anything it throws, and 30 seconds without an answer, reads as `hold`.
public typealias ConflictResolver = @Sendable (MutationConflict) async throws -> ConflictResolution

/// The resolvers that ship with the engine.
public enum ConflictResolvers {
  /// The last write wins column by column; an update of a gone row is dropped (spec 5, "Without a resolver").
  public static let lastWriteWins: ConflictResolver = { conflict in
    conflict.server == nil && conflict.operation == .update ? .keepServer : .keepLocal
  }

  /// Merges what cannot disagree and holds the rest for a person: the default of a workspace (DESIGN section 5).
  public static let holdDisagreements: ConflictResolver = { conflict in
    guard conflict.server != nil, conflict.operation == .update else { return .hold }
    return conflict.conflictingColumns.isEmpty ? .keepLocal : .hold
  }
}
