import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("What Auth's answers look like") struct AuthShapeTests {
  private static let ann = #"{"email":"ann@example.org","password":"secret"}"#

  /// Where in a value there is a null.
  private func nulls(_ value: JSONValue, at path: String = "") -> [String] {
    if value.isNull { return [path] }
    if let object = value.objectValue { return object.flatMap { nulls($0.value, at: "\(path).\($0.name)") } }
    return value.arrayValue?.enumerated().flatMap { nulls($0.element, at: "\(path)[\($0.offset)]") } ?? []
  }

  private static let sessionNames = [
    "access_token", "token_type", "expires_in", "expires_at", "refresh_token", "user",
  ]

  @Test("a session has its members and no other, whichever call gives it, and nothing in it is null")
  func session() throws {
    let project = try Project()
    let anonymous = try project.signUpAnonymously()
    let sessions = [
      anonymous, try project.auth("POST", "signup", body: Self.ann).json,
      try project.auth("POST", "token?grant_type=password", body: Self.ann).json,
      try project.auth(
        "POST", "token?grant_type=refresh_token", body: #"{"refresh_token":"\#(anonymous.text("refresh_token"))"}"#
      ).json,
    ]
    for session in sessions {
      #expect(session.objectValue?.names == Self.sessionNames)
      #expect(nulls(session) == [])
    }
  }

  @Test("a user has what clients rely on; what is not set is left out")
  func user() throws {
    let project = try Project()
    let always = [
      "id", "aud", "role", "email", "phone", "app_metadata", "user_metadata", "identities", "created_at", "updated_at",
      "is_anonymous",
    ]
    let anonymous = try project.signUpAnonymously()["user"] ?? .null
    #expect(Set(anonymous.objectValue?.names ?? []) == Set(always + ["last_sign_in_at"]))
    let ann = try project.auth("POST", "signup", body: Self.ann).json["user"] ?? .null
    #expect(
      Set(ann.objectValue?.names ?? [])
        == Set(always + ["last_sign_in_at", "email_confirmed_at", "confirmed_at"]))
    for name in ["created_at", "updated_at", "last_sign_in_at", "email_confirmed_at", "confirmed_at"] {
      #expect(ann.text(name) == "2026-10-18T13:00:27.486123Z", "\(name)")
    }
    let identity = try #require(ann["identities"]?.arrayValue?.first)
    #expect(identity["id"] == ann["id"] && identity["user_id"] == ann["id"] && identity["identity_id"] != ann["id"])
    #expect(UUIDText.normalised(identity.text("identity_id")) != nil)
    #expect(identity["provider"] == "email" && identity["email"] == "ann@example.org")
    #expect(
      identity["identity_data"]
        == ["email": "ann@example.org", "email_verified": true, "phone_verified": false, "sub": ann["id"] ?? .null])
  }

  @Test("the access token has every claim, in the types that other services read")
  func claims() throws {
    let project = try Project()
    let session = try project.auth("POST", "signup", body: #"{"data":{"a":1}}"#).json
    let parts = session.text("access_token").split(separator: ".")
    let claims = try JSONValue(parsing: try #require(Base64URL.decode(parts[1])))
    #expect(
      Set(claims.objectValue?.names ?? [])
        == [
          "iss", "sub", "aud", "exp", "iat", "email", "phone", "app_metadata", "user_metadata", "role", "aal", "amr",
          "session_id", "is_anonymous",
        ])
    #expect(claims["iss"] == .string("http://localhost/auth/v1"))
    #expect(claims["aud"] == "authenticated" && claims["email"] == "" && claims["user_metadata"] == ["a": 1])
    #expect(nulls(claims) == [])
  }

  // MARK: Errors

  static let versions: [(version: String?, isCurrent: Bool)] = [
    ("2024-01-01", true), ("2024-06-30", true), ("2031-12-31", true), ("2023-12-31", false), ("2024-1-1", false),
    ("2024-13-01", false), ("today", false), ("", false), (nil, false),
  ]

  @Test("an error has the shape of the version that the request asks for", arguments: versions)
  func version(_ version: String?, isCurrent: Bool) throws {
    let project = try Project()
    let answer = try project.auth("POST", "signup", body: #"{"email":"a@b.c","password":"short"}"#, version: version)
    #expect(answer.status == 422 && answer.field("x-sb-error-code") == "weak_password")
    #expect(answer.field("X-Supabase-Api-Version") == (isCurrent ? "2024-01-01" : nil))
    let names = isCurrent ? ["code", "message", "weak_password"] : ["code", "error_code", "msg", "weak_password"]
    #expect(answer.json.objectValue?.names == names)
    #expect(answer.json["weak_password"] == ["reasons": ["length"]])
    #expect(isCurrent ? answer.json["code"] == "weak_password" : answer.json["code"] == 422)
    // Answers that are no error say nothing of versions.
    let good = try project.auth("GET", "health", version: version)
    #expect(good.status == 200 && good.field("X-Supabase-Api-Version") == nil && good.field("x-sb-error-code") == nil)
  }

  @Test("a body over a mebibyte is refused in Auth's words, one below it is read")
  func bodyLimit() throws {
    let project = try Project()
    let padding = String(repeating: "x", count: (1 << 20) - 20)
    #expect(try project.auth("POST", "signup", body: #"{"data":{"a":"\#(padding)"}}"#).status == 200)
    let large = try project.auth("POST", "signup", body: #"{"data":{"a":"\#(padding)123456789"}}"#)
    #expect(large.status == 413 && large.json["code"] == "request_entity_too_large")
  }

  @Test("signing up and in takes no notice of the token that came along")
  func strayToken() throws {
    let project = try Project()
    for token in ["nonsense", "a.b.c", ""] {
      #expect(try project.auth("POST", "signup", token: token, body: "{}").status == 200)
    }
    _ = try project.auth("POST", "signup", body: Self.ann)
    #expect(try project.auth("POST", "token?grant_type=password", token: "a.b.c", body: Self.ann).status == 200)
  }

  static let authorizations: [(field: String?, status: Int, code: String)] = [
    (nil, 401, "no_authorization"), ("", 401, "no_authorization"), ("Bearer", 401, "no_authorization"),
    ("Bearer ", 401, "no_authorization"), ("Basic abc", 401, "no_authorization"), ("Bearer x", 403, "bad_jwt"),
    ("bearer a.b.c", 403, "bad_jwt"),
  ]

  @Test("a call that needs a user says what is wrong with the token", arguments: authorizations)
  func authorization(_ field: String?, status: Int, code: String) throws {
    let project = try Project()
    let fields = [("apikey", project.server.publishableKey), ("X-Supabase-Api-Version", "2024-01-01")]
    for (method, path) in [("GET", "user"), ("PUT", "user"), ("POST", "logout"), ("GET", "reauthenticate")] {
      let answer = try project.wire.request(
        method, "/auth/v1/\(path)", fields + (field.map { [("Authorization", $0)] } ?? []), body: "{}")
      #expect(answer.status == status && answer.json["code"] == .string(code), "\(method) \(path)")
    }
  }

  @Test("a session whose token was used twice keeps its row: its access token is good until it ends")
  func reusedSession() throws {
    let project = try Project()
    let session = try project.signUpAnonymously()
    var tokens = [session.text("refresh_token")]
    for _ in 0..<2 {
      let answer = try project.auth(
        "POST", "token?grant_type=refresh_token", body: #"{"refresh_token":"\#(tokens.last ?? "")"}"#)
      tokens.append(answer.json.text("refresh_token"))
    }
    project.clock.advance(seconds: 11)
    let reused = try project.auth(
      "POST", "token?grant_type=refresh_token", body: #"{"refresh_token":"\#(tokens[0])"}"#)
    #expect(reused.json["code"] == "refresh_token_already_used")
    #expect(try project.auth("GET", "user", token: session.text("access_token")).status == 200)
  }

  @Test("passwords at the edges of what bcrypt takes")
  func passwords() throws {
    let project = try Project()
    func signUp(_ email: String, _ password: String) throws -> Wire.Answer {
      let body: JSONValue = ["email": .string(email), "password": .string(password)]
      return try project.auth("POST", "signup", body: body.serialized())
    }
    let longest = String(repeating: "é", count: 36)
    #expect(try signUp("a@b.c", longest).status == 200)
    #expect(try signUp("b@b.c", longest + "x").json["code"] == "validation_failed")
    #expect(try signUp("c@b.c", "secret\u{0}more").json["code"] == "validation_failed")
    #expect(try signUp("d@b.c", "12345é").status == 200)
    func signIn(_ email: String, _ password: String) throws -> Int {
      let body: JSONValue = ["email": .string(email), "password": .string(password)]
      return try project.auth("POST", "token?grant_type=password", body: body.serialized()).status
    }
    #expect(try signIn("a@b.c", longest) == 200)
    #expect(try signIn("a@b.c", longest.dropLast() + "e") == 400)
    #expect(try signIn("d@b.c", "12345é\u{0}") == 400 && signIn("d@b.c", "12345é") == 200)
  }
}
