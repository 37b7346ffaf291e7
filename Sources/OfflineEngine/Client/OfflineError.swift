import LosslessJSON
import SupabaseAPI

/// Why a call of the client did not do what was asked.
///
/// No case shows a token, a key or a filter's value.
public enum OfflineError: Error, Sendable {
  /// The configuration cannot be right.
  case configuration(reason: String)
  /// The request cannot be built from what was given; nothing was sent or queued.
  case invalidRequest(reason: String)
  /// A write that the queue cannot hold could not be sent for want of a connection.
  indirect case mutationNotQueueable(UnqueueableWrite, cause: OfflineError)
  /// Network access is switched off, and the call needs the server.
  case networkDisabled
  /// The server could not be reached, or did not answer.
  case connectivity(HTTPError)
  /// The server refused the request.
  case refused(ServerError)
  /// The server does not know the table or a column, or does not know it yet.
  case schemaCache(ServerError)
  /// The server cannot do it now.
  case unavailable(status: Int, retryAfter: Int?, ServerError?)
  /// What came back is no answer of the project.
  case notAnAnswer(SupabaseError)
  /// There is no token for the request.
  case session(SessionFailure)
  /// The cache holds nothing that the read may serve.
  case cacheMiss
  /// The rows do not have the shape that was asked for.
  case decoding(reason: String)
  /// There is no such entry of the current user in the list.
  case noSuchEntry(id: Int64)
  /// The entry cannot be settled so.
  case cannotResolve(id: Int64, reason: String)
  /// The database on this device could not be read or written.
  case storage(reason: String)
  /// A file to be sent or received could not be read or written, or was changed while it was sent.
  case file(reason: String)
  /// The client is closed.
  case closed
}

extension OfflineError {
  /// Whether it is a want of a connection, which passes by itself; the switched-off network counts.
  public var isConnectivity: Bool {
    switch self {
    case .networkDisabled, .connectivity: true
    case .session(.cannotRefresh(_, let isConnectivity)): isConnectivity
    case .mutationNotQueueable(_, let cause): cause.isConnectivity
    default: false
    }
  }

  /// The server's own error, where it sent one.
  public var serverError: ServerError? {
    switch self {
    case .refused(let error), .schemaCache(let error): error
    case .unavailable(_, _, let error): error
    case .notAnAnswer(let error): error.serverError
    default: nil
    }
  }

  init(_ error: SupabaseError) {
    self =
      switch error {
      case .http(.body(let reason)): .file(reason: reason)
      case .http(let http) where http.isConnectivity: .connectivity(http)
      case .refused(let refusal), .tokenRefused(let refusal): .refused(refusal)
      case .schemaCache(let refusal): .schemaCache(refusal)
      case .unavailable(let status, let retryAfter, let refusal):
        .unavailable(status: status, retryAfter: retryAfter, refusal)
      case .http, .gatewayRefused, .notAnAnswer, .invalidProject, .invalidSession: .notAnAnswer(error)
      }
  }

  /// The reason for which a request has no answer to act on.
  init(_ failure: RequestFailure) {
    if let error = failure.error {
      self.init(error)
      return
    }
    self =
      switch failure.reason {
      case .networkDisabled: .networkDisabled
      case .session(let failure): .session(failure)
      case .cancelled: .closed
      default: .storage(reason: "\(failure.reason)")
      }
  }

  /// An error of the state on this device, or of a list in it.
  init(storing error: any Error) {
    self =
      switch error {
      case let error as OfflineError: error
      case ListError.noSuchEntry(let id): .noSuchEntry(id: id)
      case ListError.cannotResolve(let id, let reason): .cannotResolve(id: id, reason: reason)
      default: .storage(reason: "\(error)")
      }
  }
}

extension OfflineError: CustomStringConvertible {
  /// What happened and what to do next.
  public var description: String {
    switch self {
    case .configuration(let reason): "the client cannot be made: \(reason)"
    case .invalidRequest(let reason): "the request cannot be built: \(reason)"
    case .mutationNotQueueable(let kind, let cause):
      "\(kind.description) cannot wait in the queue and could not be sent: \(cause)"
    case .networkDisabled: "network access is off; enableNetwork() turns it on"
    case .connectivity(let error): "\(error)"
    case .refused(let error): "the server refused the request (\(error))"
    case .schemaCache(let error): SupabaseError.schemaCache(error).description
    case .unavailable(let status, let retryAfter, let error):
      SupabaseError.unavailable(status: status, retryAfter: retryAfter, error).description
    case .notAnAnswer(let error): "\(error)"
    case .session(let failure): Self.words(failure)
    case .cacheMiss: "this device holds nothing for the query that the read may use; read it once with a connection"
    case .decoding(let reason): "the rows do not have the shape that was asked for: \(reason)"
    case .noSuchEntry(let id): "there is no entry \(id) of this user in the list"
    case .cannotResolve(let id, let reason): "entry \(id) cannot be settled so: \(reason)"
    case .storage(let reason): "the database on this device could not be used: \(reason)"
    case .file(let reason): "the file could not be sent or received: \(reason)"
    case .closed: "the client is closed"
    }
  }
}

extension OfflineError {
  /// What happened to a session, for somebody whose program signs in.
  private static func words(_ failure: SessionFailure) -> String {
    switch failure {
    case .signedOut: "nobody is signed in"
    case .ended(let reason): "the server ended the session (\(reason)); sign in again"
    case .cannotRefresh(let reason, _): "signed in, but the access token cannot be refreshed yet: \(reason)"
    case .notAccepted(let reason): "the server did not accept the session (\(reason)); sign in again"
    case .otherUser: "somebody else has signed in meanwhile"
    case .storage(let reason): "the session could not be read or stored: \(reason)"
    }
  }
}

/// Why a write cannot wait in the queue (spec 1, "Writes the queue cannot hold").
public enum UnqueueableWrite: Sendable, Hashable {
  /// An update or delete without a condition.
  case unfiltered
  /// A group of conditions, which two conditions on one column are too.
  case group
  /// A negated condition.
  case negation
  /// A condition on a column of an embedded table.
  case embeddedCondition
  /// An order of the rows to write.
  case order
  /// A limit of the rows to write.
  case limit
  /// An offset into the rows to write.
  case offset
  /// A dry run, which a replay would run for real.
  case dryRun
  /// A write to another schema than the client's own.
  case schema(String)
  /// A session that does not say whose it is.
  case noUser
  /// The data on this device was cleared while the write was on its way into the queue.
  case localDataCleared
}

extension UnqueueableWrite: CustomStringConvertible {
  /// The kind of write in words.
  public var description: String {
    switch self {
    case .unfiltered: "an update or delete without a filter"
    case .group: "a write with a group of conditions, such as two on one column,"
    case .negation: "a write with a negated condition"
    case .embeddedCondition: "a write with a condition on an embedded table"
    case .order: "a write with an order"
    case .limit: "a write with a limit"
    case .offset: "a write with an offset"
    case .dryRun: "a dry run"
    case .schema(let name): "a write to the schema '\(name)'"
    case .noUser: "a write of a session without a user id"
    case .localDataCleared: "a write made while the data on this device was cleared"
    }
  }
}
