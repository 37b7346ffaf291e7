import Hashing
import SQLite

/// What an app says when it asks for a link, so that nobody but itself can use what the link leads back with (PKCE,
/// RFC 7636).
struct CodeChallenge: Sendable, Hashable {
  enum Method: String, Sendable {
    case s256, plain
  }

  let text: String
  let method: Method

  /// Reads `code_challenge` and `code_challenge_method`; `nil` where there is neither.
  init?(_ body: AuthBody) throws(AuthError) {
    guard let text = try body.filled("code_challenge") else {
      guard try body.filled("code_challenge_method") == nil else { throw Self.incomplete }
      return nil
    }
    guard let word = try body.filled("code_challenge_method") else { throw Self.incomplete }
    guard let method = Method(rawValue: word.lowercased()) else {
      throw AuthError(400, "validation_failed", "unknown code challenge method: \(word)")
    }
    self.text = text
    self.method = method
  }

  /// Reads the columns `challenge` and `challenge_method`.
  init?(row: SQLiteRow) {
    guard let text = row.text("challenge"), let method = row.text("challenge_method").flatMap(Method.init(rawValue:))
    else { return nil }
    self.text = text
    self.method = method
  }

  /// Whether a verifier is the one that the challenge was made from.
  func isMet(by verifier: String) -> Bool {
    let bytes = Array(verifier.utf8)
    let made = method == .plain ? verifier : Base64URL.encode(Crypto.sha256(bytes))
    return Crypto.isEqualInConstantTime(Array(made.utf8), Array(text.utf8))
  }

  private static let incomplete = AuthError(
    400, "validation_failed", "PKCE flow requires code_challenge_method and code_challenge")
}
