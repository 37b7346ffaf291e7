import Hashing
import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Tokens") struct TokenTests {
  static let secret = Array("a secret of at least thirty-two bytes".utf8)
  static let claims: JSONObject = ["sub": "11111111-1111-4111-8111-111111111111", "role": "authenticated"]

  @Test("a signed token reads back")
  func roundTrip() throws {
    let token = JSONWebToken.sign(Self.claims, secret: Self.secret)
    #expect(try JSONWebToken(token, secret: Self.secret).claims == Self.claims)
  }

  @Test("the signature is the one that everybody computes")
  func known() {
    // The example of RFC 7515, appendix A.1, has another header; this one is that of the recorded answers.
    let token = JSONWebToken.sign(
      [
        "sub": "11111111-1111-4111-8111-111111111111", "role": "authenticated", "aud": "authenticated",
        "exp": 4_102_444_800,
      ], secret: CaseFolder.secret)
    #expect(token.hasSuffix("._WrnAtzi6jq76p-3oJT35PR1OZx8fTKp17zPsKKkuWk"))
  }

  @Test("no single changed character goes unnoticed")
  func everyCharacter() {
    let token = Array(JSONWebToken.sign(Self.claims, secret: Self.secret).utf8)
    for place in token.indices {
      var changed = token
      changed[place] = changed[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      let text = String(decoding: changed, as: UTF8.self)
      #expect(throws: JSONWebToken.Fault.self) { try JSONWebToken(text, secret: Self.secret) }
    }
  }

  static func forged(header: String, signature: String? = nil) -> String {
    let body = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(JSONValue.object(claims).serializedBytes())
    return body + "." + (signature ?? Base64URL.encode(Crypto.hmacSHA256(key: secret, message: Array(body.utf8))))
  }

  static let forgeries: [(name: String, token: String, fault: JSONWebToken.Fault)] = [
    ("nothing", "", .parts(1)),
    ("two parts", "a.b", .parts(2)),
    ("four parts", "a.b.c.d", .parts(4)),
    ("five parts, as of an encrypted one", "a.b.c.d.e", .parts(5)),
    ("no signature", forged(header: #"{"alg":"none"}"#, signature: ""), .unsecured),
    ("no signature asked for, but one given", forged(header: #"{"alg":"none"}"#), .unsecured),
    ("another algorithm", forged(header: #"{"alg":"HS512"}"#), .algorithm),
    ("a public key's algorithm", forged(header: #"{"alg":"RS256"}"#), .algorithm),
    ("the algorithm in lower case", forged(header: #"{"alg":"hs256"}"#), .algorithm),
    ("no algorithm", forged(header: #"{"typ":"JWT"}"#), .algorithm),
    ("a header that is no JSON", forged(header: "alg"), .undecodable),
    ("a header that names it twice", forged(header: #"{"alg":"none","alg":"HS256"}"#), .undecodable),
    ("an empty signature", forged(header: #"{"alg":"HS256"}"#, signature: ""), .signature),
    ("half a signature", forged(header: #"{"alg":"HS256"}"#, signature: "AAAA"), .signature),
    ("a padded signature", JSONWebToken.sign(claims, secret: secret) + "=", .signature),
    ("another secret's signature", JSONWebToken.sign(claims, secret: Array("another".utf8)), .signature),
  ]

  @Test("a forged token is refused", arguments: forgeries)
  func forgery(_ name: String, _ token: String, _ fault: JSONWebToken.Fault) {
    #expect(throws: fault) { try JSONWebToken(token, secret: Self.secret) }
  }

  @Test("REST gives thirty seconds after the end, Auth none")
  func expiry() throws {
    let project = try Project { $0.auth.tokenSeconds = 100 }
    let token = try project.signUpAnonymously().text("access_token")
    func statuses() throws -> [Int] {
      [try project.rest("GET", "tasks", token: token).status, try project.auth("GET", "user", token: token).status]
    }
    project.clock.advance(seconds: 99)
    #expect(try statuses() == [200, 200])
    project.clock.advance(seconds: 1)
    #expect(try statuses() == [200, 403])
    project.clock.advance(seconds: 30)
    #expect(try statuses() == [200, 403])
    project.clock.advance(seconds: 1)
    #expect(try statuses() == [401, 403])
    let refused = try project.rest("GET", "tasks", token: token)
    #expect(refused.json["code"] == "PGRST303" && refused.json["message"] == "JWT expired")
    #expect(
      refused.field("WWW-Authenticate") == #"Bearer error="invalid_token", error_description="JWT expired""#)
  }

  @Test("Base64 has one spelling for each value", arguments: ["A", "AB", "AAB=", "AA==", "A+/A", "A A", "é"])
  func base64(_ text: String) {
    #expect(Base64URL.decode(text) == nil)
  }

  @Test("Base64 reads back what it wrote")
  func base64RoundTrip() {
    for length in 0..<40 {
      let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ length) }
      #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
    }
  }

  @Test("a secret that is too short is refused before anything listens")
  func shortSecret() {
    #expect(throws: StandInError.self) { try StandInServer(StandInConfiguration(jwtSecret: [1, 2, 3])) }
  }
}
