import Hashing
import LosslessJSON

/// A JSON Web Token signed with a secret (HS256) or a pair of keys (ES256): the kinds the stand-in makes or accepts.
package struct JSONWebToken {
  /// What is wrong with a token that was sent, in the order in which it is looked for.
  enum Fault: Error, Equatable {
    /// Not three parts.
    case parts(Int)
    /// A part that is not Base64 of a JSON object.
    case undecodable
    /// The header asks for no signature.
    case unsecured
    /// The header names another algorithm.
    case algorithm
    /// The signature is not ours.
    case signature
  }

  /// The claims, in the order of the token.
  let claims: JSONObject

  /// Signs claims with a secret.
  package static func sign(_ claims: JSONObject, secret: [UInt8]) -> String {
    sign(claims, header: ["alg": "HS256", "typ": "JWT"]) { Crypto.hmacSHA256(key: secret, message: $0) }
  }

  /// Signs claims with a pair of keys.
  static func sign(_ claims: JSONObject, key: TokenKey) -> String {
    sign(claims, header: ["alg": "ES256", "kid": .string(key.id), "typ": "JWT"]) { key.pair.sign($0) }
  }

  private static func sign(_ claims: JSONObject, header: JSONObject, _ signature: ([UInt8]) -> [UInt8]) -> String {
    let header = Base64URL.encode(JSONValue.object(header).serializedBytes())
    let signed = header + "." + Base64URL.encode(JSONValue.object(claims).serializedBytes())
    return signed + "." + Base64URL.encode(signature(Array(signed.utf8)))
  }

  /// Checks form, algorithm and signature; says nothing about the claims.
  ///
  /// - Parameters:
  ///   - text: The token.
  ///   - secret: What tokens with HS256 are signed with.
  ///   - key: What tokens with ES256 are signed with; without one there are none.
  init(_ text: String, secret: [UInt8], key: TokenKey? = nil) throws(Fault) {
    // Bytes, not characters: this runs for every request.
    let bytes = Array(text.utf8)
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3 else { throw .parts(parts.count) }
    guard let header = Self.object(parts[0]) else { throw .undecodable }
    // The algorithm is ours to choose: a token that names another one is not asked what it would prefer.
    let signed = Array(bytes[..<parts[1].endIndex])
    let signature = Base64URL.decode(parts[2])
    let isSigned: Bool
    switch (header["alg"]?.stringValue, key) {
    case ("HS256", _):
      let expected = Crypto.hmacSHA256(key: secret, message: signed)
      isSigned = signature.map { Crypto.isEqualInConstantTime($0, expected) } ?? false
    case ("ES256", let key?):
      isSigned = signature.map { key.pair.isSignature($0, of: signed) } ?? false
    case ("none", _): throw .unsecured
    default: throw .algorithm
    }
    guard isSigned else { throw .signature }
    guard let claims = Self.object(parts[1]) else { throw .undecodable }
    self.claims = claims
  }

  private static func object(_ part: ArraySlice<UInt8>) -> JSONObject? {
    guard let bytes = Base64URL.decode(part) else { return nil }
    return try? JSONValue(parsing: bytes).objectValue
  }
}

/// What is wrong with the claims of a token whose signature is good.
enum ClaimFault: Error, Equatable {
  /// `exp` has passed.
  case expired
  /// `nbf` is still to come.
  case notYetValid
  /// `iat` is still to come.
  case issuedInFuture
  /// A claim that is not of its type, with the claim's name.
  case malformed(String)
}

extension JSONWebToken {
  /// How exactly a service takes the times.
  enum ClockRule {
    /// Clocks may differ by 30 seconds, and the second of `exp` is still good.
    case postgREST
    /// No second is given; a token is over in the second of `exp`.
    case auth
  }

  /// Checks the times among the claims.
  ///
  /// - Parameters:
  ///   - seconds: The server's time, Unix seconds.
  ///   - rule: How exactly.
  func checkTimes(now seconds: Int64, by rule: ClockRule) throws(ClaimFault) {
    let leeway: Int64 = rule == .postgREST ? 30 : 0
    if let expiry = try time("exp"), seconds - leeway > expiry || (rule == .auth && seconds == expiry) {
      throw .expired
    }
    if let start = try time("nbf"), seconds + leeway < start { throw .notYetValid }
    if let issued = try time("iat"), seconds + leeway < issued { throw .issuedInFuture }
  }

  private func time(_ claim: String) throws(ClaimFault) -> Int64? {
    guard let value = claims[claim], !value.isNull else { return nil }
    guard let number = value.numberValue else { throw .malformed(claim) }
    // Claims may have a fraction (RFC 7519, NumericDate); beyond the range of a clock any bound will do.
    return number.int64 ?? Int64(exactly: number.double.rounded(.down)) ?? (number.double < 0 ? .min / 4 : .max / 4)
  }
}
