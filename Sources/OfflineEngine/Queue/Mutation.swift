import LosslessJSON
import SupabaseAPI

/// What a write does to its row.
public enum MutationOperation: String, Sendable, Hashable, CaseIterable {
  /// New rows.
  case insert = "INSERT"
  /// New rows, or new values for the rows that are there already.
  case upsert = "UPSERT"
  /// New values for some columns of rows.
  case update = "UPDATE"
  /// The rows' end.
  case delete = "DELETE"
}

/// What the writer saw of the row before the write: the values it may be judged against, and their version.
public struct WriteBase: Sendable, Hashable {
  /// The values that the row had, at least of the columns that the write sets.
  public var values: JSONObject
  /// The version of those values, exactly as the server sent it; `nil` when the server has not answered yet.
  public var version: String?

  /// A base of the given values and version.
  public init(values: JSONObject, version: String?) {
    self.values = values
    self.version = version
  }
}

/// One write as a caller hands it to the queue.
public struct Write: Sendable, Hashable {
  /// The table's name.
  public var table: String
  /// What is done.
  public var operation: MutationOperation
  /// The one row that is meant; without values when the write is not pinned to one row.
  public var key: RowKey
  /// The columns an insert, upsert or update sets; empty for a list of rows, which are in `request`.
  public var values: JSONObject
  /// What the caller saw; `nil` sends the write unguarded.
  public var base: WriteBase?
  /// Whether an update may fold into the row's last queued write when that was never sent (DESIGN section 5).
  public var coalesces: Bool
  /// The write as its caller built it; `nil` for a write that is nothing but values for the row under its key.
  public var request: WriteRequest?

  /// A new row.
  public static func insert(into table: String, key: RowKey, values: JSONObject) -> Write {
    Write(table: table, operation: .insert, key: key, values: values, base: nil, coalesces: false)
  }

  /// New values for a row.
  public static func update(
    _ table: String, key: RowKey, values: JSONObject, base: WriteBase?, coalesces: Bool = false
  ) -> Write {
    Write(table: table, operation: .update, key: key, values: values, base: base, coalesces: coalesces)
  }

  /// The end of a row.
  public static func delete(from table: String, key: RowKey, base: WriteBase?, coalesces: Bool = false) -> Write {
    Write(table: table, operation: .delete, key: key, values: [:], base: base, coalesces: coalesces)
  }
}

extension Write {
  /// The rows that an insert or upsert writes, in their order.
  public var rows: [JSONObject] {
    switch operation {
    case .insert, .upsert: request?.rows ?? [values]
    case .update, .delete: []
    }
  }

  /// The keys of the rows that are known to be touched; empty for a write by other conditions.
  public var rowKeys: [RowKey] { request?.rowKeys ?? [key] }

  /// Whether its row is one that the caller follows through the list of changes.
  var isMirrored: Bool { request == nil }

  /// Whether the write means one row under its whole key.
  public var isPinned: Bool { !key.values.isEmpty }

  /// What the write sends as its body, as the caller gave it; `nil` for a delete.
  public var body: OfflineJSON? {
    if operation == .delete { return nil }
    return request?.rows.map { .array($0.map { .object($0) }) } ?? .object(values)
  }
}

/// A write in the queue.
public struct PendingMutation: Sendable, Hashable, Identifiable {
  /// Its number: writes are sent in this order.
  public var id: Int64
  /// The user who made it; it is sent with this user's token only.
  public var user: String
  /// The write.
  public var write: Write
  /// When it was made, by the device's clock.
  public var createdAt: WallTime
  /// How often it has been sent without a clear answer.
  ///
  /// Above zero the server may already have it.
  public var sendCount: Int

  /// The version the write replays against; `nil` when it is not guarded.
  public var baseVersion: String? { write.base?.version }
}

extension PendingMutation: QueuedWrite {}
extension RejectedMutation: QueuedWrite {}
extension ConflictedMutation: QueuedWrite {}

/// What the entries of the queue and of both lists have in common.
public protocol QueuedWrite {
  /// The write.
  var write: Write { get }
}

extension QueuedWrite {
  /// The table's name.
  public var table: String { write.table }
  /// What is done.
  public var operation: MutationOperation { write.operation }
  /// The keys of the rows that are known to be touched.
  public var rowKeys: [RowKey] { write.rowKeys }
  /// What the write sends as its body; `nil` for a delete.
  public var body: OfflineJSON? { write.body }
}

/// A write that the server refused on replay.
public struct RejectedMutation: Sendable, Hashable, Identifiable {
  /// The write's number in the queue it came from.
  public var id: Int64
  /// The write.
  public var write: Write
  /// When it was made.
  public var createdAt: WallTime
  /// When it was refused.
  public var rejectedAt: WallTime
  /// The server's words, or `nil` when it answered with no row although the row is there: a policy forbids it.
  public var serverError: ServerError?
  /// Why it was refused, in one sentence.
  public var message: String
}

extension RejectedMutation {
  /// Whether `retryRejectedMutation` can queue it again: its whole body is still here.
  public var isRetryable: Bool { write.request?.isWhole ?? true }
}

/// A write that met another change of its row and waits for a person.
public struct ConflictedMutation: Sendable, Hashable, Identifiable {
  /// The write's number in the queue it came from.
  public var id: Int64
  /// The write, with the base it was made against.
  public var write: Write
  /// When it was made.
  public var createdAt: WallTime
  /// When it was parked.
  public var conflictedAt: WallTime
  /// The server's row when the replay read it; `nil` when it was gone.
  public var server: JSONObject?
  /// The version of `server`, for the guard of a later resend.
  public var serverVersion: String?
  /// The columns the write sets that had changed on the server.
  public var changedOnServer: [String]
  /// Those of them on which both sides disagree.
  public var conflictingColumns: [String]
  /// Why it was parked, in one sentence.
  public var message: String
}
