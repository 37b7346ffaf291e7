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
public final class SessionKeeper: Sendable {
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
  public func accessToken(replacing refused: Secret? = nil) async throws(SessionFailure) -> Secret {
    let current = try session()
    if current.accessToken != refused, secondsLeft(current) > Self.refreshMargin { return current.accessToken }
    return try await refreshing.withLock { () async throws(SessionFailure) -> Secret in
      try await refreshed(replacing: refused)
    }
  }

  /// Whether the Auth server says that the token is this user's, for an answer that nothing else can prove.
  func isTokenProven(_ token: Secret) async -> Bool {
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
    do { try storage.save(fresh) } catch { throw .storage(reason: "\(error)") }
    let skew = fresh.issuedAt.map { $0 - clock.now().seconds } ?? 0
    state.withLock { state in
      state.session = fresh
      state.skew = skew
    }
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
