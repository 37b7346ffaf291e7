import SupabaseAPI

/// Who is signed in to a client.
public enum SessionState: Sendable, Hashable {
  /// The stored session is being read, or its token refreshed for the first time.
  ///
  /// The user is known as soon as the session was read, before any network; `nil` until then.
  case restoring(user: String?)
  /// Somebody is signed in, whose token may have to wait for the network to be refreshed; `nil` for a session without
  /// a user's id.
  case signedIn(user: String?)
  /// Nobody is.
  case signedOut
  /// The client has no Auth: its requests carry the project's key.
  case withoutAuth

  /// Whether it stays so until somebody signs in or out.
  public var isSettled: Bool { if case .restoring = self { false } else { true } }

  /// The user's id, where one is known.
  public var user: String? {
    switch self {
    case .restoring(let user), .signedIn(let user): user
    case .signedOut, .withoutAuth: nil
    }
  }
}

/// Why signing in, up or out was not done.
public enum SignInFailure: Error, Sendable, CustomStringConvertible {
  /// The Auth service's word, or the want of one.
  case auth(AuthFailure)
  /// The session could not be stored or forgotten on this device, or there is none.
  case session(SessionFailure)
  /// The client was made without Auth.
  case withoutAuth

  /// What happened and what to do.
  public var description: String {
    switch self {
    case .auth(let failure): failure.description
    case .session(let failure): failure.description
    case .withoutAuth: "this client was made without Auth: give it a session storage to sign in"
    }
  }
}
