import Hashing

/// How passwords are kept: PBKDF2 with a salt of their own, `pbkdf2-sha256$rounds$salt$hash`.
struct Passwords: Sendable {
  let rounds: Int
  let effects: StandInEffects

  /// The fewest characters that are taken.
  static let lengthMin = 6

  func hash(_ password: String) -> String {
    let salt = effects.randomBytes(16)
    let derived = Crypto.pbkdf2(password: Array(password.utf8), salt: salt, rounds: rounds)
    return "pbkdf2-sha256$\(rounds)$\(Base64URL.encode(salt))$\(Base64URL.encode(derived))"
  }

  func isCorrect(_ password: String, for hash: String) -> Bool {
    let parts = hash.split(separator: "$")
    guard parts.count == 4, let rounds = Int(parts[1]), let salt = Base64URL.decode(parts[2]),
      let expected = Base64URL.decode(parts[3])
    else { return false }
    let derived = Crypto.pbkdf2(password: Array(password.utf8), salt: salt, rounds: rounds)
    return Crypto.isEqualInConstantTime(derived, expected)
  }
}
