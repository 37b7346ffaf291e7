import Hashing
import LosslessJSON

/// The secrets of one stand-in project: what signs its tokens and opens its gateway.
struct Keys: Sendable, Equatable {
  /// Signs access tokens.
  let jwtSecret: [UInt8]
  /// The key that clients carry, of role anon.
  let publishable: String
  /// The key that opens everything, of role service_role.
  let secret: String
  /// The same two as JSON Web Tokens, the older form.
  let legacyAnon: String
  let legacyService: String

  /// Signing with less is no protection (RFC 7518, section 3.2).
  static let jwtSecretBytesMin = 32

  init(jwtSecret: [UInt8], publishable: String, secret: String) {
    self.jwtSecret = jwtSecret
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
