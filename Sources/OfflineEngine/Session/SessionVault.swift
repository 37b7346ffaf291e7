import SupabaseAPI
import Synchronization

/// The stored session of this process, and what is known of it: every look and every change is one step, so that a
/// refresh in flight can neither bring back a session that was signed out of nor overwrite a newer one.
final class SessionVault: Sendable {
  /// Below this much life left a token is refreshed first, in seconds.
  private static let refreshMargin: Int64 = 90

  private struct State {
    var session: Session?
    /// The server's clock minus the device's in seconds, measured when a token was issued.
    var skew: Int64 = 0
    /// The user whom the token that was looked at last and its session name: each request asks, and reading a token takes
    /// a good part of what a request does.
    var proven: (token: Secret, sessionUser: String, user: String?)?
    /// The refresh token that the server has ended, with its words.
    var ended: (refreshToken: Secret, reason: String)?
  }

  /// Lets one refresh through at a time.
  let refreshing = AsyncLock()
  private let storage: any SessionStorage
  private let clock: any EngineClock
  private let state = Mutex(State())

  init(storage: any SessionStorage, clock: any EngineClock) {
    self.storage = storage
    self.clock = clock
  }

  /// The session as last seen, read when it was not yet, or when the server has ended it.
  func session() throws(SessionFailure) -> Session {
    try state.withLock { state throws(SessionFailure) in
      if let session = state.session, state.ended == nil { return session }
      return try stored(&state)
    }
  }

  /// The session as it is stored now: somebody may sign in while this process runs.
  func stored() throws(SessionFailure) -> Session {
    try state.withLock { state throws(SessionFailure) in try stored(&state) }
  }

  private func stored(_ state: inout State) throws(SessionFailure) -> Session {
    state.session = nil
    guard let loaded = try load() else { throw .signedOut }
    if let ended = state.ended, ended.refreshToken == loaded.refreshToken { throw .ended(reason: ended.reason) }
    state.ended = nil
    state.session = loaded
    return loaded
  }

  /// The user whom both the session and the token in it name.
  func provenUser(of session: Session) -> String? {
    state.withLock { state in
      if let proven = state.proven, proven.token == session.accessToken, proven.sessionUser == session.user.id {
        return proven.user
      }
      let user = session.provenUser
      state.proven = (session.accessToken, session.user.id, user)
      return user
    }
  }

  private func load() throws(SessionFailure) -> Session? {
    do { return try storage.load() } catch { throw .storage(reason: "\(error)") }
  }

  /// Keeps a session that the server has just made.
  ///
  /// - Parameter old: The session that it was bought with; `nil` for a sign-in, which replaces any.
  /// - Returns: False, with nothing kept, when another session than `old` is stored by now.
  @discardableResult
  func keep(_ session: Session, inPlaceOf old: Session? = nil) throws(SessionFailure) -> Bool {
    try state.withLock { state throws(SessionFailure) in
      if let old, try load()?.refreshToken != old.refreshToken { return false }
      do { try storage.save(session) } catch { throw .storage(reason: "\(error)") }
      state.skew = session.issuedAt.map { Self.sane($0) - clock.now().seconds } ?? 0
      state.session = session
      state.ended = nil
      return true
    }
  }

  /// Remembers that the server has ended a session, until another one is stored.
  func noteEnded(_ session: Session, reason: String) {
    state.withLock { $0.ended = (session.refreshToken, reason) }
  }

  /// Forgets the session here.
  ///
  /// - Returns: The session that was stored, for telling the server; a file that cannot be read is forgotten like one.
  func forget() throws(SessionFailure) -> Session? {
    try state.withLock { state throws(SessionFailure) in
      let session = (try? storage.load()) ?? nil
      try clear(&state)
      return session
    }
  }

  /// Forgets the session that the server has ended, unless another one is stored by now.
  func forgetEnded() throws(SessionFailure) {
    try state.withLock { state throws(SessionFailure) in
      guard let ended = state.ended, try load()?.refreshToken == ended.refreshToken else { return }
      try clear(&state)
    }
  }

  private func clear(_ state: inout State) throws(SessionFailure) {
    do { try storage.clear() } catch { throw .storage(reason: "\(error)") }
    state.session = nil
    state.ended = nil
  }

  /// How long a session's token is good yet, in seconds; negative after its end.
  func secondsLeft(_ session: Session) -> Int64 {
    Self.sane(session.expiresAt) - clock.now().seconds - state.withLock(\.skew)
  }

  /// A time that a server gave, within bounds that no sum of times leaves.
  private static func sane(_ seconds: Int64) -> Int64 { min(max(seconds, 0), 1 << 40) }

  /// In how many seconds a session's token is to be refreshed; zero or less for now.
  func secondsUntilDue(_ session: Session) -> Int64 { secondsLeft(session) - Self.refreshMargin }

  /// Whether so little life is left that the token is refreshed before it is used.
  func isDue(_ session: Session) -> Bool { secondsUntilDue(session) <= 0 }
}
