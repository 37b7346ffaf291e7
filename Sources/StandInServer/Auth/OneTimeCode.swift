import Hashing
import SQLite

/// A code that is sent to an address and is good once: six digits for a person, or its hash for a link.
///
/// Only the hash is kept. A newer code for the same purpose takes the place of an older one.
struct OneTimeCode: Sendable, Hashable {
  /// What a code is for.
  enum Purpose: String, CaseIterable, Sendable {
    case confirmation
    /// Signs in without a password, to set a new one or just so.
    case recovery
    case emailChange = "email_change"
    case reauthentication
    case invite

    /// The member of a user that says when one was last sent.
    var sentAtName: String { self == .invite ? "invited_at" : "\(rawValue)_sent_at" }
  }

  /// What was used up: whose it was, what it was for, and what its link must lead to.
  struct Used {
    var user: AuthUser
    let purpose: Purpose
    let challenge: CodeChallenge?
  }

  /// Six digits.
  let code: String
  /// The code's hash, which is as good as the code.
  let hash: String

  /// How long it is good.
  static let seconds: Int64 = 3_600

  static let expired = AuthError(403, "otp_expired", "Token has expired or is invalid")

  /// Makes a code for a user's address and keeps its hash.
  ///
  /// - Parameter random: 8 random bytes.
  static func make(
    _ purpose: Purpose, for user: AuthUser, email: String, challenge: CodeChallenge?, secret: [UInt8], now: Timestamp,
    random: [UInt8], in database: Database
  ) throws -> OneTimeCode {
    let code = padded(Int(random.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 1_000_000), to: 6)
    let made = OneTimeCode(code: code, hash: hash(code, email: email, secret: secret))
    try database.execute(
      "DELETE FROM auth_codes WHERE user_id = ? AND purpose = ?", [.text(user.id), .text(purpose.rawValue)])
    try database.execute(
      """
      INSERT OR REPLACE INTO auth_codes (hash, user_id, purpose, created_at, challenge, challenge_method)
      VALUES (?, ?, ?, ?, ?, ?)
      """,
      [
        .text(made.hash), .text(user.id), .text(purpose.rawValue), .integer(now.microseconds),
        .optional(challenge?.text), .optional(challenge?.method.rawValue),
      ])
    return made
  }

  /// Uses a code up.
  ///
  /// - Throws: `expired` for a code that is too old or that there is not.
  static func use(hash: String, for purposes: [Purpose], now: Timestamp, in database: Database) throws -> Used {
    let row = try database.first("SELECT * FROM auth_codes WHERE hash = ?", [.text(hash)])
    guard let row, let purpose = row.text("purpose").flatMap(Purpose.init(rawValue:)), purposes.contains(purpose),
      let createdAt = row.integer("created_at"), now.microseconds < createdAt + seconds * 1_000_000,
      let user = try row.text("user_id").flatMap({ try AuthUser.find(id: $0, in: database) })
    else { throw expired }
    try database.execute("DELETE FROM auth_codes WHERE hash = ?", [.text(hash)])
    return Used(user: user, purpose: purpose, challenge: CodeChallenge(row: row))
  }

  /// The hash of a code that was sent to an address.
  static func hash(_ code: String, email: String, secret: [UInt8]) -> String {
    Crypto.hmacSHA256(key: secret, message: Array("\(email) \(code)".utf8))
      .map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined()
  }
}
