/// Where a client stands: one value to draw a banner from (spec 4, "The status").
public struct SyncStatus: Sendable, Equatable {
  /// What is known of the network.
  public var network: NetworkStatus = .unknown
  /// How many writes of the current user are queued.
  public var pendingMutationCount = 0
  /// How many refused writes of the current user wait for the developer's word.
  public var rejectedMutationCount = 0
  /// How many parked writes of the current user wait for a person.
  public var conflictedMutationCount = 0
  /// Whether a pass is sending.
  public var isSyncing = false
  /// When a pass, or a write sent at once, last left the user's queue empty; `nil` in a process where none did yet.
  public var lastSyncedAt: WallTime?
  /// Why the last pass stopped with writes queued.
  public var lastSyncError: SyncFailed?
  /// When the library's own next pass is due, where one waits.
  public var nextPassAt: WallTime?

  /// A client that has done nothing yet.
  public init() {}
}

/// Why a pass stopped, without any text of the server, value or token.
public struct SyncFailed: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kinds of failures that stop a pass.
  public enum Kind: String, Sendable {
    /// Network access is off, or the server could not be reached.
    case connectivity
    /// There was no valid token.
    case session
    /// The server cannot serve now.
    case unavailable
    /// The server does not know a table or column.
    case schemaCache
    /// What came was no answer of the project, or one that proves nothing.
    case noAnswer
    /// The database on this device failed.
    case storage
    /// The pass was cancelled.
    case cancelled
  }

  /// What kind of failure it was.
  public var kind: Kind
  /// The HTTP status, where there was an answer.
  public var status: Int?
  /// PostgREST's or PostgreSQL's code, where the answer had one.
  public var code: String?

  /// The kind, the status and the code.
  public var description: String {
    "the last pass stopped: \(kind.rawValue)" + (status.map { ", HTTP \($0)" } ?? "") + (code.map { ", \($0)" } ?? "")
  }
}

extension SyncReport {
  /// Why the pass stopped, as a status shows it.
  var failed: SyncFailed? {
    guard let stoppedBy else { return nil }
    let kind: SyncFailed.Kind =
      switch stoppedBy {
      case .networkDisabled, .connectivity: .connectivity
      case .session: .session
      case .unavailable: .unavailable
      case .schemaCache: .schemaCache
      case .notAnAnswer, .unproven, .refused: .noAnswer
      case .local: .storage
      case .cancelled: .cancelled
      }
    return SyncFailed(kind: kind, status: stoppingError?.status, code: stoppingError?.serverError?.code)
  }
}
