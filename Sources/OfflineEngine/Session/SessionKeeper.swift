import SupabaseAPI
import Synchronization

/// Where the session lives between runs.
public protocol SessionStorage: Sendable {
  /// The stored session, or `nil` when nobody is signed in.
  func load() throws -> Session?
  /// Keeps a session durably before it returns.
  func save(_ session: Session) throws
  /// Forgets the session.
  func clear() throws
}

/// Why no request can be sent as the user.
public enum SessionFailure: Error, Sendable, CustomStringConvertible {
  /// Nobody is signed in.
  case signedOut
  /// The server ended the session; only signing in again helps.
  case ended(reason: String)
  /// The access token has expired and cannot be refreshed now; it may work later.
  case cannotRefresh(reason: String, isConnectivity: Bool)
  /// The server did not take a token that should be good.
  case notAccepted(reason: String)
  /// The stored session belongs to somebody else than this state.
  case otherUser
  /// The session could not be read or stored on this device.
  case storage(reason: String)

  /// What happened and what to do.
  public var description: String {
    switch self {
    case .signedOut: "nobody is signed in; run 'tidemark login'"
    case .ended(let reason): "the server ended the session (\(reason)); sign in again with 'tidemark login'"
    case .cannotRefresh(let reason, _): "signed in, but the access token cannot be refreshed yet: \(reason)"
    case .notAccepted(let reason):
      "the server took the request for nobody's or refused its token (\(reason)); check the project's URL and key, "
        + "then sign in again with 'tidemark login'"
    case .otherUser: "the stored session belongs to another user than this workspace; sign in as its own user"
    case .storage(let reason): "the session could not be read or stored: \(reason)"
    }
  }
}

/// Hands out access tokens of one user and keeps them fresh: one refresh at a time, stored before it is used
/// (protocol sheet auth, sections 5 and 7).
public final class SessionKeeper: TokenSource {
  private let auth: AuthClient
  private let vault: SessionVault
  private let user: String?

  /// Keeps the session of `user`, and hands out nobody else's.
  public convenience init(user: String, auth: AuthClient, storage: any SessionStorage, clock: any EngineClock) {
    self.init(user: user, auth: auth, vault: SessionVault(storage: storage, clock: clock))
  }

  /// Keeps the session of `user`, or one without a user's id, in a vault that others use too.
  init(user: String?, auth: AuthClient, vault: SessionVault) {
    self.user = user
    self.auth = auth
    self.vault = vault
  }

  /// A token of the user that is expected to be accepted now.
  ///
  /// - Parameter refused: A token that the server has just refused; it is not handed out again.
  /// - Throws: `SessionFailure` when there is none.
  public func token(replacing refused: Secret? = nil) async throws(SessionFailure) -> Secret {
    let current = try current()
    if isGood(current, besides: refused) { return current.accessToken }
    return try await vault.refreshing.withLock { () async throws(SessionFailure) -> Secret in
      try await refreshed(replacing: refused)
    }
  }

  /// A token of the user, never `nil`.
  public func accessToken(replacing refused: Secret?) async throws(SessionFailure) -> Secret? {
    try await token(replacing: refused)
  }

  // MARK: Signing in and out

  /// Takes what somebody has just put into the storage, in place of the session before.
  ///
  /// - Throws: `SessionFailure.otherUser` when it is not this keeper's user's.
  public func reread() throws(SessionFailure) { _ = try ours(vault.stored()) }

  /// Takes a session that somebody has just signed in for, in place of the one before.
  ///
  /// - Throws: `SessionFailure.otherUser` when it is not this keeper's user's; nothing is changed then.
  public func replace(with session: Session) async throws(SessionFailure) {
    try vault.keep(ours(session))
  }

  /// What became of a sign-out.
  public enum SignOut: Sendable, Hashable {
    /// Nobody was signed in.
    case nobody
    /// The session is gone here and at the server.
    case done
    /// The session is gone here; the server was not told, for this reason.
    case onlyHere(reason: String)
  }

  /// Forgets the session on this device, and ends it at the server where that can be done now.
  ///
  /// Whatever the server says, no token is left here afterwards, and nothing is waited for before: a sign-out must work
  /// without a network. Only a sign-out of the other devices leaves this one as it is.
  ///
  /// - Parameters:
  ///   - scope: Which of the user's sessions the server is to end.
  ///   - mayAsk: Whether requests may be sent at all.
  public func signOut(_ scope: AuthClient.SignOutScope, mayAsk: Bool) async throws(SessionFailure) -> SignOut {
    if scope == .others { return try await signOutOthers(mayAsk: mayAsk) }
    guard let forgotten = try vault.forget() else { return .nobody }
    return await end(forgotten, scope, mayAsk: mayAsk)
  }

  private func signOutOthers(mayAsk: Bool) async throws(SessionFailure) -> SignOut {
    guard mayAsk else { return .onlyHere(reason: Self.accessIsOff) }
    let token = try await token()
    do throws(AuthFailure) {
      try await auth.signOut(scope: .others, accessToken: token)
      return .done
    } catch {
      return .onlyHere(reason: "\(error)")
    }
  }

  /// Ends a session, which is gone here already, at the server.
  func end(_ session: Session, _ scope: AuthClient.SignOutScope, mayAsk: Bool) async -> SignOut {
    guard !session.isReady else { return .onlyHere(reason: "its token was made elsewhere, and ends there") }
    guard mayAsk else { return .onlyHere(reason: Self.accessIsOff) }
    do throws(AuthFailure) {
      // The server takes a sign-out from a token that has not expired only (protocol sheet auth, section 8).
      let token =
        vault.secondsLeft(session) > 0
        ? session.accessToken : try await auth.refresh(session.refreshToken).accessToken
      try await auth.signOut(scope: scope, accessToken: token)
      return .done
    } catch .sessionEnded {
      return .done
    } catch {
      return .onlyHere(reason: "\(error)")
    }
  }

  private static let accessIsOff = "network access is off"

  // MARK: Asking the server

  /// Asks the server whether the session lives.
  ///
  /// - Throws: `SessionFailure.ended` when it does not; anything else leaves it open.
  public func verify() async throws(SessionFailure) {
    let token = try await token()
    guard auth.project.services.auth != nil else { return }  // PostgREST itself judges it, at the first request.
    do {
      guard try await auth.user(accessToken: token).id == user else { throw SessionFailure.otherUser }
    } catch let error as AuthFailure {
      if case .sessionEnded = error { throw .ended(reason: "\(error)") }
      throw .cannotRefresh(reason: "\(error)", isConnectivity: error.isConnectivity)
    } catch let error as SessionFailure {
      throw error
    } catch {
      throw .cannotRefresh(reason: "\(error)", isConnectivity: false)
    }
  }

  /// Whether the Auth server says that the token is this user's, for an answer that nothing else can prove.
  public func isTokenProven(_ token: Secret) async -> Bool {
    guard let user else { return false }
    // A PostgREST alone answers nobody whose token it has not verified, in the role that the token names.
    if auth.project.services.auth == nil {
      guard let claims = AccessTokenClaims(token) else { return false }
      return claims.subject == user && claims.isOfUser
    }
    return (try? await auth.user(accessToken: token))?.id == user
  }

  private func refreshed(replacing refused: Secret?) async throws(SessionFailure) -> Secret {
    var current = try current()  // Another caller may have refreshed while this one waited.
    if isGood(current, besides: refused) { return current.accessToken }
    // Another process may have signed in anew or refreshed; sending a token that it has used up would end the session.
    current = try ours(vault.stored())
    if isGood(current, besides: refused) { return current.accessToken }
    guard !current.isReady else {
      guard current.accessToken != refused else {
        throw .notAccepted(reason: "the server refuses the token that is kept ready for this user")
      }
      guard vault.secondsLeft(current) <= 0 else { return current.accessToken }
      throw .cannotRefresh(reason: "it has ended, and no newer one is kept ready in its place", isConnectivity: false)
    }
    let fresh: Session
    do {
      fresh = try await auth.refresh(current.refreshToken)
    } catch {
      if case .sessionEnded = error {
        vault.noteEnded(current, reason: "\(error)")
        throw .ended(reason: "\(error)")
      }
      // The old token is good until it expires, whatever keeps the refresh from working.
      if current.accessToken != refused, vault.secondsLeft(current) > 0 { return current.accessToken }
      throw .cannotRefresh(reason: "\(error)", isConnectivity: error.isConnectivity)
    }
    if try vault.keep(ours(fresh), inPlaceOf: current) { return fresh.accessToken }
    // Somebody signed in or out meanwhile: that is newer than what was asked for before it.
    let newer = try ours(vault.stored())
    guard newer.accessToken != refused, vault.secondsLeft(newer) > 0 else {
      throw .cannotRefresh(reason: "the session was replaced during the refresh", isConnectivity: false)
    }
    return newer.accessToken
  }

  /// The session as last seen; read again when that was another user's, since its own may be back.
  private func current() throws(SessionFailure) -> Session {
    let session = try vault.session()
    return vault.provenUser(of: session) == user ? session : try ours(vault.stored())
  }

  /// The session, if it and the token in it are this keeper's user's.
  private func ours(_ session: Session) throws(SessionFailure) -> Session {
    guard session.provenUser == user else { throw .otherUser }
    return session
  }

  private func isGood(_ session: Session, besides refused: Secret?) -> Bool {
    session.accessToken != refused && !vault.isDue(session)
  }
}

extension Session {
  /// Whether its token is made elsewhere and only kept ready here: nothing renews it.
  var isReady: Bool { refreshToken.revealed.isEmpty }

  /// The user whom both the session and the token in it name: a token without a user is answered with empty lists.
  var provenUser: String? { user.id.isEmpty || claims?.subject != user.id ? nil : user.id }
}
