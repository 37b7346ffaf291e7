/// Why a call to the Auth service did not do what was asked for.
public enum AuthFailure: Error, Sendable, Hashable {
  /// The project has no Auth service.
  case noService
  /// There was no whole answer.
  case http(HTTPError)
  /// The address or the password is wrong.
  case invalidCredentials(ServerError)
  /// The session is over for good; the user must sign in again. Nothing else may end a session.
  case sessionEnded(ServerError)
  /// The address belongs to an account already.
  case userExists(ServerError)
  /// The password does not meet the project's rules, named by the service (`length`, `characters`, `pwned`).
  case weakPassword(ServerError, reasons: [String])
  /// The account waits for the link in its mail to be opened; or the address has an account, which is not told.
  case confirmationNeeded
  /// Too many calls; try again later.
  case rateLimited(ServerError, retryAfter: Int?)
  /// The access token is expired or not accepted: refresh it once and try once more.
  case tokenRefused(ServerError)
  /// The service said no for another reason, which its code names.
  case refused(ServerError)
  /// The gateway before the project did not let the request in: the key is wrong or not sent.
  case gatewayRefused(status: Int, message: String)
  /// The service cannot do it now; a later try may.
  case unavailable(status: Int, retryAfter: Int?, ServerError?)
  /// What came is no answer of the service.
  case notAnAnswer(status: Int, reason: String, retryAfter: Int?)
}

extension AuthFailure {
  /// Whether the same call may work later with nothing changed.
  public var mayPass: Bool {
    switch self {
    case .http(let error): error.isConnectivity
    case .rateLimited, .unavailable, .notAnAnswer: true
    case .noService, .invalidCredentials, .sessionEnded, .userExists, .weakPassword, .confirmationNeeded, .tokenRefused,
      .refused,
      .gatewayRefused:
      false
    }
  }

  /// How many seconds the server asks to wait before the next try.
  public var retryAfter: Int? {
    switch self {
    case .rateLimited(_, let seconds), .unavailable(_, let seconds, _), .notAnAnswer(_, _, let seconds): seconds
    default: nil
    }
  }

  /// Whether it is a want of a connection.
  public var isConnectivity: Bool {
    guard case .http(let error) = self else { return false }
    return error.isConnectivity
  }
}

extension AuthFailure: CustomStringConvertible {
  /// What happened and what to do next, without tokens, keys and passwords.
  public var description: String {
    switch self {
    case .noService:
      "the project has no Auth service"
    case .http(let error):
      error.description
    case .invalidCredentials:
      "the e-mail address or the password is wrong"
    case .sessionEnded(let error):
      "the session has ended (\(error)); sign in again"
    case .userExists:
      "this e-mail address has an account already; sign in with it"
    case .weakPassword(let error, let reasons):
      "the password does not meet the project's rules"
        + (reasons.isEmpty ? " (\(error))" : " (\(reasons.map(PrintableText.of).joined(separator: ", ")))")
    case .confirmationNeeded:
      "the e-mail address must be confirmed: open the link in the mail, then sign in; "
        + "no mail comes if the address has an account already"
    case .rateLimited(_, let seconds):
      "too many calls to the project's sign-in service; try again " + (seconds.map { "in \($0) s" } ?? "later")
    case .tokenRefused(let error):
      "the server did not accept the session (\(error))"
    case .refused(let error):
      "the sign-in service refused (\(error))"
    case .gatewayRefused(let status, let message):
      SupabaseError.gatewayRefused(status: status, message: message).description
    case .unavailable(let status, let seconds, let error):
      SupabaseError.unavailable(status: status, retryAfter: seconds, error).description
    case .notAnAnswer(let status, let reason, let seconds):
      SupabaseError.notAnAnswer(status: status, reason: reason, retryAfter: seconds).description
    }
  }
}
