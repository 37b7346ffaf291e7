import LosslessJSON
import Testing

@testable import SupabaseAPI

@Suite("The Auth service") struct AuthClientTests {
  static let sessionText = """
    {"access_token":"a.b.c","token_type":"bearer","expires_in":3600,"expires_at":1796010204,\
    "refresh_token":"abcdefghij01","user":{"id":"u1","aud":"authenticated","email":"","is_anonymous":true}}
    """
  static let bareUser = #"{"id":"u1","aud":"authenticated","email":"ann@example.com","identities":[]}"#

  /// What a call throws at an answer; nil where it throws nothing.
  func failure(
    _ response: HTTPResponse, _ call: (AuthClient) async throws(AuthFailure) -> Void
  ) async throws -> AuthFailure? {
    let client = AuthClient(project: try testProject(), http: ScriptedExchange(.success(response)))
    do { try await call(client) } catch { return error }
    return nil
  }

  @Test("each call is sent as the protocol says")
  func asSent() async throws {
    let session = HTTPResponse(200, Self.sessionText)
    let exchange = ScriptedExchange(
      .success(session), .success(session), .success(session), .success(session), .success(HTTPResponse(204)),
      .success(HTTPResponse(200, Self.bareUser)), .success(HTTPResponse(200, #"{"name":"GoTrue","version":"v2"}"#)),
      .success(HTTPResponse(200, #"{"external":{"anonymous_users":true,"email":true},"mailer_autoconfirm":true}"#)))
    let client = AuthClient(project: try testProject(), http: exchange)
    let anonymous = try await client.signUpAnonymously()
    _ = try await client.signUp(email: "ann@example.com", password: Secret("correct \"horse\""))
    _ = try await client.signIn(email: "ann@example.com", password: Secret("correct horse"))
    _ = try await client.refresh(anonymous.refreshToken)
    try await client.signOut(accessToken: Secret("user-token"))
    #expect(try await client.user(accessToken: Secret("user-token")) == User(id: "u1", email: "ann@example.com"))
    #expect(try await client.health() == "v2")
    let settings = try await client.settings()
    #expect(settings.allowsAnonymous && settings.allowsEmail && settings.allowsSignUp && settings.confirmsAtOnce)
    let names = ["sign-up-anonymously", "sign-up", "sign-in", "refresh", "sign-out", "user", "health", "settings"]
    for (name, request) in zip(names, await exchange.requests) {
      _ = try request.validated()
      try expectGolden(request.asSent, "auth-\(name)")
    }
    #expect(anonymous.expiresAt == 1_796_010_204)
    #expect(anonymous.user == User(id: "u1", isAnonymous: true))
  }

  struct Refusal: Sendable, CustomTestStringConvertible {
    let name: String
    let response: HTTPResponse
    let call: AuthFailure.Call
    let kind: String
    var testDescription: String { name }

    init(_ name: String, _ status: Int, _ body: String, _ call: AuthFailure.Call, _ kind: String) {
      self.name = name
      response = HTTPResponse(status, body)
      self.call = call
      self.kind = kind
    }
  }

  static func code(_ code: String) -> String { #"{"code":"\#(code)","message":"words"}"# }

  static let refusals: [Refusal] = [
    Refusal("wrong password, current shape", 400, code("invalid_credentials"), .password, "invalidCredentials"),
    Refusal(
      "wrong password, first shape", 400, #"{"code":400,"error_code":"invalid_credentials","msg":"words"}"#, .password,
      "invalidCredentials"),
    Refusal(
      "wrong password, OAuth shape", 400, #"{"error":"invalid_grant","error_description":"words"}"#, .password,
      "invalidCredentials"),
    Refusal(
      "refresh token unknown, OAuth shape", 400, #"{"error":"invalid_grant","error_description":"words"}"#, .refresh,
      "sessionEnded"),
    Refusal("refresh token unknown", 400, code("refresh_token_not_found"), .refresh, "sessionEnded"),
    Refusal("refresh token used", 400, code("refresh_token_already_used"), .refresh, "sessionEnded"),
    Refusal("refresh token impossible", 400, code("validation_failed"), .refresh, "sessionEnded"),
    Refusal("sign-up incomplete", 400, code("validation_failed"), .signUp, "refused"),
    Refusal("session gone", 400, code("session_not_found"), .refresh, "sessionEnded"),
    Refusal("session over", 400, code("session_expired"), .refresh, "sessionEnded"),
    Refusal("banned", 400, code("user_banned"), .refresh, "sessionEnded"),
    Refusal("session deleted", 403, code("session_not_found"), .other, "sessionEnded"),
    Refusal("user deleted", 403, code("user_not_found"), .other, "sessionEnded"),
    Refusal("token expired", 403, code("bad_jwt"), .other, "tokenRefused"),
    Refusal("no token", 401, code("no_authorization"), .other, "tokenRefused"),
    Refusal("two refreshes at once", 409, code("conflict"), .refresh, "unavailable"),
    Refusal("address taken", 422, code("user_already_exists"), .signUp, "userExists"),
    Refusal("address not confirmed", 400, code("email_not_confirmed"), .password, "confirmationNeeded"),
    Refusal("no anonymous accounts", 422, code("anonymous_provider_disabled"), .signUp, "refused"),
    Refusal("too many calls", 429, code("over_request_rate_limit"), .refresh, "rateLimited"),
    Refusal("too many calls, from a proxy", 429, "<html>", .refresh, "rateLimited"),
    Refusal("service failed", 500, code("unexpected_failure"), .refresh, "unavailable"),
    Refusal("service slow", 504, code("request_timeout"), .refresh, "unavailable"),
    Refusal("proxy failed", 502, "<html>", .refresh, "unavailable"),
    Refusal("edge failed", 522, "error code: 522", .refresh, "unavailable"),
    Refusal(
      "wrong key, hosted", 401, #"{"message":"Invalid API key","hint":"Double check."}"#, .refresh, "gatewayRefused"),
    Refusal(
      "wrong key, self-hosted", 401, #"{"message":"Invalid authentication credentials"}"#, .signUp, "gatewayRefused"),
    Refusal("unknown path, hosted", 404, #"{"error":"requested path is invalid"}"#, .refresh, "notAnAnswer"),
    Refusal("unknown path, self-hosted", 404, #"{"message":"no Route matched"}"#, .refresh, "notAnAnswer"),
    Refusal("a page", 404, "<html>", .refresh, "notAnAnswer"),
    Refusal("a page with 401", 401, "<html>", .refresh, "notAnAnswer"),
    Refusal("a redirect", 302, "", .refresh, "notAnAnswer"),
  ]

  @Test("each refusal is what its code says, in whatever shape it comes", arguments: refusals)
  func refusal(_ one: Refusal) {
    let failure = AuthFailure(judging: RawAnswer(one.response), to: one.call)
    #expect("\(Mirror(reflecting: failure).children.first?.label ?? "\(failure)".caseName)" == one.kind)
  }

  @Test("only the service's word ends a session, never a gateway's, a proxy's or a silence")
  func sessionsEndOnlyByWord() {
    let ended = Self.refusals.filter { $0.kind == "sessionEnded" }
    #expect(ended.allSatisfy { $0.response.status == 400 || $0.response.status == 403 })
    #expect(!AuthFailure(judging: RawAnswer(HTTPResponse(503)), to: .refresh).description.isEmpty)
    #expect(AuthFailure(judging: RawAnswer(HTTPResponse(503)), to: .refresh).mayPass)
  }

  @Test("a weak password names what is missing, in both shapes")
  func weakPassword() {
    let reasons = #""weak_password":{"reasons":["length","pwned"]}}"#
    for body in [
      #"{"code":"weak_password","message":"m",\#(reasons)"#, #"{"code":422,"error_code":"weak_password",\#(reasons)"#,
    ] {
      let failure = AuthFailure(judging: RawAnswer(HTTPResponse(422, body)), to: .signUp)
      #expect(failure.description == "the password does not meet the project's rules (length, pwned)")
    }
  }

  @Test("a sign-up that gives a bare user waits for the mail")
  func confirmation() async throws {
    let failure = try await failure(HTTPResponse(200, Self.bareUser)) { client throws(AuthFailure) in
      _ = try await client.signUp(email: "ann@example.com", password: Secret("p"))
    }
    #expect(failure == .confirmationNeeded)
  }

  @Test(
    "a success that is no session is no answer",
    arguments: [
      "", "<html>", "{}", "[]", "null", #"{"access_token":"a","refresh_token":"","user":{"id":"u"}}"#, bareUser,
    ])
  func noSession(_ body: String) async throws {
    let failure = try await failure(HTTPResponse(200, body)) { client throws(AuthFailure) in
      _ = try await client.refresh(Secret("old"))
    }
    guard case .notAnAnswer = failure else {
      Issue.record("expected no answer, got \(String(describing: failure))")
      return
    }
    #expect(failure?.mayPass == true)
  }

  @Test("a sign-out counts as done when the session is not known", arguments: [200, 204, 401, 403, 404])
  func signedOut(_ status: Int) async throws {
    let failure = try await failure(HTTPResponse(status)) { client throws(AuthFailure) in
      try await client.signOut(accessToken: Secret("t"))
    }
    #expect(failure == nil)
  }

  @Test("a sign-out that the server could not do is told", arguments: [429, 500, 503])
  func notSignedOut(_ status: Int) async throws {
    let failure = try await failure(HTTPResponse(status)) { client throws(AuthFailure) in
      try await client.signOut(accessToken: Secret("t"))
    }
    #expect(failure?.mayPass == true)
  }

  @Test("something else than Supabase at the address is told", arguments: ["<html>", "{}", #"{"name":"nginx"}"#])
  func notSupabase(_ body: String) async throws {
    let failure = try await failure(HTTPResponse(200, body)) { client throws(AuthFailure) in
      _ = try await client.health()
    }
    guard case .notAnAnswer = failure else {
      Issue.record("expected no answer, got \(String(describing: failure))")
      return
    }
  }
}

@Suite("Sessions and tokens") struct SessionTests {
  /// `{"sub":"u1","exp":1700003600,"iat":1700000000,"role":"authenticated","is_anonymous":true,"email":""}` with a
  /// header and a signature that nobody checks.
  static let token =
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1MSIsImV4cCI6MTcwMDAwMzYwMCwiaWF0IjoxNzAwMDAwMDAwLCJyb2xlIjoiYXV0aGVudGljYXRlZCIsImlzX2Fub255bW91cyI6dHJ1ZSwiZW1haWwiOiIifQ.c2ln"

  @Test("the claims of a token are read without its signature")
  func claims() throws {
    let claims = try #require(AccessTokenClaims(Secret(Self.token)))
    #expect(claims.subject == "u1")
    #expect(claims.expiresAt == 1_700_003_600)
    #expect(claims.issuedAt == 1_700_000_000)
    #expect(claims.role == "authenticated")
    #expect(claims.isAnonymous)
    #expect(claims.email == nil)
  }

  @Test(
    "what is not a token has no claims",
    arguments: ["", "a", "a.b", "a.b.c", "sb_publishable_x", "a.e30=.c", "a.bnVsbA.c", "a.e30.c.d", "a.e3 0.c"])
  func notTokens(_ text: String) {
    #expect(AccessTokenClaims(Secret(text)) == nil)
  }

  @Test(
    "base64url is read without padding",
    arguments: [("", ""), ("Zg", "f"), ("Zm8", "fo"), ("Zm9v", "foo"), ("8J-Zgg", "🙂"), ("Pz8_", "???")])
  func base64(_ text: String, _ expected: String) {
    #expect(Base64URL.decoded(text) == Array(expected.utf8))
  }

  @Test("a session survives its file")
  func roundTrip() throws {
    let session = Session(
      accessToken: Secret(Self.token), refreshToken: Secret("r"), expiresAt: 5,
      user: User(id: "u1", email: "ann@example.com", isAnonymous: false))
    let text = session.json.serialized(.pretty)
    #expect(try Session(json: JSONValue(parsing: text)) == session)
    #expect(session.issuedAt == 1_700_000_000)
    var dumped = "\(session)"
    dump(session, to: &dumped)
    #expect(!dumped.contains(Self.token))
  }

  @Test("a session with only its tokens takes the rest from the access token")
  func tolerant() throws {
    let session = try Session(json: ["access_token": .string(Self.token), "refresh_token": "r"])
    #expect(session.expiresAt == 1_700_003_600)
    #expect(session.user == User(id: "u1", isAnonymous: true))
  }

  @Test("an end that only a lifetime tells is counted from the server's clock")
  func lifetime() throws {
    let json: JSONValue = ["access_token": "a", "refresh_token": "r", "expires_in": 3600, "user": ["id": "u"]]
    #expect(try Session(json: json, serverDate: 100).expiresAt == 3_700)
    #expect(throws: SupabaseError.self) { try Session(json: json) }
  }

  @Test(
    "a session file that is not one is told by the missing member",
    arguments: [
      ("[]", "an array"), ("{}", "access_token"), (#"{"access_token":"a"}"#, "refresh_token"),
      (#"{"access_token":"a","refresh_token":"r"}"#, "expires_at"),
      (#"{"access_token":"a","refresh_token":"r","expires_at":1}"#, "user"),
      (#"{"access_token":"a\nX: y","refresh_token":"r","expires_at":1}"#, "access_token"),
    ])
  func badSessions(_ text: String, _ named: String) throws {
    let json = try JSONValue(parsing: text)
    #expect { try Session(json: json) } throws: { "\($0)".contains(named) }
  }
}

extension String {
  /// The name of an enum's case without a value, for which a mirror has no child.
  fileprivate var caseName: String { hasPrefix("the e-mail address must be confirmed") ? "confirmationNeeded" : self }
}
