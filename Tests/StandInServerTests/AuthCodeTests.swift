import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Codes by email") struct AuthCodeTests {
  private func project(_ change: (inout AuthSettings) -> Void = { _ in }) throws -> Project {
    try Project { change(&$0.auth) }
  }

  private static let ann = #"{"email":"ann@example.org","password":"secret"}"#

  /// The last mail, as whoever has the service key reads it.
  private func mail(_ project: Project) throws -> JSONValue {
    let mails = try project.wire.request("GET", "/stand-in/mails", [("apikey", project.server.serviceKey)])
    return try #require(mails.json.arrayValue?.last)
  }

  private func verify(_ type: String, _ project: Project, email: String = "ann@example.org") throws -> Wire.Answer {
    let code = try mail(project).text("token")
    return try project.auth("POST", "verify", body: #"{"type":"\#(type)","email":"\#(email)","token":"\#(code)"}"#)
  }

  @Test("a user whose address must be confirmed signs in after the code, and not before")
  func confirmation() throws {
    let project = try project { $0.confirmsEmails = true }
    let user = try project.auth("POST", "signup", body: Self.ann).json
    #expect(user["access_token"] == nil && user["confirmation_sent_at"] != nil && user["email_confirmed_at"] == nil)
    #expect(user["identities"]?.arrayValue?.first?["identity_data"]?["email_verified"] == false)
    let early = try project.auth("POST", "token?grant_type=password", body: Self.ann)
    #expect(early.status == 400 && early.json["code"] == "email_not_confirmed")
    let mail = try mail(project)
    #expect(mail.text("email") == "ann@example.org" && mail.text("purpose") == "confirmation")
    #expect(mail.text("token").count == 6 && mail.text("token").allSatisfy(\.isNumber))
    let session = try verify("signup", project)
    #expect(session.status == 200 && session.json["user"]?["id"] == user["id"])
    #expect(session.json["user"]?["email_confirmed_at"] != nil)
    #expect(try project.auth("POST", "token?grant_type=password", body: Self.ann).status == 200)
    // Good once.
    let again = try verify("signup", project)
    #expect(again.status == 403 && again.json["code"] == "otp_expired")
  }

  @Test("a sign-up with an address that somebody has confirmed looks like a new one, and makes nothing")
  func faked() throws {
    let project = try project { $0.confirmsEmails = true }
    let user = try project.auth("POST", "signup", body: Self.ann).json
    _ = try verify("signup", project)
    let faked = try project.auth("POST", "signup", body: Self.ann)
    #expect(faked.status == 200 && faked.json["id"] != user["id"] && faked.json["identities"] == [])
    #expect(faked.json["role"] == "" && faked.json["email"] == "ann@example.org")
    #expect(faked.json["confirmation_sent_at"] != nil && faked.json["last_sign_in_at"] == nil)
    let users = try project.wire.request(
      "GET", "/auth/v1/admin/users", [("apikey", project.server.serviceKey)])
    #expect(users.json["users"]?.arrayValue?.count == 1)
  }

  @Test("a newer code takes the place of an older one, and after an hour a code is over")
  func newer() throws {
    let project = try project { $0.confirmsEmails = true }
    _ = try project.auth("POST", "signup", body: Self.ann)
    let old = try mail(project).text("token_hash")
    #expect(try project.auth("POST", "resend", body: #"{"type":"signup","email":"ann@example.org"}"#).status == 200)
    let new = try mail(project).text("token_hash")
    func verify(_ hash: String) throws -> Wire.Answer {
      try project.auth("POST", "verify", body: #"{"type":"email","token_hash":"\#(hash)"}"#)
    }
    #expect(old != new)
    #expect(try verify(old).json["code"] == "otp_expired")
    project.clock.advance(seconds: 3_600)
    #expect(try verify(new).json["code"] == "otp_expired")
    _ = try project.auth("POST", "resend", body: #"{"type":"signup","email":"ann@example.org"}"#)
    project.clock.advance(seconds: 3_599)
    #expect(try verify(try mail(project).text("token_hash")).status == 200)
  }

  @Test("a forgotten password is replaced with a code, and the call tells nobody who has an account")
  func recovery() throws {
    let project = try project()
    _ = try project.auth("POST", "signup", body: Self.ann)
    let unknown = try project.auth("POST", "recover", body: #"{"email":"nobody@example.org"}"#)
    let known = try project.auth("POST", "recover", body: #"{"email":"Ann@example.org"}"#)
    #expect(unknown.status == 200 && known.status == 200 && unknown.text == "{}" && known.text == "{}")
    let wrong = try verify("recovery", project, email: "nobody@example.org")
    #expect(wrong.json["code"] == "otp_expired")
    let session = try verify("recovery", project)
    #expect(session.json["user"]?["recovery_sent_at"] != nil)
    let token = session.json.text("access_token")
    #expect(try project.auth("PUT", "user", token: token, body: #"{"password":"better"}"#).status == 200)
    let back = try project.auth(
      "POST", "token?grant_type=password", body: #"{"email":"ann@example.org","password":"better"}"#)
    #expect(back.status == 200)
  }

  @Test("a code signs in, and makes the user that there is not unless that is not wanted")
  func signIn() throws {
    let project = try project()
    let refused = try project.auth("POST", "otp", body: #"{"email":"ann@example.org","create_user":false}"#)
    #expect(refused.status == 422 && refused.json["code"] == "otp_disabled")
    let sent = try project.auth("POST", "otp", body: #"{"email":"ann@example.org","data":{"nick":"a"}}"#)
    #expect(sent.status == 200)
    let session = try verify("email", project)
    #expect(session.json["user"]?["user_metadata"] == ["nick": "a"])
    let claims = try JSONValue(
      parsing: try #require(Base64URL.decode(session.json.text("access_token").split(separator: ".")[1])))
    #expect(claims["amr"]?.arrayValue?.first?["method"] == "otp")
    #expect(try project.auth("POST", "magiclink", body: #"{"email":"ann@example.org"}"#).status == 200)
    #expect(try verify("magiclink", project).json["user"]?["id"] == session.json["user"]?["id"])
  }

  @Test("a new address becomes the user's with its code; an anonymous user stays so until then")
  func emailChange() throws {
    let project = try project { $0.confirmsEmails = true }
    let session = try project.signUpAnonymously()
    let token = session.text("access_token")
    let asked = try project.auth("PUT", "user", token: token, body: Self.ann)
    #expect(asked.json["new_email"] == "ann@example.org" && asked.json["email"] == "")
    #expect(asked.json["is_anonymous"] == true && asked.json["email_change_sent_at"] != nil)
    #expect(try mail(project).text("purpose") == "email_change")
    let verified = try verify("email_change", project)
    let user = try #require(verified.json["user"])
    #expect(user["id"] == session["user"]?["id"] && user["is_anonymous"] == false)
    #expect(user["email"] == "ann@example.org" && user["new_email"] == nil)
    #expect(try project.auth("POST", "token?grant_type=password", body: Self.ann).status == 200)
  }

  @Test("an address that another user took meanwhile is not taken again")
  func raced() throws {
    let project = try project { $0.confirmsEmails = true }
    let token = try project.signUpAnonymously().text("access_token")
    _ = try project.auth("PUT", "user", token: token, body: #"{"email":"ann@example.org"}"#)
    let code = try mail(project).text("token_hash")
    _ = try project.auth("POST", "signup", body: Self.ann)
    let late = try project.auth("POST", "verify", body: #"{"type":"email_change","token_hash":"\#(code)"}"#)
    #expect(late.status == 422 && late.json["code"] == "email_exists")
  }

  @Test("where the project wants it, a new password needs a code after a day")
  func reauthentication() throws {
    let project = try project { settings in
      settings.reauthenticates = true
      settings.tokenSeconds = 1_000_000
    }
    let token = try project.auth("POST", "signup", body: Self.ann).json.text("access_token")
    func change(_ password: String, nonce: String? = nil) throws -> Wire.Answer {
      let more = nonce.map { #","nonce":"\#($0)""# } ?? ""
      return try project.auth("PUT", "user", token: token, body: #"{"password":"\#(password)"\#(more)}"#)
    }
    #expect(try change("second").status == 200)
    project.clock.advance(seconds: 86_400)
    let needed = try change("third!")
    #expect(needed.status == 400 && needed.json["code"] == "reauthentication_needed")
    #expect(try project.auth("GET", "reauthenticate", token: token).status == 200)
    let wrong = try change("third!", nonce: "x")
    #expect(wrong.status == 422 && wrong.json["code"] == "reauthentication_not_valid")
    #expect(try change("third!", nonce: try mail(project).text("token")).status == 200)
    let anonymous = try project.signUpAnonymously().text("access_token")
    #expect(try project.auth("GET", "reauthenticate", token: anonymous).json["code"] == "validation_failed")
  }

  // MARK: Links

  /// Follows a link without a key, as a browser does from a mail.
  private func follow(_ link: String, _ project: Project) throws -> String {
    let target = link.replacing("http://localhost", with: "")
    let answer = try project.wire.request("GET", target)
    #expect(answer.status == 303 && answer.body.isEmpty)
    return try #require(answer.field("Location"))
  }

  /// What an address says behind a mark.
  private func told(_ address: String, behind mark: Character) -> [String: String] {
    let text = address.split(separator: mark, maxSplits: 1).last ?? ""
    return Dictionary(
      QueryText.parameters(String(text)).map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { first, _ in first })
  }

  @Test("a link leads back into an app of this machine, with a session")
  func link() throws {
    let project = try project { $0.confirmsEmails = true }
    _ = try project.auth("POST", "signup?redirect_to=http%3A%2F%2Flocalhost%3A5173%2Fin%3Fa%3Db", body: Self.ann)
    let mail = try mail(project)
    #expect(
      mail.text("link").hasPrefix("http://localhost/auth/v1/verify?token=\(mail.text("token_hash"))&type=signup&"))
    let address = try follow(mail.text("link"), project)
    #expect(address.hasPrefix("http://localhost:5173/in?a=b#access_token="))
    let session = told(address, behind: "#")
    #expect(session["token_type"] == "bearer" && session["type"] == "signup" && session["expires_in"] == "3600")
    let user = try project.auth("GET", "user", token: session["access_token"])
    #expect(user.json["email"] == "ann@example.org" && user.json["email_confirmed_at"] != nil)
    // Good once; the page is told so.
    let again = told(try follow(mail.text("link"), project), behind: "#")
    #expect(again["error"] == "access_denied" && again["error_code"] == "otp_expired")
    #expect(again["error_description"] == "Email link is invalid or has expired")
  }

  @Test(
    "a link leads nowhere else",
    arguments: [
      "https://evil.example/", "//evil.example", "http://localhost.evil.example/", "http://localhost@evil.example/",
      "javascript:alert(1)", "http://localhost:3000\\@evil.example/", "ftp://localhost/", "http://localhost\r\nX: y",
      "",
    ])
  func elsewhere(_ target: String) throws {
    let project = try project()
    _ = try project.auth("POST", "signup", body: Self.ann)
    _ = try project.auth(
      "POST", "recover?redirect_to=\(QueryText.encoded(target))", body: #"{"email":"ann@example.org"}"#)
    #expect(try follow(try mail(project).text("link"), project).hasPrefix("http://localhost:3000#access_token="))
  }

  @Test("an app that asked with a challenge gets a code, which is good with its verifier alone, and once")
  func challenge() throws {
    let project = try project()
    _ = try project.auth("POST", "signup", body: Self.ann)
    // The example of RFC 7636, appendix B.
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    func code() throws -> String {
      let asked = try project.auth(
        "POST", "recover",
        body: #"{"email":"ann@example.org","code_challenge":"\#(challenge)","code_challenge_method":"s256"}"#)
      #expect(asked.status == 200)
      let address = try follow(try mail(project).text("link"), project)
      #expect(address.hasPrefix("http://localhost:3000?code=") && !address.contains("access_token"))
      return try #require(told(address, behind: "?")["code"])
    }
    func exchange(_ code: String, _ verifier: String) throws -> Wire.Answer {
      try project.auth(
        "POST", "token?grant_type=pkce", body: #"{"auth_code":"\#(code)","code_verifier":"\#(verifier)"}"#)
    }
    let first = try code()
    #expect(try exchange(first, "x" + verifier).json["code"] == "bad_code_verifier")
    let session = try exchange(first, verifier)
    #expect(session.status == 200 && session.json["user"]?["email"] == "ann@example.org")
    let claims = try JSONValue(
      parsing: try #require(Base64URL.decode(session.json.text("access_token").split(separator: ".")[1])))
    #expect(claims["amr"]?.arrayValue?.first?["method"] == "recovery")
    #expect(try exchange(first, verifier).json["code"] == "flow_state_not_found")
    let late = try code()
    project.clock.advance(seconds: 300)
    #expect(try exchange(late, verifier).json["code"] == "flow_state_expired")
  }

  static let refusals: [(path: String, body: String, code: String)] = [
    ("recover", #"{"email":"a@b.c","code_challenge":"x"}"#, "validation_failed"),
    ("recover", #"{"email":"a@b.c","code_challenge_method":"s256"}"#, "validation_failed"),
    ("otp", #"{"email":"a@b.c","code_challenge":"x","code_challenge_method":"md5"}"#, "validation_failed"),
    ("recover", "{}", "validation_failed"), ("otp", "{}", "validation_failed"),
    ("otp", #"{"phone":"1"}"#, "phone_provider_disabled"), ("otp", #"{"email":1}"#, "bad_json"),
    ("resend", #"{"email":"a@b.c"}"#, "validation_failed"), ("resend", #"{"type":"signup"}"#, "validation_failed"),
    ("verify", "{}", "validation_failed"), ("verify", #"{"type":"x","token":"1"}"#, "validation_failed"),
    ("verify", #"{"type":"email"}"#, "validation_failed"),
    ("verify", #"{"type":"email","token":"1"}"#, "validation_failed"),
    ("verify", #"{"type":"email","token":"123456","email":"a@b.c"}"#, "otp_expired"),
    ("token?grant_type=pkce", "{}", "validation_failed"),
    ("token?grant_type=pkce", #"{"auth_code":"a","code_verifier":"b"}"#, "flow_state_not_found"),
    ("token?grant_type=id_token", "{}", "provider_disabled"),
  ]

  @Test("what cannot be done with codes is refused with its code", arguments: refusals)
  func refusal(_ path: String, body: String, code: String) throws {
    let answer = try project().auth("POST", path, body: body)
    #expect((400...422).contains(answer.status) && answer.json["code"] == .string(code))
  }

  @Test("a code is kept as a hash, and the mails are nobody's but the service key's")
  func secrecy() throws {
    try withFolder { folder in
      let project = try Project { $0.dataFolder = folder }
      _ = try project.auth("POST", "otp", body: #"{"email":"ann@example.org"}"#)
      let code = try mail(project).text("token")
      let kept = try bytes(under: folder)
      #expect(kept.contains(Array("ann@example.org".utf8)) && !kept.contains(Array(code.utf8)))
      let asked = try project.wire.request("GET", "/stand-in/mails", [("apikey", project.server.publishableKey)])
      #expect(asked.status == 401)
    }
  }
}
