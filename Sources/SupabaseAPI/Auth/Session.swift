import LosslessJSON

/// A signed-in user's pair of tokens.
public struct Session: Sendable, Hashable {
  /// The token that requests carry.
  public var accessToken: Secret
  /// The token that buys the next pair; each is good for one use.
  public var refreshToken: Secret
  /// When the access token ends, in Unix seconds on the server's clock.
  public var expiresAt: Int64
  /// The user.
  public var user: User

  /// Makes a session.
  public init(accessToken: Secret, refreshToken: Secret, expiresAt: Int64, user: User) {
    self.accessToken = accessToken
    self.refreshToken = refreshToken
    self.expiresAt = expiresAt
    self.user = user
  }

  /// Reads the session object of the Auth service, or a stored session.
  ///
  /// Only the two tokens must be there: the end is taken from `expires_at`, else from the token's `exp`, else from
  /// `expires_in` and the server's clock; the user from `user`, else from the token.
  ///
  /// - Parameter serverDate: The server's clock at the answer, in Unix seconds, where there was one.
  /// - Throws: `SupabaseError.invalidSession`, which names a missing member and never shows a token.
  public init(json: JSONValue, serverDate: Int64? = nil) throws(SupabaseError) {
    guard json.objectValue != nil else {
      throw .invalidSession(reason: "it is \(json.kindName) where an object is expected")
    }
    let access = try Self.token(json, "access_token")
    let refresh = try Self.token(json, "refresh_token")
    // Read where it is needed at all: the service says nearly always both in its own words.
    func claims() -> AccessTokenClaims? { AccessTokenClaims(access) }
    let fromLifetime = json["expires_in"]?.int64Value.flatMap { seconds in
      serverDate.flatMap { date in
        let (end, isTooLarge) = date.addingReportingOverflow(seconds)
        return isTooLarge ? nil : end
      }
    }
    guard let end = json["expires_at"]?.int64Value ?? claims()?.expiresAt ?? fromLifetime else {
      throw .invalidSession(reason: "it does not say when it ends ('expires_at')")
    }
    guard let user = json["user"].flatMap(User.init(json:)) ?? claims().flatMap(Self.user) else {
      throw .invalidSession(reason: "it does not say whose it is ('user')")
    }
    self.init(accessToken: access, refreshToken: refresh, expiresAt: end, user: user)
  }

  /// The session as the members that `init(json:)` reads, for the session file.
  public var json: JSONValue {
    [
      "access_token": .string(accessToken.revealed),
      "refresh_token": .string(refreshToken.revealed),
      "token_type": "bearer",
      "expires_at": .integer(expiresAt),
      "user": user.json,
    ]
  }

  /// What the access token says about itself.
  public var claims: AccessTokenClaims? { AccessTokenClaims(accessToken) }

  /// When the access token was made, in Unix seconds on the server's clock.
  ///
  /// At the moment of a sign-in or a refresh this is the server's time: the difference to the device's clock, kept, lets
  /// a device with a wrong clock know when the token ends.
  public var issuedAt: Int64? { claims?.issuedAt }

  private static func token(_ json: JSONValue, _ name: String) throws(SupabaseError) -> Secret {
    // A line break or a blank in a token would break the header that carries it.
    guard let text = json[name]?.stringValue, !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw .invalidSession(reason: "'\(name)' is missing or not a token")
    }
    return Secret(text)
  }

  private static func user(_ claims: AccessTokenClaims) -> User? {
    claims.subject.map { User(id: $0, email: claims.email, isAnonymous: claims.isAnonymous) }
  }
}
