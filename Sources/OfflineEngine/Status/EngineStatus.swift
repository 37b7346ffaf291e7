import SupabaseAPI

/// What is known of the network.
public enum NetworkStatus: String, Sendable, Hashable {
  /// Nothing has said yet; counts as online.
  case unknown
  /// The last request was answered.
  case online
  /// The last request found no connection.
  case offline
  /// Network access is switched off.
  case disabled
}

/// Why a pass or a pull stopped before its end.
///
/// Nothing was decided: what waited still waits.
public enum SyncFailure: Error, Sendable, CustomStringConvertible {
  /// Network access is switched off.
  case networkDisabled
  /// The server cannot be reached.
  case connectivity(reason: String)
  /// There is no valid token of the user.
  case session(SessionFailure)
  /// The server answered that it cannot serve now.
  case unavailable(reason: String, retryAfter: Int?)
  /// The server does not know the table or a column yet.
  case schemaCache(table: String, reason: String)
  /// The project refused the request for all its users: a wrong key, a proxy's page, another server.
  case notAnAnswer(reason: String)
  /// An answer without rows that nothing proves to be the user's view.
  case unproven(table: String)
  /// The server refused a read.
  case refused(table: String, reason: String)
  /// Something on this device failed, such as a full disk.
  case local(reason: String)
  /// The caller's task was cancelled.
  case cancelled

  /// Whether the server could not be reached at all.
  public var isConnectivity: Bool {
    switch self {
    case .networkDisabled, .connectivity: true
    case .session(.cannotRefresh(_, let isConnectivity)): isConnectivity
    default: false
    }
  }

  /// Whether changes simply wait for the network or the server, without a fault that a person must mend.
  public var mayPass: Bool {
    switch self {
    case .networkDisabled, .connectivity, .unavailable, .cancelled, .unproven: true
    case .session(.cannotRefresh): true
    default: false
    }
  }

  /// What happened and what to do.
  public var description: String {
    switch self {
    case .networkDisabled: "network access is off; 'tidemark online' turns it on"
    case .connectivity(let reason): "the server cannot be reached: \(reason)"
    case .session(let failure): failure.description
    case .unavailable(let reason, _): "the server cannot serve now: \(reason)"
    case .schemaCache(let table, let reason):
      "the server does not know table '\(table)' or one of its columns (\(reason)); after a change of the schema run "
        + "NOTIFY pgrst, 'reload schema' there"
    case .notAnAnswer(let reason): reason
    case .unproven(let table):
      "the server showed no row of '\(table)' and nothing proves that it looked as this user; nothing was concluded"
    case .refused(let table, let reason): "the server refused to show '\(table)': \(reason)"
    case .local(let reason): reason
    case .cancelled: "stopped"
    }
  }
}

extension SyncFailure {
  /// The reason for which a read of a table has no answer.
  public init(reading error: SupabaseError, table: String) { self.init(error, table: table) }

  /// The reason for which one request to a table has no answer to act on.
  init(_ error: SupabaseError, table: String) {
    self =
      switch error {
      case .http(.cancelled): .cancelled
      case .http(let http) where http.isConnectivity: .connectivity(reason: "\(http)")
      case .unavailable(_, let retryAfter, _): .unavailable(reason: "\(error)", retryAfter: retryAfter)
      case .schemaCache(let details): .schemaCache(table: table, reason: details.message)
      case .refused: .refused(table: table, reason: "\(error)")
      case .tokenRefused: .session(.notAccepted(reason: "\(error)"))
      case .http, .gatewayRefused, .notAnAnswer, .invalidProject, .invalidSession: .notAnAnswer(reason: "\(error)")
      }
  }
}

/// Where the engine stands.
public struct EngineStatus: Sendable {
  /// What is known of the network.
  public var network: NetworkStatus = .unknown
  /// Whether a pass is sending.
  public var isSyncing = false
  /// When everything was last in step, by the device's clock.
  public var lastSyncedAt: WallTime?
  /// Why the last pass or pull stopped; `nil` when it ran to the end.
  public var lastSyncError: SyncFailure?
}
