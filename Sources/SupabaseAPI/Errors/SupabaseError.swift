/// Why a request to the project did not give what was asked for.
///
/// Only `refused` is the server's last word on a request. With every other case nothing is decided, so a write stays
/// queued; each needs something else to happen first.
public enum SupabaseError: Error, Sendable, Hashable {
  /// There was no whole answer. `mayHaveReachedServer` says whether the request may have been acted on.
  case http(HTTPError)
  /// The service said no to this very request.
  case refused(ServerError)
  /// The access token is expired or not accepted: refresh it once and try once more.
  case tokenRefused(ServerError)
  /// The gateway before the project did not let the request in: the key is wrong or not sent.
  case gatewayRefused(status: Int, message: String)
  /// The server does not know the table or a column, or does not know it yet.
  case schemaCache(ServerError)
  /// The server cannot do it now; a later try may.
  case unavailable(status: Int, retryAfter: Int?, ServerError?)
  /// What came is no answer of the service: a page, a redirect, a gateway's text, a success that is not JSON.
  case notAnAnswer(status: Int, reason: String, retryAfter: Int?)
  /// The project's URL or key cannot be right.
  case invalidProject(reason: String)
  /// A stored session cannot be read.
  case invalidSession(reason: String)
}

extension SupabaseError {
  /// How many seconds the server asks to wait before the next try.
  public var retryAfter: Int? {
    switch self {
    case .unavailable(_, let seconds, _), .notAnAnswer(_, _, let seconds): seconds
    case .http, .refused, .tokenRefused, .gatewayRefused, .schemaCache, .invalidProject, .invalidSession: nil
    }
  }

  /// Whether it is a want of a connection, which passes by itself when the network or the server comes back.
  public var isConnectivity: Bool {
    guard case .http(let error) = self else { return false }
    return error.isConnectivity
  }

  /// Whether the server may have acted on the request, so that it must be found out before it is sent again.
  ///
  /// What PostgREST itself answers with an error was undone, except where it lost the database, perhaps in the middle of
  /// a commit. A proxy's 5xx tells nothing, and neither does a success that cannot be read.
  public var mayHaveReachedServer: Bool {
    switch self {
    case .http(let error): error.mayHaveReachedServer
    case .refused, .tokenRefused, .gatewayRefused, .schemaCache, .invalidProject, .invalidSession: false
    case .unavailable(let status, _, let error?):
      status >= 500 && (error.code.hasPrefix("08") || error.code == "PGRST001" || error.code == "57P01")
    case .unavailable(let status, _, nil): status >= 500
    case .notAnAnswer(let status, _, _): (200...299).contains(status)
    }
  }

  /// The HTTP status, where there was an answer.
  public var status: Int? {
    switch self {
    case .refused(let error), .tokenRefused(let error), .schemaCache(let error): error.status
    case .gatewayRefused(let status, _), .unavailable(let status, _, _), .notAnAnswer(let status, _, _): status
    case .http, .invalidProject, .invalidSession: nil
    }
  }

  /// The service's own error, where it sent one.
  public var serverError: ServerError? {
    switch self {
    case .refused(let error), .tokenRefused(let error), .schemaCache(let error): error
    case .unavailable(_, _, let error): error
    case .http, .gatewayRefused, .notAnAnswer, .invalidProject, .invalidSession: nil
    }
  }
}

extension SupabaseError: CustomStringConvertible {
  /// What happened and what to do next, without tokens, keys, rows and filter values.
  public var description: String {
    switch self {
    case .http(let error):
      error.description
    case .refused(let error):
      "the server refused the request (\(error))"
    case .tokenRefused(let error):
      "the server did not accept the session (\(error)); if it goes on, sign in again"
    case .gatewayRefused(let status, let message):
      "the project did not let the request in (HTTP \(status): \(message)); check the project's URL and key"
    case .schemaCache(let error):
      "the server does not know the table or a column (\(error)); check the names in the settings, "
        + "or wait until the server has loaded its new schema"
    case .unavailable(let status, let seconds, let error):
      "the server cannot answer now (\(error?.description ?? "HTTP \(status)")); the next try may work"
        + (seconds.map { ", in \($0) s at the earliest" } ?? "")
    case .notAnAnswer(let status, let reason, _):
      "what came back is not an answer of a Supabase project (HTTP \(status): \(reason)); check the project's URL, "
        + "and a login page of this network"
    case .invalidProject(let reason):
      "this cannot be a project: \(reason)"
    case .invalidSession(let reason):
      "the stored session cannot be read: \(reason); sign in again"
    }
  }
}
