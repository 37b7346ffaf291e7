import LosslessJSON

/// The user that a session belongs to.
public struct User: Sendable, Hashable {
  /// The user's id, the `sub` of every token.
  public var id: String
  /// The address, or nil for a user without one.
  public var email: String?
  /// Whether the account hangs on its refresh token alone.
  public var isAnonymous: Bool

  /// Makes a user.
  public init(id: String, email: String? = nil, isAnonymous: Bool = false) {
    self.id = id
    self.email = email
    self.isAnonymous = isAnonymous
  }

  /// Reads the user object of the Auth service; nil without an id.
  ///
  /// An unset address is an empty text there, and `is_anonymous` is missing on old servers.
  public init?(json: JSONValue) {
    guard let id = json["id"]?.stringValue, !id.isEmpty else { return nil }
    self.id = id
    email = json["email"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
    isAnonymous = json["is_anonymous"]?.boolValue ?? false
  }

  /// The user as the members that `init(json:)` reads.
  public var json: JSONValue {
    ["id": .string(id), "email": .string(email ?? ""), "is_anonymous": .bool(isAnonymous)]
  }
}
