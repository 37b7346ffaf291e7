import LosslessJSON

/// What an access token says about itself, read without checking its signature.
///
/// Enough to know whose token it is and until when; whether it is genuine is the server's to judge.
public struct AccessTokenClaims: Sendable, Hashable {
  /// `sub`: the user's id; the older anon and service keys are tokens without one.
  public var subject: String?
  /// `exp`: Unix seconds on the server's clock.
  public var expiresAt: Int64?
  /// `iat`: Unix seconds on the server's clock.
  public var issuedAt: Int64?
  /// `role`: the database role.
  public var role: String?
  /// `email`, or nil where it is unset.
  public var email: String?
  /// `is_anonymous`, false where it is missing.
  public var isAnonymous: Bool

  /// Whether it is a signed-in user's: one without a role, or of the role of everybody, sees what nobody sees.
  public var isOfUser: Bool { subject.map { !$0.isEmpty } == true && role != nil && role != "anon" }

  /// Reads a token; nil where it is not a JSON Web Token.
  public init?(_ token: Secret) {
    let parts = token.revealed.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let bytes = Base64URL.decoded(parts[1]),
      let claims = (try? JSONValue(parsing: bytes))?.objectValue
    else { return nil }
    subject = claims["sub"]?.stringValue
    expiresAt = claims["exp"].flatMap(Self.seconds)
    issuedAt = claims["iat"].flatMap(Self.seconds)
    role = claims["role"]?.stringValue
    email = claims["email"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
    isAnonymous = claims["is_anonymous"]?.boolValue ?? false
  }

  /// A time claim may have a fraction (RFC 7519, section 2).
  private static func seconds(_ value: JSONValue) -> Int64? {
    guard let number = value.numberValue else { return nil }
    return number.int64 ?? Int64(exactly: number.double.rounded(.down))
  }
}

/// The alphabet of tokens (RFC 4648, section 5), without padding.
enum Base64URL {
  /// The bytes of a text, or nil where it is not in the alphabet.
  static func decoded(_ text: some StringProtocol) -> [UInt8]? { decoded(text.utf8) }

  /// The bytes of a text in UTF-8, or nil where it is not in the alphabet.
  static func decoded(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var bits: UInt32 = 0
    var count = 0
    for character in text {
      guard let value = value(character) else { return nil }
      bits = bits << 6 | value
      count += 6
      guard count >= 8 else { continue }
      count -= 8
      bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
    }
    return count == 6 ? nil : bytes  // One character alone holds no byte.
  }

  private static func value(_ character: UInt8) -> UInt32? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
