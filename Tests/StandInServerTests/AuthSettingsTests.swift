import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Settings of Auth") struct AuthSettingsTests {
  static let texts: [(text: String, change: @Sendable (inout AuthSettings) -> Void)] = [
    ("", { _ in }),
    ("confirmEmails", { $0.confirmsEmails = true }),
    (
      " noSignUp  noAnonymous noEmail ",
      {
        $0.allowsSignUp = false
        $0.allowsAnonymous = false
        $0.allowsEmail = false
      }
    ),
    (
      "tokenSeconds=60 reuseSeconds=0 sessionSeconds=100 idleSeconds=50",
      {
        $0.tokenSeconds = 60
        $0.reuseSeconds = 0
        $0.sessionSeconds = 100
        $0.idleSeconds = 50
      }
    ),
    (
      "singleSession reauthenticate keyPair passwordLength=8 passwordCost=4",
      {
        $0.hasSingleSession = true
        $0.reauthenticates = true
        $0.signsWithKeyPair = true
        $0.passwordLength = 8
        $0.passwordCost = 4
      }
    ),
  ]

  @Test("a command line says them in words", arguments: texts)
  func text(_ text: String, change: @Sendable (inout AuthSettings) -> Void) throws {
    var expected = AuthSettings()
    change(&expected)
    #expect(try AuthSettings(parsing: text) == expected)
  }

  @Test(
    "a word that means nothing is refused by its name",
    arguments: [
      ("confirmEmail", "confirmEmail"), ("tokenSeconds", "tokenSeconds"), ("tokenSeconds=0", "tokenSeconds"),
      ("tokenSeconds=x", "tokenSeconds"), ("passwordCost=3", "4 to 31"), ("confirmEmails=yes", "confirmEmails"),
    ])
  func mistake(_ text: String, names word: String) {
    #expect {
      try AuthSettings(parsing: text)
    } throws: { error in
      "\(error)".contains(word)
    }
  }

  private func project(_ settings: String) throws -> Project {
    let auth = try AuthSettings(parsing: settings + " passwordCost=4")
    return try Project { $0.auth = auth }
  }

  private static let ann = #"{"email":"ann@example.org","password":"secret"}"#

  /// A call that a setting forbids.
  static let forbidden: [(settings: String, path: String, body: String, status: Int, code: String)] = [
    ("noSignUp", "signup", ann, 422, "signup_disabled"),
    ("noSignUp", "signup", "{}", 422, "signup_disabled"),
    ("noSignUp", "otp", #"{"email":"ann@example.org"}"#, 422, "signup_disabled"),
    ("noAnonymous", "signup", "{}", 422, "anonymous_provider_disabled"),
    ("noEmail", "signup", ann, 400, "email_provider_disabled"),
    ("noEmail", "token?grant_type=password", ann, 422, "email_provider_disabled"),
    ("noEmail", "otp", #"{"email":"ann@example.org"}"#, 422, "email_provider_disabled"),
    ("passwordLength=8", "signup", ann, 422, "weak_password"),
  ]

  @Test("what a setting forbids is refused with its code", arguments: forbidden)
  func forbids(_ settings: String, path: String, body: String, status: Int, code: String) throws {
    let answer = try project(settings).auth("POST", path, body: body)
    #expect(answer.status == status && answer.json["code"] == .string(code))
  }

  @Test("GET settings says how Auth is set up")
  func shown() throws {
    let plain = try project("").auth("GET", "settings").json
    #expect(plain["external"]?["email"] == true && plain["external"]?["phone"] == false)
    #expect(plain["disable_signup"] == false && plain["mailer_autoconfirm"] == true)
    #expect(plain["sms_provider"] == "" && plain["saml_enabled"] == false && plain["passkeys_enabled"] == false)
    let strict = try project("confirmEmails noSignUp noAnonymous noEmail").auth("GET", "settings").json
    #expect(strict["external"]?["email"] == false && strict["external"]?["anonymous_users"] == false)
    #expect(strict["disable_signup"] == true && strict["mailer_autoconfirm"] == false)
    #expect(plain.objectValue?.names == strict.objectValue?.names)
  }

  // MARK: How long a session lasts

  private func refresh(_ token: String, _ project: Project) throws -> Wire.Answer {
    try project.auth("POST", "token?grant_type=refresh_token", body: #"{"refresh_token":"\#(token)"}"#)
  }

  @Test("an access token lasts as long as it is told")
  func tokenSeconds() throws {
    let project = try project("tokenSeconds=60")
    let session = try project.signUpAnonymously()
    #expect(session["expires_in"] == 60)
    let token = session.text("access_token")
    project.clock.advance(seconds: 59)
    #expect(try project.auth("GET", "user", token: token).status == 200)
    project.clock.advance(seconds: 1)
    #expect(try project.auth("GET", "user", token: token).json["code"] == "bad_jwt")
  }

  @Test("a session that is over by time or by rest is so at its refresh, and not before")
  func limits() throws {
    for (settings, steps, isOver) in [
      ("sessionSeconds=100", [60, 60], true), ("sessionSeconds=100", [60, 39], false), ("idleSeconds=100", [100], true),
      ("idleSeconds=100", [60, 60, 60], false),
    ] {
      let project = try project(settings)
      var session = try project.signUpAnonymously()
      var last: Wire.Answer?
      for step in steps {
        project.clock.advance(seconds: Int64(step))
        #expect(try project.auth("GET", "user", token: session.text("access_token")).status == 200)
        let answer = try refresh(session.text("refresh_token"), project)
        last = answer
        session = answer.status == 200 ? answer.json : session
      }
      #expect(last?.status == (isOver ? 400 : 200), "\(settings) \(steps)")
      if isOver { #expect(last?.json["code"] == "session_expired") }
    }
  }

  @Test("with a single session a newer sign-in ends the older one at its refresh")
  func singleSession() throws {
    let project = try project("singleSession")
    let first = try project.auth("POST", "signup", body: Self.ann).json
    let second = try project.auth("POST", "token?grant_type=password", body: Self.ann).json
    #expect(try refresh(first.text("refresh_token"), project).json["code"] == "session_expired")
    #expect(try refresh(second.text("refresh_token"), project).status == 200)
  }

  @Test("without a reuse interval a used token is over at once, but for the parent of the active one")
  func noReuse() throws {
    let project = try project("reuseSeconds=0")
    let first = try project.signUpAnonymously().text("refresh_token")
    let second = try refresh(first, project).json.text("refresh_token")
    let third = try refresh(second, project).json.text("refresh_token")
    project.clock.advance(seconds: 1)
    #expect(try refresh(second, project).json.text("refresh_token") == third)
    #expect(try refresh(first, project).json["code"] == "refresh_token_already_used")
  }

  @Test("a password that is weak by today's rules still signs in, and the session says so")
  func weakToday() throws {
    try withFolder { folder in
      func life(_ settings: String, _ body: (Project) throws -> Void) throws {
        let auth = try AuthSettings(parsing: settings + " passwordCost=4")
        try body(
          try Project {
            $0.dataFolder = folder
            $0.auth = auth
          })
      }
      try life("") { project in
        let session = try project.auth("POST", "signup", body: Self.ann).json
        #expect(session["weak_password"] == nil)
      }
      try life("passwordLength=10") { project in
        let session = try project.auth("POST", "token?grant_type=password", body: Self.ann).json
        #expect(session["weak_password"]?["reasons"] == ["length"])
        #expect(session["weak_password"]?["message"]?.stringValue?.contains("10") == true)
      }
    }
  }

  // MARK: Keys

  @Test("with a pair of keys tokens name it, every service takes them, and the pair is kept")
  func keyPair() throws {
    try withFolder { folder in
      var token = ""
      var shown = JSONValue.null
      func life(_ settings: String, _ body: (Project) throws -> Void) throws {
        let auth = try AuthSettings(parsing: settings)
        try body(
          try Project {
            $0.dataFolder = folder
            $0.auth = auth
          })
      }
      try life("") { project in
        #expect(try project.auth("GET", ".well-known/jwks.json").text == #"{"keys":[]}"#)
        token = try project.signUpAnonymously().text("access_token")
      }
      // The folder had none; a token that the secret signed stays good.
      try life("keyPair") { project in
        #expect(try project.auth("GET", "user", token: token).status == 200)
        token = try project.signUpAnonymously().text("access_token")
        let jwks = try project.auth("GET", ".well-known/jwks.json")
        #expect(jwks.field("Cache-Control") == "public, max-age=600")
        shown = jwks.json
        let key = try #require(shown["keys"]?.arrayValue?.first)
        #expect(key["kty"] == "EC" && key["crv"] == "P-256" && key["use"] == "sig" && key["key_ops"] == ["verify"])
        let header = try JSONValue(parsing: try #require(Base64URL.decode(token.split(separator: ".")[0])))
        #expect(header["alg"] == "ES256" && header["kid"] == key["kid"])
        #expect(Base64URL.decode(token.split(separator: ".")[2])?.count == 64)
      }
      try life("keyPair") { project in
        #expect(try project.auth("GET", ".well-known/jwks.json").json == shown)
        #expect(try project.auth("GET", "user", token: token).status == 200)
        #expect(try project.rest("POST", "tasks", token: token, body: #"{"title":"x"}"#).status == 201)
        let parts = token.split(separator: ".")
        let other = try project.signUpAnonymously().text("access_token").split(separator: ".")
        let crossed = "\(parts[0]).\(parts[1]).\(other[2])"
        #expect(try project.auth("GET", "user", token: crossed).json["code"] == "bad_jwt")
        #expect(try project.rest("GET", "tasks", token: crossed).json["code"] == "PGRST301")
        #expect(try project.rest("GET", "tasks", token: project.server.standIn.legacyAnonKey).status == 200)
      }
      // Without the setting nobody signs with the pair, and its tokens are over.
      try life("") { project in
        let over = try project.auth("GET", "user", token: token)
        #expect(over.json["code"] == "bad_jwt")
      }
    }
  }
}
