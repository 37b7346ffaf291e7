import LosslessJSON

/// How a project's Auth is set up.
public struct AuthSettings: Sendable, Hashable {
  /// How long an access token lasts, in seconds.
  public var tokenSeconds = 3_600
  /// How long a refresh token that was used may be used again, in seconds.
  public var reuseSeconds = 10
  /// How long a session lasts, in seconds; `nil` for ever.
  public var sessionSeconds: Int?
  /// How long a session may go without a refresh, in seconds; `nil` for ever.
  public var idleSeconds: Int?
  /// Whether a sign-in ends the user's sessions on other devices at their next refresh.
  public var hasSingleSession = false
  /// Whether an email address must be confirmed with a code before its user can sign in.
  public var confirmsEmails = false
  /// Whether new users may sign up.
  public var allowsSignUp = true
  /// Whether anonymous users may sign up.
  public var allowsAnonymous = true
  /// Whether users sign up and in with an email address and a password.
  public var allowsEmail = true
  /// Whether a new password needs a code where the session is older than a day.
  public var reauthenticates = false
  /// The fewest characters of a password.
  public var passwordLength = 6
  /// The logarithm of the rounds of password hashing, from 4 to 31.
  public var passwordCost: Int
  /// Whether access tokens are signed with a pair of keys (ES256) in place of the secret.
  public var signsWithKeyPair = false

  /// The settings of a hosted project, but that every email address counts as confirmed.
  ///
  /// - Parameter passwordCost: Tests take the lowest, 4.
  public init(passwordCost: Int = 10) { self.passwordCost = passwordCost }

  /// Reads settings as a command line writes them: `confirmEmails tokenSeconds=60`.
  ///
  /// - Throws: What is wrong with the first word that means nothing.
  public init(parsing text: String) throws(Mistake) {
    self.init()
    for word in text.split(separator: " ") {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if let flag = Self.flags.first(where: { $0.name == word }) {
        flag.set(&self)
      } else if let number = Self.numbers.first(where: { $0.name == parts[0] }) {
        guard parts.count == 2, let value = Int(parts[1]), number.range.contains(value) else {
          throw Mistake(
            description: "'\(number.name)' needs a whole number from \(number.range.lowerBound) to "
              + "\(number.range.upperBound): \(number.name)=\(number.range.lowerBound)")
        }
        number.set(&self, value)
      } else {
        let known = Self.catalogue.map(\.name).joined(separator: ", ")
        throw Mistake(description: "unknown setting '\(parts[0])'; Auth has \(known)")
      }
    }
  }

  /// What is wrong with a text of settings.
  public struct Mistake: Error, Equatable, CustomStringConvertible {
    /// What was found, and what is possible.
    public let description: String
  }

  /// The words of the command line and what they mean.
  public static let catalogue: [(name: String, summary: String)] =
    flags.map { ($0.name, $0.summary) } + numbers.map { ("\($0.name)=N", $0.summary) }

  private struct Flag: Sendable {
    let name: String
    let summary: String
    let set: @Sendable (inout AuthSettings) -> Void
  }

  private struct Number: Sendable {
    let name: String
    let summary: String
    let range: ClosedRange<Int>
    let set: @Sendable (inout AuthSettings, Int) -> Void
  }

  private static let flags = [
    Flag(name: "confirmEmails", summary: "an address is confirmed with a code before its user signs in") {
      $0.confirmsEmails = true
    },
    Flag(name: "noSignUp", summary: "nobody new signs up") { $0.allowsSignUp = false },
    Flag(name: "noAnonymous", summary: "nobody signs up anonymously") { $0.allowsAnonymous = false },
    Flag(name: "noEmail", summary: "nobody signs up or in with an email address") { $0.allowsEmail = false },
    Flag(name: "singleSession", summary: "a sign-in ends the sessions of the user's other devices") {
      $0.hasSingleSession = true
    },
    Flag(name: "reauthenticate", summary: "a new password needs a code after a day") { $0.reauthenticates = true },
    Flag(name: "keyPair", summary: "access tokens are signed with ES256, and the public key is shown") {
      $0.signsWithKeyPair = true
    },
  ]

  // A year: longer times would leave the range of what clients count with.
  private static let seconds = 1...31_536_000

  private static let numbers = [
    Number(name: "tokenSeconds", summary: "how long an access token lasts (3600)", range: seconds) {
      $0.tokenSeconds = $1
    },
    Number(name: "reuseSeconds", summary: "how long a used refresh token is still good (10)", range: 0...86_400) {
      $0.reuseSeconds = $1
    },
    Number(name: "sessionSeconds", summary: "how long a session lasts", range: seconds) { $0.sessionSeconds = $1 },
    Number(name: "idleSeconds", summary: "how long a session goes without a refresh", range: seconds) {
      $0.idleSeconds = $1
    },
    Number(name: "passwordLength", summary: "the fewest characters of a password (6)", range: 6...72) {
      $0.passwordLength = $1
    },
    Number(name: "passwordCost", summary: "the cost of password hashing (10)", range: Passwords.costs) {
      $0.passwordCost = $1
    },
  ]
}
