import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("No empty answer counts without proof")
struct ProofTests {
  @Test("a gone row is believed when the same token then reads a row known to be visible")
  func witness() async throws {
    let desk = try Desk([.nothing, .nothing, .rows(#"[{"id":7}]"#)])
    try desk.cacheWitness()
    try desk.delete()
    let report = await desk.sync()
    #expect(Counts(report) == Counts(synced: 1, alreadyOnServer: 1))
    #expect(desk.http.lines[2] == "GET /rest/v1/tasks?select=id&id=in.%287%29&limit=1")
    #expect(Set(desk.http.requests.map(\.bearer)).count == 1)
    desk.checkScript()
  }

  @Test("without a known row the Auth server must say whose token it is", arguments: [true, false])
  func authServer(isOwn: Bool) async throws {
    let desk = try Desk([.nothing, .nothing, .user(isOwn ? Desk.user : "somebody-else")])
    try desk.delete()
    let report = await desk.sync()
    #expect(Counts(report) == (isOwn ? Counts(synced: 1, alreadyOnServer: 1) : Counts(remaining: 1)))
    #expect(desk.http.lines[2] == "GET /auth/v1/user")
    desk.checkScript()
  }

  @Test("a server that asks to be left alone while a view is being proven is asked nothing more")
  func patience() async throws {
    let desk = try Desk([.nothing, .nothing, .error(503, "PGRST001", ["Retry-After": "3"])])
    try desk.cacheWitness()
    try desk.delete()
    let report = await UserEngine.patiently { await desk.sync() }
    #expect(Counts(report) == Counts(remaining: 1))
    #expect(desk.client.patience != nil)
    desk.checkScript()
  }

  @Test("one proof serves the whole pass under one token")
  func onceAPass() async throws {
    let desk = try Desk([.nothing, .nothing, .user(Desk.user), .nothing])
    try desk.delete()
    try desk.client.transaction { transaction in
      _ = try transaction.enqueue(
        .delete(from: "tasks", key: RowKey([43]), base: WriteBase(values: ["title": "x"], version: nil)))
    }
    let report = await desk.sync()
    #expect(Counts(report) == Counts(synced: 2, alreadyOnServer: 2))
    desk.checkScript()
  }

  static let sessions: [(String, Session)] = [
    ("a token of nobody", session(of: Desk.user, tokenOf: .some(nil))),
    ("a token of somebody else", session(of: Desk.user, tokenOf: "somebody-else")),
    ("a session of somebody else", session(of: "somebody-else")),
  ]

  @Test("nothing is sent with another token than the user's own", arguments: sessions.map(\.0))
  func ownTokenOnly(_ name: String) async throws {
    let stored = try #require(Self.sessions.first { $0.0 == name }?.1)
    let desk = try Desk(session: stored)
    try desk.delete()
    let report = await desk.sync()
    #expect(Counts(report) == Counts(remaining: 1))
    #expect(desk.http.requests.isEmpty)
    guard case .session(.otherUser)? = report.stoppedBy else {
      Issue.record("stopped by \(String(describing: report.stoppedBy))")
      return
    }
  }

  @Test("a server that loses the token on the way shows nothing, and nothing is concluded")
  func anonymousOnTheWay() async throws {
    for operation in [MutationOperation.update, .delete] {
      let desk = try Desk([.nothing, .nothing, .nothing, .error(401, "no_authorization")])
      try desk.cacheWitness()
      try desk.cache()
      if operation == .update { try desk.rename() } else { try desk.delete() }
      let report = await desk.sync()
      #expect(Counts(report) == Counts(remaining: 1))
      #expect(report.stoppedBy?.mayPass == true)
      #expect(try desk.cached?.values != nil)
      desk.checkScript()
    }
  }

  @Test("a view is proven by a visible row, else by the Auth server, else not at all")
  func viewProven() async throws {
    let desk = try Desk([
      .rows(#"[{"id":7}]"#), .nothing, .user(Desk.user), .nothing, .user("somebody-else"), .offline, .offline,
    ])
    try desk.cacheWitness()
    let token = session(of: Desk.user).accessToken
    for expected in [true, true, false, false] {
      let isProven = await desk.client.isViewProven(token, besides: Desk.key, Desk.tasks)
      #expect(isProven == expected)
    }
    desk.checkScript()
    desk.client.disableNetwork()
    let isProven = await desk.client.isViewProven(token, besides: Desk.key, Desk.tasks)
    #expect(!isProven)
    #expect(desk.http.surplus == 0)
  }

  @Test("an insert that came back empty is not refused without proof")
  func insertWithoutProof() async throws {
    let desk = try Desk([.cut, .nothing, .nothing, .error(401, "bad_jwt")])
    try desk.insert()
    _ = await desk.sync()
    let report = await desk.sync()
    #expect(Counts(report) == Counts(remaining: 1))
    desk.checkScript()
  }
}
