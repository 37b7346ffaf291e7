import SupabaseAPI
import Synchronization

/// Who is signed in to a client, over the stored session.
///
/// Only signing out and the server's word that a session has ended take one away: no failure of the network, of a proxy
/// or of a clock does.
public final class AuthSession: Sendable {
  /// How long the next try to refresh waits by itself after one that failed; a caller's own try does not wait.
  static let retryAfter = Duration.seconds(60)

  private struct State {
    var state: SessionState
    var failure: SessionFailure?
    /// Counts who signed in and out, so that what was begun before is not taken for news.
    var generation = 0
    var observers: [Int: AsyncStream<SessionState>.Continuation] = [:]
    var observerCount = 0
    var task: Task<Void, Never>?
    var isStopped = false
    /// Wakes the task; each has its own, so that one that was stopped takes nothing from the next.
    var wake = Wake()
  }

  private let auth: AuthClient
  private let vault: SessionVault?
  private let clock: any EngineClock
  private let executor: (any TaskExecutor)?
  /// Held while the stored session and the state change together.
  private let changing = Mutex(())
  private let current: Mutex<State>

  /// A session that nobody has read yet.
  ///
  /// - Parameters:
  ///   - storage: Where the session lives between runs; `nil` for a client without Auth.
  ///   - executor: Where the session's own task runs; `nil` for the system's threads.
  public init(
    project: Project, http: any HTTPExchange, storage: (any SessionStorage)?, clock: any EngineClock,
    executor: (any TaskExecutor)? = nil
  ) {
    auth = AuthClient(project: project, http: http)
    vault = storage.map { SessionVault(storage: $0, clock: clock) }
    self.clock = clock
    self.executor = executor
    current = Mutex(State(state: storage == nil ? .withoutAuth : .restoring(user: nil)))
  }

  // MARK: Who is signed in

  /// Who is signed in now.
  public var state: SessionState { current.withLock(\.state) }

  /// Why there is no good token now; `nil` when there is one or nothing was tried.
  ///
  /// While it is `cannotRefresh`, the user is signed in and everything but the network goes on.
  public var failure: SessionFailure? { current.withLock(\.failure) }

  /// Who is signed in: the state of now at once, then every change.
  ///
  /// A slow reader sees the newest state only; somebody who signs in again is a change, too. Ending the loop unsubscribes; `stop()` ends it.
  public func states() -> AsyncStream<SessionState> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let id = current.withLock { current in
        current.observerCount += 1
        current.observers[current.observerCount] = continuation
        continuation.yield(current.state)  // Under the lock, so that no change overtakes it.
        if current.isStopped { continuation.finish() }
        return current.observerCount
      }
      continuation.onTermination = { [weak self] _ in
        _ = self?.current.withLock { $0.observers.removeValue(forKey: id) }
      }
    }
  }

  /// The state once it is settled, or as it is when the time is over or the task is cancelled.
  public func settled(waitingAtMost limit: Duration) async -> SessionState {
    let now = state
    guard !now.isSettled else { return now }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [self] in
        for await state in states() where state.isSettled { return }
      }
      group.addTask { [clock] in try? await clock.sleep(for: limit) }
      await group.next()
      group.cancelAll()
    }
    return state
  }

  // MARK: Restoring, and a task of its own

  /// Reads the stored session and has a token ready, once: later calls find it done.
  ///
  /// The user is known as soon as the session is read. A token that has ended is refreshed first; when that does not
  /// work, the user is signed in all the same, with a token that cannot be refreshed yet.
  public func restore() async {
    guard let vault, let generation = current.withLock({ $0.state.isSettled ? nil : $0.generation }) else { return }
    let stored: Session
    do throws(SessionFailure) {
      stored = try vault.stored()
    } catch {
      let isNobody = if case .signedOut = error { true } else { false }
      change(since: generation, to: .signedOut, failure: isNobody ? nil : error)
      return
    }
    let user = stored.provenUser
    guard change(since: generation, to: .restoring(user: user)) else { return }
    _ = try? await fresh(user, vault)
    change(since: generation, to: .signedIn(user: user), failure: failure)
  }

  /// Restores the session and then refreshes its token ahead of its end, in a task of its own, until `stop()`.
  public func start() {
    current.withLock { current in
      guard current.task == nil else { return }
      current.isStopped = false
      let wake = Wake()
      current.wake = wake
      current.task = Task(executorPreference: executor) { [self] in await keepFresh(wake) }
    }
  }

  /// Ends the task and every loop over `states()`; tokens are still handed out.
  public func stop() {
    let (task, observers) = current.withLock { current in
      defer { (current.task, current.isStopped) = (nil, true) }
      return (current.task, Array(current.observers.values))
    }
    task?.cancel()
    for observer in observers { observer.finish() }
  }

  private func keepFresh(_ wake: Wake) async {
    await restore()
    guard let vault else { return }
    while !Task.isCancelled {
      guard case .signedIn(let user) = state, let session = try? vault.session() else {
        await wake.wait(upTo: nil, clock: clock)
        continue
      }
      var pause = Duration.seconds(vault.secondsUntilDue(session))
      if vault.isDue(session) {
        _ = try? await fresh(user, vault)
        guard let now = try? vault.session(), vault.isDue(now) else { continue }
        pause = Self.retryAfter
      }
      await wake.wait(upTo: pause, clock: clock)
    }
  }

  // MARK: Tokens

  /// The tokens of one user, and of nobody else: when another user is signed in there is none.
  ///
  /// The empty user is nobody: its requests carry the project's key, or the token of a session without a user's id.
  public func tokens(of user: String) -> any TokenSource { UserTokens(session: self, user: user) }

  fileprivate func token(of user: String, replacing refused: Secret?) async throws(SessionFailure) -> Secret? {
    let state = state
    guard let vault else {
      guard user.isEmpty else { throw .signedOut }
      return nil
    }
    if user.isEmpty {
      guard state == .signedIn(user: nil) else { return nil }
      return try await fresh(nil, vault, replacing: refused)
    }
    switch state {
    case .restoring(nil): throw .cannotRefresh(reason: "the stored session is being read", isConnectivity: false)
    case .restoring(user), .signedIn(user): return try await fresh(user, vault, replacing: refused)
    case .restoring, .signedIn: throw .otherUser
    case .signedOut, .withoutAuth: throw failure ?? .signedOut
    }
  }

  fileprivate func isTokenProven(_ token: Secret, of user: String) async -> Bool {
    guard !user.isEmpty, let vault else { return false }
    return await keeper(of: user, vault).isTokenProven(token)
  }

  private func keeper(of user: String?, _ vault: SessionVault) -> SessionKeeper {
    SessionKeeper(user: user, auth: auth, vault: vault)
  }

  /// A token of the user, and what having or not having one says about who is signed in.
  private func fresh(
    _ user: String?, _ vault: SessionVault, replacing refused: Secret? = nil
  ) async throws(SessionFailure) -> Secret {
    let generation = current.withLock(\.generation)
    do throws(SessionFailure) {
      let token = try await keeper(of: user, vault).token(replacing: refused)
      note(nil, since: generation)
      return token
    } catch {
      switch error {
      case .ended:
        try? vault.forgetEnded()  // What stays is known to have ended, and forgotten when it is read the next time.
        change(since: generation, to: .signedOut, failure: error)
      case .signedOut:
        change(since: generation, to: .signedOut)
      case .cannotRefresh, .notAccepted, .otherUser, .storage:
        note(error, since: generation)
      }
      throw error
    }
  }

  // MARK: Signing in and out

  /// Makes an account and signs in to it.
  ///
  /// - Throws: `AuthFailure.confirmationNeeded` where the address must be confirmed first: nobody is signed in then.
  @discardableResult
  public func signUp(email: String, password: Secret) async throws(SignInFailure) -> User {
    try await take { () async throws(AuthFailure) in try await auth.signUp(email: email, password: password) }
  }

  /// Signs in with a password, in place of whoever was signed in.
  @discardableResult
  public func signIn(email: String, password: Secret) async throws(SignInFailure) -> User {
    try await take { () async throws(AuthFailure) in try await auth.signIn(email: email, password: password) }
  }

  /// Makes an account without address and password, which is lost with its session.
  @discardableResult
  public func signInAnonymously() async throws(SignInFailure) -> User {
    try await take { () async throws(AuthFailure) in try await auth.signUpAnonymously() }
  }

  private func take(_ made: () async throws(AuthFailure) -> Session) async throws(SignInFailure) -> User {
    guard let vault else { throw .withoutAuth }
    let session: Session
    do throws(AuthFailure) { session = try await made() } catch { throw .auth(error) }
    do throws(SessionFailure) {
      try changing.withLock { _ throws(SessionFailure) in
        try vault.keep(session)
        change(to: .signedIn(user: session.provenUser))
      }
    } catch {
      throw .session(error)
    }
    return session.user
  }

  /// Signs out: the tokens are gone from this device at once, whatever the server says afterwards.
  ///
  /// - Parameters:
  ///   - scope: Which of the user's sessions the server is to end; the others' alone leaves this device signed in.
  ///   - mayAsk: Whether requests may be sent at all.
  /// - Returns: Whether the server was told.
  @discardableResult
  public func signOut(
    scope: AuthClient.SignOutScope = .local, mayAsk: Bool = true
  ) async throws(SignInFailure) -> SessionKeeper.SignOut {
    guard let vault else { throw .withoutAuth }
    do throws(SessionFailure) {
      if scope == .others { return try await keeper(of: state.user, vault).signOut(.others, mayAsk: mayAsk) }
      let forgotten = try changing.withLock { _ throws(SessionFailure) in
        let forgotten = try vault.forget()
        change(to: .signedOut)
        return forgotten
      }
      guard let forgotten else { return .nobody }
      return await keeper(of: forgotten.provenUser, vault).end(forgotten, scope, mayAsk: mayAsk)
    } catch {
      throw .session(error)
    }
  }

  // MARK: Changes

  /// Changes who is signed in.
  ///
  /// - Parameter generation: What it follows from; somebody who signed in or out since then keeps the last word.
  @discardableResult
  private func change(since generation: Int? = nil, to state: SessionState, failure: SessionFailure? = nil) -> Bool {
    current.withLock { current in
      if let generation, generation != current.generation { return false }
      if state.isSettled { current.generation += 1 }
      current.failure = failure
      current.wake.ring()
      guard current.state != state || generation == nil else { return true }
      current.state = state
      for observer in current.observers.values { observer.yield(state) }
      return true
    }
  }

  private func note(_ failure: SessionFailure?, since generation: Int) {
    current.withLock { if $0.generation == generation { $0.failure = failure } }
  }
}

/// The tokens of one user out of a session that may become another's.
private struct UserTokens: TokenSource {
  let session: AuthSession
  let user: String

  func accessToken(replacing refused: Secret?) async throws(SessionFailure) -> Secret? {
    try await session.token(of: user, replacing: refused)
  }

  func isTokenProven(_ token: Secret) async -> Bool { await session.isTokenProven(token, of: user) }
}
