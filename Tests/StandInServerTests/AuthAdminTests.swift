import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Users by the service key") struct AuthAdminTests {
  private func admin(
    _ project: Project, _ method: String, _ path: String, body: String? = nil
  ) throws -> Wire.Answer {
    try project.wire.request(
      method, "/auth/v1/\(path)",
      [("apikey", project.server.serviceKey), ("X-Supabase-Api-Version", "2024-01-01")], body: body)
  }

  private static let ann = #"{"email":"ann@example.org","password":"secret"}"#

  @Test("a user is made, found, changed and removed with all that is its own")
  func life() throws {
    let project = try Project()
    let made = try admin(
      project, "POST", "admin/users",
      body: #"{"email":"Ann@example.org","password":"secret","email_confirm":true,"user_metadata":{"a":1}}"#)
    #expect(made.status == 200 && made.json["email"] == "ann@example.org")
    let path = "admin/users/\(made.json.text("id"))"
    #expect(try admin(project, "GET", path).json == made.json)
    let session = try project.auth("POST", "token?grant_type=password", body: Self.ann).json
    let changed = try admin(
      project, "PUT", path, body: #"{"app_metadata":{"plan":"pro"},"user_metadata":{"a":null,"b":2}}"#)
    #expect(changed.json["app_metadata"] == ["provider": "email", "providers": ["email"], "plan": "pro"])
    #expect(changed.json["user_metadata"] == ["b": 2])
    #expect(try admin(project, "DELETE", path).status == 200)
    #expect(try admin(project, "GET", path).json["code"] == "user_not_found")
    #expect(try project.auth("GET", "user", token: session.text("access_token")).json["code"] == "user_not_found")
    let refreshed = try project.auth(
      "POST", "token?grant_type=refresh_token", body: #"{"refresh_token":"\#(session.text("refresh_token"))"}"#)
    #expect(refreshed.json["code"] == "refresh_token_not_found")
  }

  @Test("users are listed in pages, oldest first")
  func pages() throws {
    let project = try Project()
    var ids: [JSONValue] = []
    for _ in 0..<5 {
      ids.append(try project.signUpAnonymously()["user"]?["id"] ?? .null)
      project.clock.advance(seconds: 1)
    }
    let all = try admin(project, "GET", "admin/users?page=&per_page=")
    #expect(all.json["users"]?.arrayValue?.map { $0["id"] ?? .null } == ids)
    #expect(all.json["aud"] == "authenticated" && all.field("X-Total-Count") == "5")
    let second = try admin(project, "GET", "admin/users?page=2&per_page=2").json
    #expect(second["users"]?.arrayValue?.map { $0["id"] ?? .null } == Array(ids[2...3]))
    #expect(try admin(project, "GET", "admin/users?page=0").json["code"] == "validation_failed")
  }

  @Test("a banned user cannot sign in, refresh or ask, until the ban ends")
  func ban() throws {
    let project = try Project()
    let session = try project.auth("POST", "signup", body: Self.ann).json
    let path = "admin/users/\(session["user"]?.text("id") ?? "")"
    let banned = try admin(project, "PUT", path, body: #"{"ban_duration":"1h30m"}"#)
    #expect(banned.json["banned_until"] != nil)
    func statuses() throws -> [String] {
      let answers = [
        try project.auth("POST", "token?grant_type=password", body: Self.ann),
        try project.auth(
          "POST", "token?grant_type=refresh_token", body: #"{"refresh_token":"\#(session.text("refresh_token"))"}"#),
        try project.auth("GET", "user", token: session.text("access_token")),
      ]
      return answers.map { "\($0.status) \($0.json["code"]?.stringValue ?? "")" }
    }
    #expect(try statuses() == ["400 user_banned", "400 user_banned", "403 user_banned"])
    #expect(try admin(project, "PUT", path, body: #"{"ban_duration":"none"}"#).json["banned_until"] == nil)
    #expect(try statuses() == ["200 ", "200 ", "200 "])
    _ = try admin(project, "PUT", path, body: #"{"ban_duration":"60s"}"#)
    project.clock.advance(seconds: 60)
    #expect(try project.auth("POST", "token?grant_type=password", body: Self.ann).status == 200)
  }

  @Test("an invitation is a user who gets in with the code of the mail")
  func invitation() throws {
    let project = try Project()
    let invited = try admin(project, "POST", "invite", body: #"{"email":"bob@example.org","data":{"team":"x"}}"#)
    #expect(invited.json["invited_at"] != nil && invited.json["email_confirmed_at"] == nil)
    let mails = try project.wire.request("GET", "/stand-in/mails", [("apikey", project.server.serviceKey)])
    let code = mails.json.arrayValue?.last?.text("token_hash") ?? ""
    let session = try project.auth("POST", "verify", body: #"{"type":"invite","token_hash":"\#(code)"}"#)
    #expect(session.json["user"]?["id"] == invited.json["id"])
    #expect(session.json["user"]?["user_metadata"] == ["team": "x"])
    let again = try admin(project, "POST", "invite", body: #"{"email":"bob@example.org"}"#)
    #expect(again.status == 422 && again.json["code"] == "email_exists")
  }

  static let links: [(type: String, body: String)] = [
    ("signup", #""email":"new@example.org","password":"secret""#), ("invite", #""email":"new@example.org""#),
    ("magiclink", #""email":"new@example.org""#), ("recovery", #""email":"ann@example.org""#),
    ("email_change_new", #""email":"ann@example.org","new_email":"new@example.org""#),
  ]

  @Test("a link is given to whoever sends the project's mails, and signs its user in", arguments: links)
  func link(_ type: String, body: String) throws {
    let project = try Project()
    _ = try project.auth("POST", "signup", body: Self.ann)
    let made = try admin(
      project, "POST", "admin/generate_link?redirect_to=http%3A%2F%2Flocalhost%3A1%2Fx",
      body: #"{"type":"\#(type)",\#(body)}"#)
    #expect(made.status == 200 && made.json["verification_type"] == .string(type))
    #expect(made.json["redirect_to"] == "http://localhost:1/x" && made.json.text("email_otp").count == 6)
    let link = made.json.text("action_link")
    #expect(link.contains(made.json.text("hashed_token")))
    #expect(link.contains("type=recovery&") == (type == "recovery"))
    let target = link.replacing("http://localhost/", with: "/")
    let followed = try project.wire.request("GET", target).field("Location") ?? ""
    #expect(followed.hasPrefix("http://localhost:1/x#access_token="))
    let token = followed.split(separator: "=")[1].split(separator: "&")[0]
    let user = try project.auth("GET", "user", token: String(token)).json
    #expect(user["id"] == made.json["id"] && user["email_confirmed_at"] != nil)
    #expect(user["email"] == (type == "recovery" ? "ann@example.org" : "new@example.org"))
    // Nothing is sent.
    #expect(try project.wire.request("GET", "/stand-in/mails", [("apikey", project.server.serviceKey)]).text == "[]")
  }

  static let paths: [(method: String, path: String)] = [
    ("POST", "admin/generate_link"),
    ("GET", "admin/users"), ("POST", "admin/users"), ("DELETE", "admin/users/11111111-1111-4111-8111-111111111111"),
    ("POST", "invite"),
  ]

  @Test("nobody else may do any of it", arguments: paths)
  func forbidden(_ method: String, path: String) throws {
    let project = try Project()
    let user = try project.signUpAnonymously().text("access_token")
    for token in [nil, user, project.server.standIn.legacyAnonKey] {
      let answer = try project.auth(method, path, token: token, body: "{}")
      #expect(answer.status == 403 && answer.json["code"] == "not_admin")
    }
    let forged = try project.auth(method, path, token: "a.b.c", body: "{}")
    #expect(forged.status == 403 && forged.json["code"] == "bad_jwt")
  }

  static let refusals: [(method: String, path: String, body: String, status: Int, code: String)] = [
    ("POST", "admin/users", "{}", 400, "validation_failed"),
    ("POST", "admin/users", #"{"email":"x"}"#, 400, "validation_failed"),
    ("POST", "admin/users", #"{"email":"a@b.c","id":"x"}"#, 400, "validation_failed"),
    ("POST", "admin/users", #"{"email":"a@b.c","password":"short"}"#, 422, "weak_password"),
    ("POST", "admin/users", #"{"email":"a@b.c","ban_duration":"5x"}"#, 400, "validation_failed"),
    ("POST", "admin/users", #"{"email":"a@b.c","ban_duration":"99999999999999h"}"#, 400, "validation_failed"),
    ("POST", "admin/users", #"{"email":"ann@example.org"}"#, 422, "email_exists"),
    ("GET", "admin/users/x", "", 404, "validation_failed"),
    ("PUT", "admin/users/11111111-1111-4111-8111-111111111111", "{}", 404, "user_not_found"),
    ("POST", "invite", "{}", 400, "validation_failed"),
    ("POST", "admin/generate_link", #"{"type":"recovery","email":"nobody@example.org"}"#, 404, "user_not_found"),
    ("POST", "admin/generate_link", #"{"type":"signup","email":"a@b.c"}"#, 400, "validation_failed"),
    ("POST", "admin/generate_link", #"{"type":"invite","email":"ann@example.org"}"#, 422, "email_exists"),
    ("POST", "admin/generate_link", #"{"type":"x","email":"ann@example.org"}"#, 400, "validation_failed"),
    (
      "POST", "admin/generate_link", #"{"type":"email_change_new","email":"ann@example.org"}"#, 400, "validation_failed"
    ),
  ]

  @Test("what cannot be done is refused with its code", arguments: refusals)
  func refusal(_ method: String, path: String, body: String, status: Int, code: String) throws {
    let project = try Project()
    _ = try project.auth("POST", "signup", body: Self.ann)
    let answer = try admin(project, method, path, body: body)
    #expect(answer.status == status && answer.json["code"] == .string(code))
  }
}
