import SupabaseAPI
import Testing

@testable import Daemon

@Suite("Who may sign in to a workspace") struct LoginRulesTests {
  private static func account(
    email: String? = nil, isAnonymous: Bool? = nil, isSignedIn: Bool = false, pending: Int = 0
  ) -> WorkspaceAccount {
    WorkspaceAccount(
      user: "11111111-0000-4000-8000-000000000001", email: email, isAnonymous: isAnonymous, server: "http://server",
      isSignedIn: isSignedIn, pending: pending)
  }

  @Test("takes the address that is given, else the one that is remembered")
  func address() throws {
    let known = Self.account(email: "me@example.com", isAnonymous: false)
    #expect(try LoginRules.step(known, email: nil) == .signIn(email: "me@example.com"))
    #expect(try LoginRules.step(known, email: "new@example.com") == .signIn(email: "new@example.com"))
    let anonymous = Self.account(isAnonymous: true)
    #expect(try LoginRules.step(anonymous, email: "me@example.com") == .signIn(email: "me@example.com"))
  }

  @Test("asks for an address where nobody remembers one")
  func nobodyKnows() throws {
    let error = #expect(throws: DaemonError.self) { try LoginRules.step(Self.account(), email: nil) }
    #expect(try #require(error).description.contains("--sign-in EMAIL"))
  }

  @Test("asks whether an anonymous account's session lives, and says plainly when it is lost")
  func anonymous() throws {
    #expect(try LoginRules.step(Self.account(isAnonymous: true, isSignedIn: true), email: nil) == .verify)
    let lost = Self.account(isAnonymous: true, pending: 2)
    let text = try #require(#expect(throws: DaemonError.self) { try LoginRules.step(lost, email: nil) }).description
    #expect(text.contains("nobody can sign in to it again"))
    #expect(text.contains("2 unsent changes"))
    #expect(text.contains(lost.user))
    #expect(text.contains("tidemark init --sign-up"))
  }

  @Test("lets the workspace's own user in, whatever the address, and nobody else")
  func ownUser() throws {
    let account = Self.account(email: "me@example.com", isAnonymous: false)
    try LoginRules.check(User(id: account.user, email: "renamed@example.com"), is: account)
    let other = User(id: "22222222-0000-4000-8000-000000000002", email: "you@example.com")
    let text = try #require(#expect(throws: DaemonError.self) { try LoginRules.check(other, is: account) }).description
    #expect(text.contains("belongs to me@example.com") && text.contains("you@example.com"))
    #expect(text.contains("tidemark init DIR --sign-in you@example.com"))
  }

  @Test("tells another user of a lost anonymous workspace both")
  func otherUserOfLost() throws {
    let account = Self.account(isAnonymous: true)
    let other = User(id: "22222222-0000-4000-8000-000000000002", email: "you@example.com")
    let text = try #require(#expect(throws: DaemonError.self) { try LoginRules.check(other, is: account) }).description
    #expect(text.contains("another user") && text.contains("nobody can sign in to it again"))
  }
}
