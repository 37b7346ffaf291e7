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
  /// Below this much life left a token is refreshed first.
  private static let refreshMargin: Int64 = 90

  private let auth: AuthClient
  private let storage: any SessionStorage
  private let clock: any EngineClock
  private let user: String
  private let refreshing = AsyncLock()
  private let state = Mutex(State())

  private struct State {
    var session: Session?
    /// The server's clock minus the device's in seconds, measured when a token was issued.
    var skew: Int64 = 0
    /// The refresh token that the server has ended, with its words.
    var ended: (refreshToken: Secret, reason: String)?
  }

  /// Keeps the session of `user`, and hands out nobody else's.
  public init(user: String, auth: AuthClient, storage: any SessionStorage, clock: any EngineClock) {
    self.user = user
    self.auth = auth
    self.storage = storage
    self.clock = clock
  }

  /// A token of the user that is expected to be accepted now.
  ///
  /// - Parameter refused: A token that the server has just refused; it is not handed out again.
  /// - Throws: `SessionFailure` when there is none.
  public func token(replacing refused: Secret? = nil) async throws(SessionFailure) -> Secret {
    let current = try session()
    if current.accessToken != refused, secondsLeft(current) > Self.refreshMargin { return current.accessToken }
    return try await refreshing.withLock { () async throws(SessionFailure) -> Secret in
      try await refreshed(replacing: refused)
    }
  }

  /// A token of the user, never `nil`.
  public func accessToken(replacing refused: Secret?) async throws(SessionFailure) -> Secret? {
    try await token(replacing: refused)
  }

  // MARK: Signing in and out

  /// Takes a session that somebody has just signed in for, in place of the one before.
  ///
  /// - Throws: `SessionFailure.otherUser` when it is not this keeper's user's; nothing is changed then.
  public func replace(with session: Session) async throws(SessionFailure) {
    guard isOurs(session) else { throw .otherUser }
    try await refreshing.withLock { () async throws(SessionFailure) in
      try keep(session)
      state.withLock { $0.ended = nil }
    }
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
  /// Whatever the server says, no token is left here afterwards: a sign-out must work without a network.
  ///
  /// - Parameters:
  ///   - scope: Which of the user's sessions the server is to end.
  ///   - mayAsk: Whether requests may be sent at all.
  public func signOut(_ scope: AuthClient.SignOutScope, mayAsk: Bool) async throws(SessionFailure) -> SignOut {
    try await refreshing.withLock { () async throws(SessionFailure) -> SignOut in
      let current: Session?
      // A file that cannot be read as a session is forgotten like one.
      do { current = try storage.load() } catch { current = nil }
      do { try storage.clear() } catch { throw .storage(reason: "\(error)") }
      state.withLock { state in
        state.session = nil
        state.ended = nil
      }
      guard let current else { return .nobody }
      guard mayAsk else { return .onlyHere(reason: "network access is off") }
      do throws(AuthFailure) {
        // The server takes a sign-out from a token that has not expired only (protocol sheet auth, section 8).
        let token =
          secondsLeft(current) > 0 ? current.accessToken : try await auth.refresh(current.refreshToken).accessToken
        try await auth.signOut(scope: scope, accessToken: token)
        return .done
      } catch .sessionEnded {
        return .done
      } catch {
        return .onlyHere(reason: "\(error)")
      }
    }
  }

  /// Asks the server whether the session lives.
  ///
  /// - Throws: `SessionFailure.ended` when it does not; anything else leaves it open.
  public func verify() async throws(SessionFailure) {
    let token = try await token()
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

  private func keep(_ session: Session) throws(SessionFailure) {
    do { try storage.save(session) } catch { throw .storage(reason: "\(error)") }
    let skew = session.issuedAt.map { $0 - clock.now().seconds } ?? 0
    state.withLock { state in
      state.session = session
      state.skew = skew
    }
  }

  /// Whether the Auth server says that the token is this user's, for an answer that nothing else can prove.
  public func isTokenProven(_ token: Secret) async -> Bool {
    (try? await auth.user(accessToken: token))?.id == user
  }

  private func refreshed(replacing refused: Secret?) async throws(SessionFailure) -> Secret {
    var current = try session()  // Another caller may have refreshed while this one waited.
    if current.accessToken != refused, secondsLeft(current) > Self.refreshMargin { return current.accessToken }
    // Another process may have signed in anew or refreshed; sending a token that it has used up would end the session.
    current = try stored()
    if current.accessToken != refused, secondsLeft(current) > Self.refreshMargin { return current.accessToken }
    let fresh: Session
    do {
      fresh = try await auth.refresh(current.refreshToken)
    } catch {
      if case .sessionEnded = error {
        state.withLock { $0.ended = (current.refreshToken, "\(error)") }
        throw .ended(reason: "\(error)")
      }
      // The old token is good until it expires, whatever keeps the refresh from working.
      if current.accessToken != refused, secondsLeft(current) > 0 { return current.accessToken }
      throw .cannotRefresh(reason: "\(error)", isConnectivity: error.isConnectivity)
    }
    guard isOurs(fresh) else { throw .otherUser }
    try keep(fresh)
    return fresh.accessToken
  }

  private func session() throws(SessionFailure) -> Session {
    let (cached, hasEnded) = state.withLock { ($0.session, $0.ended != nil) }
    if let cached, !hasEnded { return cached }
    return try stored()
  }

  /// The session as it is stored now: somebody may sign in while this process runs.
  private func stored() throws(SessionFailure) -> Session {
    let loaded: Session?
    do { loaded = try storage.load() } catch { throw .storage(reason: "\(error)") }
    guard let loaded else { throw .signedOut }
    guard isOurs(loaded) else { throw .otherUser }
    let ended = state.withLock { state -> String? in
      if let ended = state.ended, ended.refreshToken == loaded.refreshToken { return ended.reason }
      state.ended = nil
      state.session = loaded
      return nil
    }
    if let ended { throw .ended(reason: ended) }
    return loaded
  }

  /// Whether a session and the token in it are this user's: a token without a user is answered with empty lists.
  private func isOurs(_ session: Session) -> Bool {
    session.user.id == user && session.claims?.subject == user
  }

  private func secondsLeft(_ session: Session) -> Int64 {
    session.expiresAt - clock.now().seconds - state.withLock(\.skew)
  }
}
