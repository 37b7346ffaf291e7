import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Auth") struct AuthTests {
  /// A request that Auth refuses.
  struct Refusal: CustomTestStringConvertible {
    let method: String
    let path: String
    let body: String?
    let status: Int
    let code: String
    var testDescription: String { "\(method) \(path) \(body ?? "") → \(status) \(code)" }
    init(_ method: String, _ path: String, _ body: String?, _ status: Int, _ code: String) {
      (self.method, self.path, self.body, self.status, self.code) = (method, path, body, status, code)
    }
  }

  static let refusals: [Refusal] = [
    Refusal("POST", "signup", "", 400, "bad_json"),
    Refusal("POST", "signup", "[]", 400, "bad_json"),
    Refusal("POST", "signup", #"{"email":7}"#, 400, "bad_json"),
    Refusal("POST", "signup", #"{"email":"nobody","password":"123456"}"#, 400, "validation_failed"),
    Refusal("POST", "signup", #"{"email":"a@b.c"}"#, 400, "validation_failed"),
    Refusal("POST", "signup", #"{"password":"123456"}"#, 400, "validation_failed"),
    Refusal("POST", "signup", #"{"email":"new@example.org","password":"12345"}"#, 422, "weak_password"),
    Refusal("POST", "signup", #"{"email":"Ann@example.org","password":"another"}"#, 422, "user_already_exists"),
    Refusal(
      "POST", "token?grant_type=password", #"{"email":"ann@example.org","password":"wrong!"}"#, 400,
      "invalid_credentials"),
    Refusal(
      "POST", "token?grant_type=password", #"{"email":"bob@example.org","password":"secret"}"#, 400,
      "invalid_credentials"),
    Refusal("POST", "token?grant_type=password", #"{"password":"secret"}"#, 400, "validation_failed"),
    Refusal("POST", "token?grant_type=magic", "{}", 400, "invalid_credentials"),
    Refusal("POST", "token", "{}", 400, "invalid_credentials"),
    Refusal("POST", "token?grant_type=refresh_token", "{}", 400, "validation_failed"),
    Refusal("POST", "token?grant_type=refresh_token", #"{"refresh_token":"short"}"#, 400, "validation_failed"),
    Refusal(
      "POST", "token?grant_type=refresh_token", #"{"refresh_token":"abcdefghijkl"}"#, 400, "refresh_token_not_found"),
    Refusal("GET", "user", nil, 401, "no_authorization"),
    Refusal("PUT", "user", "{}", 401, "no_authorization"),
    Refusal("POST", "logout", nil, 401, "no_authorization"),
    Refusal("POST", "logout?scope=everywhere", nil, 400, "validation_failed"),
  ]

  private func project() throws -> Project {
    let project = try Project()
    _ = try project.auth("POST", "signup", body: #"{"email":"ann@example.org","password":"secret"}"#)
    return project
  }

  @Test("what cannot be done is refused with its code, in both shapes of an error", arguments: refusals)
  func refusal(_ refusal: Refusal) throws {
    let project = try project()
    let current = try project.auth(refusal.method, refusal.path, body: refusal.body)
    #expect(current.status == refusal.status)
    #expect(current.json["code"] == .string(refusal.code))
    #expect(current.json["message"]?.stringValue != nil)
    #expect(current.field("X-Supabase-Api-Version") == "2024-01-01")
    let older = try project.auth(refusal.method, refusal.path, body: refusal.body, version: nil)
    #expect(older.status == refusal.status)
    #expect(older.json["error_code"] == .string(refusal.code))
    #expect(older.json["code"]?.int64Value == Int64(refusal.status))
    #expect(older.json["msg"]?.stringValue != nil)
    #expect(older.field("X-Supabase-Api-Version") == nil)
    #expect(older.field("x-sb-error-code") == refusal.code)
  }

  @Test("an anonymous sign-up gives a session whose user has no identity")
  func anonymous() throws {
    let session = try Project().signUpAnonymously()
    let user = session["user"] ?? .null
    #expect(session["token_type"] == "bearer" && session["expires_in"] == 3_600)
    #expect(session["expires_at"]?.int64Value == 1_792_332_027)
    #expect(user["is_anonymous"] == true && user["email"] == "" && user["phone"] == "")
    #expect(user["aud"] == "authenticated" && user["role"] == "authenticated")
    #expect(user["identities"] == [] && user["app_metadata"] == [:] && user["user_metadata"] == [:])
    #expect(user["created_at"] == "2026-10-18T13:00:27.486123Z")
    #expect(user.objectValue?.names.contains("email_confirmed_at") == false)
    let refresh = session.text("refresh_token")
    #expect(refresh.count == 12 && refresh.allSatisfy { $0.isLowercase || $0.isNumber })
  }

  @Test("the access token says who, for whom and until when")
  func claims() throws {
    let project = try project()
    let session = try project.auth(
      "POST", "token?grant_type=password", body: #"{"email":"ann@example.org","password":"secret"}"#
    ).json
    let parts = session.text("access_token").split(separator: ".")
    let claims = try JSONValue(parsing: try #require(Base64URL.decode(parts[1])))
    #expect(claims["sub"] == session["user"]?["id"])
    #expect(claims["aud"] == "authenticated" && claims["role"] == "authenticated")
    #expect(claims["iat"] == 1_792_328_427 && claims["exp"] == 1_792_332_027)
    #expect(claims["email"] == "ann@example.org" && claims["phone"] == "")
    #expect(claims["is_anonymous"] == false && claims["aal"] == "aal1")
    #expect(claims["amr"] == [["method": "password", "timestamp": 1_792_328_427]])
    #expect(UUIDText.normalised(claims.text("session_id")) != nil)
  }

  @Test("sign-in takes the email in any case and keeps the metadata of the sign-up")
  func password() throws {
    let project = try Project()
    let made = try project.auth(
      "POST", "signup", body: #"{"email":"Zoë@Example.org","password":"sëcret","data":{"colour":"red"}}"#
    ).json
    let session = try project.auth(
      "POST", "token?grant_type=password", body: #"{"email":"ZOË@example.ORG","password":"sëcret"}"#
    ).json
    #expect(session["user"]?["id"] == made["user"]?["id"])
    #expect(session["user"]?["user_metadata"] == ["colour": "red"])
    #expect(session["user"]?["app_metadata"] == ["provider": "email", "providers": ["email"]])
    #expect(session["user"]?["identities"]?.arrayValue?.count == 1)
    let user = try project.auth("GET", "user", token: session.text("access_token"))
    #expect(user.json == session["user"])
  }

  // MARK: Refresh tokens

  private func refresh(_ token: String, _ project: Project) throws -> Wire.Answer {
    try project.auth("POST", "token?grant_type=refresh_token", body: #"{"refresh_token":"\#(token)"}"#)
  }

  @Test("each refresh gives a new token, and the old one's child is given again to who lost the answer")
  func parentRule() throws {
    let project = try Project()
    let first = try project.signUpAnonymously().text("refresh_token")
    let second = try refresh(first, project).json.text("refresh_token")
    #expect(second != first && second.count == 12)
    project.clock.advance(seconds: 100_000)
    let again = try refresh(first, project)
    #expect(again.status == 200 && again.json.text("refresh_token") == second)
    #expect(try refresh(second, project).status == 200)
  }

  @Test("a grandparent is good for ten seconds after its revocation; afterwards its use ends the session's tokens")
  func reuse() throws {
    let project = try Project()
    let first = try project.signUpAnonymously().text("refresh_token")
    let second = try refresh(first, project).json.text("refresh_token")
    let third = try refresh(second, project).json.text("refresh_token")
    project.clock.advance(seconds: 10)
    #expect(try refresh(first, project).status == 200)
    project.clock.advance(seconds: 11)
    let late = try refresh(second, project)
    #expect(late.status == 400 && late.json["code"] == "refresh_token_already_used")
    project.clock.advance(seconds: 11)
    #expect(try refresh(third, project).json["code"] == "refresh_token_already_used")
  }

  @Test("a refresh needs no Authorization and takes no notice of an expired one")
  func expiredAuthorization() throws {
    let project = try Project()
    let session = try project.signUpAnonymously()
    project.clock.advance(seconds: 10_000)
    let answer = try project.auth(
      "POST", "token?grant_type=refresh_token", token: session.text("access_token"),
      body: #"{"refresh_token":"\#(session.text("refresh_token"))"}"#)
    #expect(answer.status == 200)
    #expect(try project.auth("GET", "user", token: answer.json.text("access_token")).status == 200)
  }

  // MARK: Signing out

  static let scopes: [(scope: String, here: Int, there: Int)] = [
    ("", 403, 403), ("?scope=global", 403, 403), ("?scope=local", 403, 200), ("?scope=others", 200, 403),
  ]

  @Test("a sign-out ends all sessions, this one, or all but this one", arguments: scopes)
  func signOut(_ scope: String, here: Int, there: Int) throws {
    let project = try project()
    let body = #"{"email":"ann@example.org","password":"secret"}"#
    let one = try project.auth("POST", "token?grant_type=password", body: body).json
    let other = try project.auth("POST", "token?grant_type=password", body: body).json
    let answer = try project.auth("POST", "logout\(scope)", token: one.text("access_token"))
    #expect(answer.status == 204 && answer.body.isEmpty)
    let mine = try project.auth("GET", "user", token: one.text("access_token"))
    #expect(mine.status == here)
    if here == 403 { #expect(mine.json["code"] == "session_not_found") }
    #expect(try project.auth("GET", "user", token: other.text("access_token")).status == there)
    // Only Auth looks sessions up: elsewhere a token is good until it ends.
    #expect(try project.rest("GET", "tasks", token: one.text("access_token")).status == 200)
    let refreshed = try refresh(one.text("refresh_token"), project)
    #expect(refreshed.status == (here == 403 ? 400 : 200))
  }

  // MARK: The user

  @Test("an anonymous user becomes a permanent one and keeps the id")
  func becomesPermanent() throws {
    let project = try Project()
    let session = try project.signUpAnonymously()
    let token = session.text("access_token")
    let alone = try project.auth("PUT", "user", token: token, body: #"{"password":"secret"}"#)
    #expect(alone.status == 422 && alone.json["code"] == "validation_failed")
    let user = try project.auth("PUT", "user", token: token, body: #"{"email":"ann@example.org","password":"secret"}"#)
    #expect(user.status == 200)
    #expect(user.json["id"] == session["user"]?["id"] && user.json["is_anonymous"] == false)
    let back = try project.auth(
      "POST", "token?grant_type=password", body: #"{"email":"ann@example.org","password":"secret"}"#)
    #expect(back.json["user"]?["id"] == session["user"]?["id"])
  }

  @Test("metadata is merged key by key, and null removes a key")
  func metadata() throws {
    let project = try Project()
    let token = try project.auth("POST", "signup", body: #"{"data":{"a":1,"b":2}}"#).json.text("access_token")
    let user = try project.auth("PUT", "user", token: token, body: #"{"data":{"a":null,"c":3}}"#)
    #expect(user.json["user_metadata"] == ["b": 2, "c": 3])
    #expect(try project.auth("PUT", "user", token: token, body: "{}").json["user_metadata"] == ["b": 2, "c": 3])
  }

  @Test("a new password ends the user's other sessions; the same one is refused")
  func newPassword() throws {
    let project = try project()
    let body = #"{"email":"ann@example.org","password":"secret"}"#
    let one = try project.auth("POST", "token?grant_type=password", body: body).json.text("access_token")
    let other = try project.auth("POST", "token?grant_type=password", body: body).json.text("access_token")
    let same = try project.auth("PUT", "user", token: one, body: #"{"password":"secret"}"#)
    #expect(same.status == 422 && same.json["code"] == "same_password")
    #expect(try project.auth("PUT", "user", token: one, body: #"{"password":"better!"}"#).status == 200)
    #expect(try project.auth("GET", "user", token: one).status == 200)
    #expect(try project.auth("GET", "user", token: other).json["code"] == "session_not_found")
    #expect(try project.auth("POST", "token?grant_type=password", body: body).status == 400)
  }

  @Test("an email of another user, and app_metadata, cannot be taken")
  func forbiddenChanges() throws {
    let project = try project()
    let token = try project.signUpAnonymously().text("access_token")
    let taken = try project.auth("PUT", "user", token: token, body: #"{"email":"ann@example.org"}"#)
    #expect(taken.status == 422 && taken.json["code"] == "email_exists")
    let admin = try project.auth("PUT", "user", token: token, body: #"{"app_metadata":{"role":"admin"}}"#)
    #expect(admin.status == 403 && admin.json["code"] == "not_admin")
  }

  @Test("health, settings and paths that are not there")
  func others() throws {
    let project = try Project()
    #expect(try project.auth("GET", "health").json["name"] == "GoTrue")
    #expect(try project.auth("GET", "settings").json["external"]?["anonymous_users"] == true)
    #expect(try project.auth("GET", "nowhere").status == 404)
    #expect(try project.auth("GET", "signup").status == 405)
  }

  @Test("a user who is gone, and a token without a user, are told apart")
  func goneUser() throws {
    let project = try Project { $0.jwtSecret = TokenTests.secret }
    let claims: JSONObject = ["sub": "11111111-1111-4111-8111-111111111111", "exp": 4_102_444_800]
    let gone = try project.auth("GET", "user", token: JSONWebToken.sign(claims, secret: TokenTests.secret))
    #expect(gone.status == 403 && gone.json["code"] == "user_not_found")
    let key = try project.auth("GET", "user", token: project.server.standIn.legacyAnonKey)
    #expect(key.status == 403 && key.json["code"] == "bad_jwt")
  }
}
