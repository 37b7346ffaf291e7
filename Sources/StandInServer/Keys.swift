import Hashing
import LosslessJSON

/// The secrets of one stand-in project: what signs its tokens and opens its gateway.
struct Keys: Sendable {
  /// Signs access tokens where there is no pair of keys, and verifies them in any case.
  let jwtSecret: [UInt8]
  /// Signs access tokens where there is one.
  let tokenKey: TokenKey?
  /// The key that clients carry, of role anon.
  let publishable: String
  /// The key that opens everything, of role service_role.
  let secret: String
  /// The same two as JSON Web Tokens, the older form.
  let legacyAnon: String
  let legacyService: String

  /// A client sends the same token with every request, and its signature stays what it is.
  private let verified = BoundedCache<String, JSONWebToken>(countMax: 64)

  /// Signing with less is no protection (RFC 7518, section 3.2).
  static let jwtSecretBytesMin = 32

  init(jwtSecret: [UInt8], publishable: String, secret: String, tokenKey: TokenKey? = nil) {
    self.jwtSecret = jwtSecret
    self.tokenKey = tokenKey
    self.publishable = publishable
    self.secret = secret
    legacyAnon = Self.legacy(role: .anon, jwtSecret: jwtSecret)
    legacyService = Self.legacy(role: .service, jwtSecret: jwtSecret)
  }

  /// New keys, random but for a secret that is given.
  init(jwtSecret: [UInt8]?, randomBytes: (Int) -> [UInt8]) {
    self.init(
      jwtSecret: jwtSecret ?? Array(Base64URL.encode(randomBytes(30)).utf8),
      publishable: "sb_publishable_" + Base64URL.encode(randomBytes(24)),
      secret: "sb_secret_" + Base64URL.encode(randomBytes(24)))
  }

  /// The same keys with a pair that signs access tokens.
  func signing(with key: TokenKey) -> Keys {
    Keys(jwtSecret: jwtSecret, publishable: publishable, secret: secret, tokenKey: key)
  }

  /// Signs the claims of an access token.
  func sign(_ claims: JSONObject) -> String {
    tokenKey.map { JSONWebToken.sign(claims, key: $0) } ?? JSONWebToken.sign(claims, secret: jwtSecret)
  }

  /// Reads an access token or a key in the older form; says nothing about its claims.
  func token(_ text: String) throws(JSONWebToken.Fault) -> JSONWebToken {
    if let known = verified[text] { return known }
    let token = try JSONWebToken(text, secret: jwtSecret, key: tokenKey)
    verified[text] = token
    return token
  }

  /// What others verify access tokens with (RFC 7517); `nil` where that is a secret.
  var publicKey: JSONValue? {
    tokenKey.map { key in
      let point = key.pair.publicPoint
      return [
        "alg": "ES256", "crv": "P-256", "ext": true, "key_ops": ["verify"], "kid": .string(key.id), "kty": "EC",
        "use": "sig", "x": .string(Base64URL.encode(point.x)), "y": .string(Base64URL.encode(point.y)),
      ]
    }
  }

  /// The key of a role as a JSON Web Token, which a PostgREST with the same secret understands.
  func legacyKey(of role: Role) -> String { role == .service ? legacyService : legacyAnon }

  /// The role that a key opens, or `nil` for a key that is not ours.
  func role(of key: String) -> Role? {
    let bytes = Array(key.utf8)
    func isEqual(_ other: String) -> Bool { Crypto.isEqualInConstantTime(bytes, Array(other.utf8)) }
    if isEqual(publishable) || isEqual(legacyAnon) { return .anon }
    if isEqual(secret) || isEqual(legacyService) { return .service }
    return nil
  }

  /// Fixed times, so that the legacy keys depend on the secret alone: issued 2020-01-01, good until 2100-01-01.
  private static func legacy(role: Role, jwtSecret: [UInt8]) -> String {
    JSONWebToken.sign(
      [
        "iss": "supabase", "ref": "stand-in", "role": .string(role.rawValue), "iat": 1_577_836_800,
        "exp": 4_102_444_800,
      ],
      secret: jwtSecret)
  }
}

/// A pair of keys with the name that its tokens give it.
struct TokenKey: Sendable {
  /// The `kid` of the tokens.
  let id: String
  let pair: SigningKeyPair
}
