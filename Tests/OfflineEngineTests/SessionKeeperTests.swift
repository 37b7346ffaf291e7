import LosslessJSON
import SupabaseAPI
import Synchronization
import Testing

@testable import OfflineEngine

@Suite("The session keeper")
struct SessionKeeperTests {
  private static let user = Desk.user

  private struct Parts {
    let clock = VirtualClock()
    let storage: MemorySession
    let http: ScriptedExchange
    let keeper: SessionKeeper

    init(_ stored: Session?, _ steps: [ScriptedExchange.Step] = []) throws {
      storage = MemorySession(stored)
      http = ScriptedExchange(steps)
      let project = try Project(url: "http://scripted", key: Secret("sb_publishable_key"))
      keeper = SessionKeeper(
        user: SessionKeeperTests.user, auth: AuthClient(project: project, http: http), storage: storage, clock: clock)
    }
  }

  /// A session that ends that many seconds after the clock's first time.
  private static func ending(in seconds: Int64, mark: String = "old", user: String = user) -> Session {
    session(of: user, expiresAt: VirtualClock().now().seconds + seconds, mark: mark)
  }

  private static func answer(_ session: Session) -> ScriptedExchange.Step { .answer(200, session.json.serialized()) }

  @Test("hands out a token that lasts without asking anybody")
  func lasts() async throws {
    let stored = Self.ending(in: 3600)
    let parts = try Parts(stored)
    #expect(try await parts.keeper.token() == stored.accessToken)
    #expect(parts.http.requests.isEmpty)
  }

  @Test("refreshes a token of which little life is left, and stores the new session before it is used")
  func refreshes() async throws {
    let fresh = Self.ending(in: 3600, mark: "new")
    let parts = try Parts(Self.ending(in: 60), [Self.answer(fresh)])
    #expect(try await parts.keeper.token() == fresh.accessToken)
    #expect(parts.storage.saved == [fresh])
    #expect(parts.http.requests[0].text == #"{"refresh_token":"refresh-old"}"#)
  }

  @Test("hands out no token that it could not store")
  func notStored() async throws {
    let fresh = Self.ending(in: 3600, mark: "new")
    let parts = try Parts(Self.ending(in: -1), [Self.answer(fresh), Self.answer(fresh)])
    parts.storage.isFull = true
    await #expect {
      try await parts.keeper.token()
    } throws: { error in
      if case .storage? = error as? SessionFailure { true } else { false }
    }
    parts.storage.isFull = false
    #expect(try await parts.keeper.token() == fresh.accessToken)
    #expect(parts.http.requests.map(\.text) == Array(repeating: #"{"refresh_token":"refresh-old"}"#, count: 2))
  }

  @Test("refreshes once for many callers")
  func manyCallers() async throws {
    let fresh = Self.ending(in: 3600, mark: "new")
    let gate = Gate()
    let parts = try Parts(
      Self.ending(in: -1),
      [
        ScriptedExchange.Step { _ in
          await gate.opened()
          return HTTPResponse(status: 200, body: Array(fresh.json.serialized().utf8))
        }
      ])
    let tokens = try await withThrowingTaskGroup(of: Secret.self) { group in
      for _ in 0..<8 { group.addTask { try await parts.keeper.token() } }
      gate.open()
      return try await group.reduce(into: Set<Secret>()) { $0.insert($1) }
    }
    #expect(tokens == [fresh.accessToken])
    #expect(parts.http.requests.count == 1)
  }

  @Test("does not hand out a refused token again, and takes another caller's fresh one")
  func refused() async throws {
    let stored = Self.ending(in: 3600)
    let fresh = Self.ending(in: 7200, mark: "new")
    let parts = try Parts(stored, [Self.answer(fresh)])
    #expect(try await parts.keeper.token(replacing: stored.accessToken) == fresh.accessToken)
    #expect(try await parts.keeper.token(replacing: stored.accessToken) == fresh.accessToken)
    #expect(parts.http.requests.count == 1)
  }

  static let passing: [(String, ScriptedExchange.Step)] = [
    ("no connection", .offline), ("a lost answer", .cut), ("503", .answer(503, "")),
    ("429", .answer(429, "{}")), ("a log-in page", .answer(200, "<html>")),
    ("another refresh at work", .error(409, "conflict")),
  ]

  @Test("keeps the session through a failure that may pass", arguments: passing.map(\.0))
  func keeps(_ name: String) async throws {
    let step = try #require(Self.passing.first { $0.0 == name }?.1)
    let fresh = Self.ending(in: 3600, mark: "new")
    let parts = try Parts(Self.ending(in: -1), [step, Self.answer(fresh)])
    await #expect {
      try await parts.keeper.token()
    } throws: { error in
      if case .cannotRefresh? = error as? SessionFailure { true } else { false }
    }
    #expect(try await parts.keeper.token() == fresh.accessToken)
    #expect(parts.http.requests.map(\.text) == Array(repeating: #"{"refresh_token":"refresh-old"}"#, count: 2))
  }

  @Test("hands out the old token until it ends when a refresh fails")
  func oldTokenIsGood() async throws {
    let stored = Self.ending(in: 60)
    let parts = try Parts(stored, [.offline, .offline])
    #expect(try await parts.keeper.token() == stored.accessToken)
    parts.clock.advance(by: .seconds(61))
    await #expect(throws: SessionFailure.self) { try await parts.keeper.token() }
  }

  @Test("asks no more once the server has ended the session, until somebody signs in again")
  func ended() async throws {
    let parts = try Parts(Self.ending(in: -1), [.error(400, "refresh_token_already_used")])
    for _ in 0..<2 {
      await #expect {
        try await parts.keeper.token()
      } throws: { error in
        if case .ended? = error as? SessionFailure { true } else { false }
      }
    }
    #expect(parts.http.requests.count == 1)
    let anew = Self.ending(in: 3600, mark: "anew")
    parts.storage.replace(anew)
    #expect(try await parts.keeper.token() == anew.accessToken)
    #expect(parts.http.requests.count == 1)
  }

  @Test("takes the session that another process has stored rather than use up its old refresh token")
  func otherProcess() async throws {
    let stored = Self.ending(in: 100)
    let parts = try Parts(stored)
    #expect(try await parts.keeper.token() == stored.accessToken)
    let theirs = Self.ending(in: 3600, mark: "theirs")
    parts.storage.replace(theirs)
    parts.clock.advance(by: .seconds(50))
    #expect(try await parts.keeper.token() == theirs.accessToken)
    #expect(parts.http.requests.isEmpty)
  }

  @Test("hands out nothing of another user", arguments: [false, true])
  func otherUser(afterRefresh: Bool) async throws {
    let other = Self.ending(in: 3600, mark: "new", user: "somebody-else")
    let parts = try afterRefresh ? Parts(Self.ending(in: -1), [Self.answer(other)]) : Parts(other)
    await #expect {
      try await parts.keeper.token()
    } throws: { error in
      if case .otherUser? = error as? SessionFailure { true } else { false }
    }
    #expect(parts.storage.saved.isEmpty)
  }

  @Test("says that nobody is signed in")
  func signedOut() async throws {
    let parts = try Parts(nil)
    await #expect {
      try await parts.keeper.token()
    } throws: { error in
      if case .signedOut? = error as? SessionFailure { true } else { false }
    }
  }

  @Test("a lost answer to a refresh costs nothing: the server takes the same token again")
  func lostRefresh() async throws {
    let world = try World()
    let signedUp = try await world.signUp("a@example.com")
    let replica = try world.replica(signedUp)
    let key = key(1)
    try replica.insert(key, ["title": "x"])
    world.clock.advance(by: .seconds(3_700))
    let losses = Mutex(1)
    replica.http.after { request in
      guard request.line.hasPrefix("POST /auth/v1/token") else { return nil }
      return losses.withLock { left in
        left -= 1
        return left >= 0 ? StandInExchange.cut : nil
      }
    }
    let lost = await replica.sync()
    #expect(Counts(lost) == Counts(remaining: 1))
    #expect(lost.stoppedBy?.isConnectivity == true)
    #expect(Counts(await replica.sync()) == Counts(synced: 1))
    #expect(try world.rows().count == 1)
  }

  @Test("a device whose clock is wrong knows when its token ends after the first refresh")
  func wrongClock() async throws {
    let world = try World()
    let signedUp = try await world.signUp("a@example.com")
    // The device's clock is a day behind the server's.
    let device = VirtualClock()
    device.advance(by: .seconds(-86_400))
    let http = StandInExchange(world)
    let keeper = SessionKeeper(
      user: signedUp.user.id, auth: AuthClient(project: world.project, http: http),
      storage: MemorySession(signedUp), clock: device)
    let first = try await keeper.token(replacing: signedUp.accessToken)
    #expect(try await keeper.token() == first)
    device.advance(by: .seconds(3_550))
    world.clock.advance(by: .seconds(3_550))
    #expect(try await keeper.token() != first)
    #expect(http.requests.count == 2)
  }

  // MARK: Signing in and out

  @Test("takes a new session in place of one that the server has ended, and goes on with it")
  func replaced() async throws {
    let parts = try Parts(
      Self.ending(in: 10),
      [.answer(400, #"{"code":"refresh_token_already_used","message":"used"}"#)])
    await #expect(throws: SessionFailure.self) { _ = try await parts.keeper.token() }
    let fresh = Self.ending(in: 3600, mark: "fresh")
    try await parts.keeper.replace(with: fresh)
    #expect(try await parts.keeper.token() == fresh.accessToken)
    #expect(parts.storage.saved == [fresh])
  }

  @Test("does not take another user's session")
  func notReplaced() async throws {
    let stored = Self.ending(in: 3600)
    let parts = try Parts(stored)
    await #expect(throws: SessionFailure.self) {
      try await parts.keeper.replace(with: Self.ending(in: 3600, user: "99999999-0000-4000-8000-000000000009"))
    }
    #expect(try await parts.keeper.token() == stored.accessToken)
    #expect(parts.storage.saved.isEmpty)
  }

  @Test("signing out leaves no token, whatever the server says")
  func signsOut() async throws {
    for (steps, expected) in [
      ([ScriptedExchange.Step.answer(204, "")], SessionKeeper.SignOut.done),
      ([.answer(403, #"{"code":"session_not_found","message":"gone"}"#)], .done),
      ([.answer(500, "")], nil),
    ] as [([ScriptedExchange.Step], SessionKeeper.SignOut?)] {
      let parts = try Parts(Self.ending(in: 3600), steps)
      let outcome = try await parts.keeper.signOut(.local, mayAsk: true)
      if let expected { #expect(outcome == expected) } else { #expect(outcome != .done && outcome != .nobody) }
      #expect(parts.storage.load() == nil)
      await #expect(throws: SessionFailure.self) { _ = try await parts.keeper.token() }
      #expect(parts.http.requests.count == 1)
      #expect(try await parts.keeper.signOut(.local, mayAsk: true) == .nobody)
    }
  }

  @Test("asks nobody when nothing may be sent")
  func signsOutOffline() async throws {
    let parts = try Parts(Self.ending(in: 3600))
    #expect(try await parts.keeper.signOut(.global, mayAsk: false) == .onlyHere(reason: "network access is off"))
    #expect(parts.storage.load() == nil)
    #expect(parts.http.requests.isEmpty)
  }
}
