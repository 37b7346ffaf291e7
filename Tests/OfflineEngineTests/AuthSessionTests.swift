import LosslessJSON
import SupabaseAPI
import Synchronization
import Testing

@testable import OfflineEngine

@Suite("The session of a client")
struct AuthSessionTests {
  private static let user = Desk.user
  private static let other = "99999999-0000-4000-8000-000000000009"

  private struct Parts {
    let clock = VirtualClock()
    let storage: MemorySession
    let http: ScriptedExchange
    let auth: AuthSession

    init(_ stored: Session?, _ steps: [ScriptedExchange.Step] = []) throws {
      storage = MemorySession(stored)
      http = ScriptedExchange(steps)
      auth = try AuthSessionTests.session(http, storage, clock)
    }

    func tokens(_ user: String = AuthSessionTests.user) -> any TokenSource { auth.tokens(of: user) }
    var refreshes: [String] { http.requests.filter { $0.url.contains("grant_type=refresh_token") }.map(\.text) }
  }

  private static func session(
    _ http: any HTTPExchange, _ storage: (any SessionStorage)?, _ clock: VirtualClock
  ) throws -> AuthSession {
    try AuthSession(
      project: Project(url: "http://scripted", key: Secret("sb_publishable_key")), http: http, storage: storage,
      clock: clock)
  }

  /// A session that ends that many seconds after the clock's first time.
  private static func ending(in seconds: Int64, mark: String = "old", user: String = user) -> Session {
    OfflineEngineTests.session(of: user, expiresAt: VirtualClock().now().seconds + seconds, mark: mark)
  }

  private static func answer(_ session: Session) -> ScriptedExchange.Step { .answer(200, session.json.serialized()) }

  /// An answer that comes when the gate opens, to a request that opens another when it arrives.
  private static func answer(
    _ status: Int, _ body: String, behind gate: Gate, arriving: Gate? = nil
  ) -> ScriptedExchange.Step {
    ScriptedExchange.Step { _ in
      arriving?.open()
      await gate.opened()
      return HTTPResponse(status: status, body: Array(body.utf8))
    }
  }

  private static func answer(_ session: Session, behind gate: Gate, arriving: Gate? = nil) -> ScriptedExchange.Step {
    answer(200, session.json.serialized(), behind: gate, arriving: arriving)
  }

  private static func name(_ failure: SessionFailure?) -> String {
    switch failure {
    case nil: "none"
    case .signedOut: "signed out"
    case .ended: "ended"
    case .cannotRefresh: "cannot refresh"
    case .notAccepted: "not accepted"
    case .otherUser: "other user"
    case .storage: "storage"
    }
  }

  /// The name of the failure of a call, or "none".
  private static func failure(of tokens: any TokenSource) async -> String {
    do throws(SessionFailure) {
      _ = try await tokens.accessToken()
      return name(nil)
    } catch {
      return name(error)
    }
  }

  // MARK: Restoring

  @Test("a client without Auth is settled from the start, and its requests carry the project's key")
  func withoutAuth() async throws {
    let auth = try Self.session(ScriptedExchange([]), nil, VirtualClock())
    #expect(auth.state == .withoutAuth)
    await auth.restore()
    #expect(await auth.settled(waitingAtMost: .seconds(10)) == .withoutAuth)
    #expect(try await auth.tokens(of: "").accessToken() == nil)
    #expect(await Self.failure(of: auth.tokens(of: Self.user)) == "signed out")
    await #expect(throws: SignInFailure.self) { try await auth.signIn(email: "a@example.com", password: Secret("x")) }
    await #expect(throws: SignInFailure.self) { try await auth.signOut() }
  }

  @Test("nobody is signed in when nothing is stored, without asking anybody")
  func nothingStored() async throws {
    let parts = try Parts(nil)
    #expect(parts.auth.state == .restoring(user: nil))
    await parts.auth.restore()
    #expect(parts.auth.state == .signedOut)
    #expect(parts.auth.failure == nil)
    #expect(try await parts.tokens("").accessToken() == nil)
    #expect(await Self.failure(of: parts.tokens()) == "signed out")
    #expect(parts.http.requests.isEmpty)
  }

  @Test("a stored session whose token lasts is signed in without asking anybody")
  func lasts() async throws {
    let parts = try Parts(Self.ending(in: 3600))
    await parts.auth.restore()
    #expect(parts.auth.state == .signedIn(user: Self.user))
    #expect(try await parts.tokens().accessToken() == Self.ending(in: 3600).accessToken)
    #expect(parts.http.requests.isEmpty)
  }

  @Test("the user of a session that restores is known from the disk, before any answer")
  func knownFromDisk() async throws {
    let gate = Gate()
    let fresh = Self.ending(in: 3600, mark: "new")
    let parts = try Parts(Self.ending(in: -1), [Self.answer(fresh, behind: gate)])
    var states = parts.auth.states().makeAsyncIterator()
    #expect(await states.next() == .restoring(user: nil))
    async let restored: Void = parts.auth.restore()
    #expect(await states.next() == .restoring(user: Self.user))
    #expect(!parts.auth.state.isSettled)
    gate.open()
    await restored
    #expect(await states.next() == .signedIn(user: Self.user))
    #expect(try await parts.tokens().accessToken() == fresh.accessToken)
  }

  @Test("while a session restores, nobody's requests carry the key, and another user has no token")
  func whileRestoring() async throws {
    let gate = Gate()
    let fresh = Self.ending(in: 3600, mark: "new")
    let parts = try Parts(Self.ending(in: -1), [Self.answer(fresh, behind: gate)])
    #expect(await Self.failure(of: parts.tokens()) == "cannot refresh")
    var states = parts.auth.states().makeAsyncIterator()
    _ = await states.next()
    async let restored: Void = parts.auth.restore()
    _ = await states.next()
    #expect(try await parts.tokens("").accessToken() == nil)
    #expect(await Self.failure(of: parts.tokens(Self.other)) == "other user")
    async let token = parts.tokens().accessToken()  // Waits for the refresh on its way.
    gate.open()
    #expect(try await token == fresh.accessToken)
    await restored
    #expect(parts.refreshes.count == 1)
  }

  @Test("waiting for a session to settle ends with the time, and with the answer")
  func settling() async throws {
    let gate = Gate()
    let parts = try Parts(Self.ending(in: -1), [Self.answer(Self.ending(in: 3600, mark: "new"), behind: gate)])
    async let restored: Void = parts.auth.restore()
    async let impatient = parts.auth.settled(waitingAtMost: .seconds(10))
    await parts.clock.someoneSleeps(until: parts.clock.now() + .seconds(10))
    parts.clock.advance(by: .seconds(10))
    #expect(await impatient.isSettled == false)
    async let patient = parts.auth.settled(waitingAtMost: .seconds(10))
    gate.open()
    #expect(await patient == .signedIn(user: Self.user))
    await restored
  }

  @Test("a session that cannot be read is not removed, and the reason is told")
  func unreadable() async throws {
    struct Broken: SessionStorage {
      struct Failure: Error {}
      func load() throws -> Session? { throw Failure() }
      func save(_ session: Session) throws {}
      func clear() throws { Issue.record("an unreadable session was removed") }
    }
    let auth = try Self.session(ScriptedExchange([]), Broken(), VirtualClock())
    await auth.restore()
    #expect(auth.state == .signedOut)
    #expect(Self.name(auth.failure) == "storage")
    #expect(await Self.failure(of: auth.tokens(of: Self.user)) == "storage")
  }

  // MARK: AUTH-1: only the server's word ends a session

  static let passing: [(String, ScriptedExchange.Step)] = [
    ("no connection", .offline), ("a lost answer", .cut), ("500", .answer(500, "")), ("503", .answer(503, "")),
    ("504", .error(504, "request_timeout")), ("429", .answer(429, "{}")), ("a log-in page", .answer(200, "<html>")),
    ("a redirect", .answer(302, "", ["Location": "http://portal"])),
    ("a gateway without the key", .answer(401, #"{"message":"Invalid API key"}"#)),
    ("another refresh at work", .error(409, "conflict")), ("a proxy's 407", .answer(407, "<html>")),
    ("an answer cut in half", .answer(200, #"{"access_token":"#)),
  ]

  @Test("a refresh that may work later leaves the user signed in", arguments: passing.map(\.0))
  func keeps(_ name: String) async throws {
    let step = try #require(Self.passing.first { $0.0 == name }?.1)
    let fresh = Self.ending(in: 3600, mark: "new")
    let parts = try Parts(Self.ending(in: -1), [step, step, Self.answer(fresh)])
    await parts.auth.restore()
    #expect(parts.auth.state == .signedIn(user: Self.user))
    #expect(Self.name(parts.auth.failure) == "cannot refresh")
    #expect(await Self.failure(of: parts.tokens()) == "cannot refresh")
    #expect(parts.storage.load() == Self.ending(in: -1))
    #expect(try await parts.tokens().accessToken() == fresh.accessToken)
    #expect(parts.auth.failure == nil)
    #expect(parts.storage.saved == [fresh])
  }

  static let ending = [
    "refresh_token_not_found", "refresh_token_already_used", "session_not_found", "session_expired", "user_banned",
  ]

  @Test(
    "the server's word that the session has ended signs out, and says so until somebody signs in", arguments: ending)
  func ended(_ code: String) async throws {
    let anew = Self.ending(in: 3600, mark: "anew")
    let parts = try Parts(Self.ending(in: -1), [.error(400, code), Self.answer(anew)])
    await parts.auth.restore()
    #expect(parts.auth.state == .signedOut)
    #expect(Self.name(parts.auth.failure) == "ended")
    #expect(await Self.failure(of: parts.tokens()) == "ended")
    #expect(parts.storage.load() == nil)
    #expect(try await parts.auth.signIn(email: "a@example.com", password: Secret("x")).id == Self.user)
    #expect(parts.auth.state == .signedIn(user: Self.user))
    #expect(parts.auth.failure == nil)
    #expect(try await parts.tokens().accessToken() == anew.accessToken)
  }

  @Test("a session that ended is not removed when somebody signed in again meanwhile")
  func endedButReplaced() async throws {
    let (gate, arriving) = (Gate(), Gate())
    let late = Self.answer(
      400, #"{"code":"refresh_token_already_used","message":"x"}"#, behind: gate, arriving: arriving)
    let anew = Self.ending(in: 3600, mark: "anew")
    let parts = try Parts(Self.ending(in: 60), [late, Self.answer(anew)])
    async let restored: Void = parts.auth.restore()
    await arriving.opened()
    try await parts.auth.signIn(email: "a@example.com", password: Secret("x"))
    gate.open()
    await restored
    #expect(parts.auth.state == .signedIn(user: Self.user))
    #expect(parts.storage.load() == anew)
    #expect(try await parts.tokens().accessToken() == anew.accessToken)
  }

  // MARK: AUTH-2: one refresh

  @Test("ten callers and the start share one refresh")
  func oneRefresh() async throws {
    let fresh = Self.ending(in: 3600, mark: "new")
    let gate = Gate()
    let parts = try Parts(Self.ending(in: -1), [Self.answer(fresh, behind: gate)])
    async let restored: Void = parts.auth.restore()
    var states = parts.auth.states().makeAsyncIterator()
    while await states.next() != .restoring(user: Self.user) {}
    let tokens = try await withThrowingTaskGroup(of: Secret?.self) { group in
      for _ in 0..<10 { group.addTask { try await parts.tokens().accessToken() } }
      gate.open()
      return try await group.reduce(into: Set<Secret?>()) { $0.insert($1) }
    }
    await restored
    #expect(tokens == [fresh.accessToken])
    #expect(parts.refreshes.count == 1)
  }

  @Test("a refresh whose answer was lost is repeated with the same token, and the session lives")
  func lostAnswer() async throws {
    let world = try World()
    let storage = MemorySession(try await world.signUp("a@example.com"))
    let http = StandInExchange(world)
    world.clock.advance(by: .seconds(3_700))
    let losses = Mutex(1)
    http.after { _ in
      losses.withLock { left in
        left -= 1
        return left >= 0 ? StandInExchange.cut : nil
      }
    }
    let auth = AuthSession(project: world.project, http: http, storage: storage, clock: world.clock)
    await auth.restore()
    #expect(Self.name(auth.failure) == "cannot refresh")
    let user = try #require(auth.state.user)
    #expect(try await auth.tokens(of: user).accessToken() == storage.load()?.accessToken)
    #expect(storage.saved.count == 1)
  }

  // MARK: AUTH-4: signing out

  @Test("signing out here leaves the user's other devices alone; everywhere ends them, and only their tokens go")
  func scopes() async throws {
    let world = try World()
    _ = try await world.signUp("a@example.com")
    func device() async throws -> AuthSession {
      let auth = AuthSession(
        project: world.project, http: StandInExchange(world), storage: MemorySession(), clock: world.clock)
      await auth.restore()
      try await auth.signIn(email: "a@example.com", password: Secret("secret-1"))
      return auth
    }
    let (first, second) = (try await device(), try await device())
    let user = try #require(second.state.user)
    #expect(try await first.signOut() == .done)
    #expect(first.state == .signedOut)
    world.clock.advance(by: .seconds(3_700))
    #expect(try await second.tokens(of: user).accessToken() != nil)

    let third = try await device()
    #expect(try await third.signOut(scope: .others) == .done)
    #expect(third.state == .signedIn(user: user))
    world.clock.advance(by: .seconds(3_700))
    #expect(await Self.failure(of: second.tokens(of: user)) == "ended")
    #expect(second.state == .signedOut)
    #expect(try await third.tokens(of: user).accessToken() != nil)

    try await second.signIn(email: "a@example.com", password: Secret("secret-1"))
    #expect(try await third.signOut(scope: .global) == .done)
    world.clock.advance(by: .seconds(3_700))
    #expect(await Self.failure(of: second.tokens(of: user)) == "ended")
    try await second.signIn(email: "a@example.com", password: Secret("secret-1"))
    #expect(try await second.tokens(of: user).accessToken() != nil)
  }

  @Test("signing out waits for no refresh on its way, whose answer does not bring the session back")
  func signOutDuringRefresh() async throws {
    let (gate, arriving) = (Gate(), Gate())
    let parts = try Parts(
      Self.ending(in: 60), [Self.answer(Self.ending(in: 3600, mark: "new"), behind: gate, arriving: arriving)])
    async let restored: Void = parts.auth.restore()
    await arriving.opened()
    #expect(try await parts.auth.signOut(mayAsk: false) != .nobody)
    #expect(parts.auth.state == .signedOut)
    gate.open()
    await restored
    #expect(parts.auth.state == .signedOut)
    #expect(parts.storage.load() == nil)
    #expect(await Self.failure(of: parts.tokens()) == "signed out")
  }

  @Test("a refresh of the user before does not overwrite the session of who signed in meanwhile")
  func signInDuringRefresh() async throws {
    let (gate, arriving) = (Gate(), Gate())
    let theirs = Self.ending(in: 3600, mark: "theirs", user: Self.other)
    let parts = try Parts(
      Self.ending(in: -1),
      [Self.answer(Self.ending(in: 3600, mark: "new"), behind: gate, arriving: arriving), Self.answer(theirs)])
    async let restored: Void = parts.auth.restore()
    await arriving.opened()
    async let late = Self.failure(of: parts.tokens())
    try await parts.auth.signIn(email: "b@example.com", password: Secret("x"))
    gate.open()
    await restored
    #expect(await late == "other user")
    #expect(parts.auth.state == .signedIn(user: Self.other))
    #expect(parts.storage.load() == theirs)
    #expect(await Self.failure(of: parts.tokens()) == "other user")
    #expect(try await parts.tokens(Self.other).accessToken() == theirs.accessToken)
    #expect(try await parts.tokens("").accessToken() == nil)
  }

  @Test("a sign-in that fails leaves who is signed in")
  func failedSignIn() async throws {
    let stored = Self.ending(in: 3600)
    let parts = try Parts(
      stored, [.error(400, "invalid_credentials"), Self.answer(Self.ending(in: 3600, mark: "new"))])
    await parts.auth.restore()
    await #expect(throws: SignInFailure.self) {
      try await parts.auth.signIn(email: "a@example.com", password: Secret("x"))
    }
    parts.storage.isFull = true
    await #expect(throws: SignInFailure.self) {
      try await parts.auth.signIn(email: "a@example.com", password: Secret("x"))
    }
    #expect(parts.auth.state == .signedIn(user: Self.user))
    #expect(try await parts.tokens().accessToken() == stored.accessToken)
  }

  @Test("signs up and in, anonymously too, on a real service")
  func signsIn() async throws {
    let world = try World()
    let auth = AuthSession(
      project: world.project, http: StandInExchange(world), storage: MemorySession(), clock: world.clock)
    await auth.restore()
    let user = try await auth.signUp(email: "a@example.com", password: Secret("secret-1"))
    #expect(auth.state == .signedIn(user: user.id))
    let nobody = try await auth.signInAnonymously()
    #expect(nobody.isAnonymous && nobody.id != user.id)
    #expect(auth.state == .signedIn(user: nobody.id))
    let token = try #require(try await auth.tokens(of: nobody.id).accessToken())
    #expect(await auth.tokens(of: nobody.id).isTokenProven(token))
    #expect(await auth.tokens(of: user.id).isTokenProven(token) == false)
    #expect(await auth.tokens(of: "").isTokenProven(token) == false)
  }

  // MARK: AUTH-5: killed during a refresh

  @Test("killed before the answer, after it, or after it was stored, the session works at the next start")
  func killed() async throws {
    for isStored in [false, true] {
      let world = try World()
      let signedUp = try await world.signUp("a@example.com")
      world.clock.advance(by: .seconds(3_700))
      let client = AuthClient(project: world.project, http: StandInExchange(world))
      let taken = try await client.refresh(signedUp.refreshToken)
      let storage = MemorySession(isStored ? taken : signedUp)
      world.clock.advance(by: .seconds(7_200))  // Long after the reuse interval.
      let auth = AuthSession(
        project: world.project, http: StandInExchange(world), storage: storage, clock: world.clock)
      await auth.restore()
      #expect(auth.state == .signedIn(user: signedUp.user.id))
      #expect(auth.failure == nil)
      #expect(try await auth.tokens(of: signedUp.user.id).accessToken() == storage.load()?.accessToken)
    }
  }

  // MARK: Sessions without a user's id

  static let nobodys: [(String, Session)] = [
    ("no user and a token without one", OfflineEngineTests.session(of: "", tokenOf: .some(nil))),
    ("a user and a token of another", OfflineEngineTests.session(of: user, tokenOf: other)),
    ("a user and a token without one", OfflineEngineTests.session(of: user, tokenOf: .some(nil))),
  ]

  @Test("a session that does not name one user is nobody's in particular", arguments: nobodys.map(\.0))
  func nobodyInParticular(_ name: String) async throws {
    let stored = try #require(Self.nobodys.first { $0.0 == name }?.1)
    let parts = try Parts(stored)
    await parts.auth.restore()
    #expect(parts.auth.state == .signedIn(user: nil))
    #expect(try await parts.tokens("").accessToken() == stored.accessToken)
    #expect(await parts.tokens("").isTokenProven(stored.accessToken) == false)
    #expect(await Self.failure(of: parts.tokens()) == "other user")
    #expect(await Self.failure(of: parts.tokens(Self.other)) == "other user")
    #expect(parts.http.requests.isEmpty)
  }

  // MARK: Its own task

  @Test("refreshes ahead of the end by itself, and tries a minute later when that failed")
  func ahead() async throws {
    let fresh = Self.ending(in: 7_200, mark: "new")
    let parts = try Parts(Self.ending(in: 3_600), [.offline, .offline, Self.answer(fresh)])
    let start = parts.clock.now()
    parts.auth.start()
    parts.auth.start()
    await parts.clock.someoneSleeps(until: start + .seconds(3_510))
    #expect(parts.http.requests.isEmpty)
    parts.clock.advance(by: .seconds(3_510))
    await parts.clock.someoneSleeps(until: start + .seconds(3_570))
    parts.clock.advance(by: .seconds(60))
    await parts.clock.someoneSleeps(until: start + .seconds(3_630))
    #expect(parts.auth.state == .signedIn(user: Self.user))
    #expect(parts.storage.saved.isEmpty)
    parts.clock.advance(by: .seconds(60))
    await parts.clock.someoneSleeps(until: start + .seconds(7_110))
    #expect(parts.storage.saved == [fresh])
    #expect(parts.http.requests.count == 3)
    parts.auth.stop()
  }

  @Test("waits for who signs in next after a sign-out, and stop ends every loop over the states")
  func ownTask() async throws {
    let stored = Self.ending(in: 3_600)
    let parts = try Parts(stored, [Self.answer(Self.ending(in: 1_000, mark: "second"))])
    let start = parts.clock.now()
    parts.auth.start()
    await parts.clock.someoneSleeps(until: start + .seconds(3_510))
    try await parts.auth.signOut(mayAsk: false)
    try await parts.auth.signIn(email: "a@example.com", password: Secret("x"))
    await parts.clock.someoneSleeps(until: start + .seconds(910))
    let states = parts.auth.states()
    parts.auth.stop()
    var seen: [SessionState] = []
    for await state in states { seen.append(state) }
    #expect(seen == [.signedIn(user: Self.user)])
    for await state in parts.auth.states() { #expect(state == .signedIn(user: Self.user)) }
  }

  @Test("a slow reader of the states sees the newest")
  func newest() async throws {
    let parts = try Parts(nil, [Self.answer(Self.ending(in: 3_600))])
    var states = parts.auth.states().makeAsyncIterator()
    await parts.auth.restore()
    try await parts.auth.signIn(email: "a@example.com", password: Secret("x"))
    #expect(await states.next() == .signedIn(user: Self.user))
  }

  @Test("no time that a server gives brings the arithmetic down", arguments: [Int64.min, -1, 0, Int64.max])
  func times(_ end: Int64) async throws {
    var stored = Self.ending(in: 0)
    stored.expiresAt = end
    let parts = try Parts(stored, [.offline])
    await parts.auth.restore()
    #expect(parts.auth.state == .signedIn(user: Self.user))
  }
}
