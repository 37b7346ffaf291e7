import LosslessJSON

/// Which ways to sign in a project allows.
public struct AuthSettings: Sendable, Hashable {
  /// Whether accounts without an address can be made.
  public var allowsAnonymous: Bool
  /// Whether an address and a password can be used.
  public var allowsEmail: Bool
  /// Whether new accounts can be made at all.
  public var allowsSignUp: Bool
  /// Whether a new account with an address is usable at once, without a mail.
  public var confirmsAtOnce: Bool

  /// Reads the settings of the Auth service; nil where it is something else.
  init?(json: JSONValue) {
    guard let external = json["external"]?.objectValue else { return nil }
    allowsAnonymous = external["anonymous_users"]?.boolValue ?? false
    allowsEmail = external["email"]?.boolValue ?? false
    allowsSignUp = !(json["disable_signup"]?.boolValue ?? false)
    confirmsAtOnce = json["mailer_autoconfirm"]?.boolValue ?? false
  }
}
