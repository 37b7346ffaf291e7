import LosslessJSON

/// Who asks Storage, once the token is judged.
struct StorageCaller: Sendable, Equatable {
  let role: Role
  /// The `sub` claim.
  let subject: String?

  static let nobody = StorageCaller(role: .anon, subject: nil)

  /// Whether the policies let the caller do something to an object.
  func may(
    _ action: ObjectPolicy.Action, _ bucket: String, _ name: String, ownerID: String?, _ policies: [ObjectPolicy]
  ) -> Bool {
    if role == .service { return true }
    return policies.contains { policy in
      guard policy.actions.contains(action), policy.roles.contains(role), policy.bucket.map({ $0 == bucket }) ?? true
      else { return false }
      switch policy.condition {
      case .always: return true
      case .ownerFolder: return subject.map { ObjectKey.firstFolder(name) == $0[...] } ?? false
      case .owner: return subject != nil && ownerID == subject
      }
    }
  }

  func may(_ action: ObjectPolicy.Action, _ object: StoredObject, _ policies: [ObjectPolicy]) -> Bool {
    may(action, object.bucket, object.name, ownerID: object.ownerID, policies)
  }
}

/// Judges the tokens that come to Storage, to the second.
struct StorageTokens: Sendable {
  let keys: Keys
  let effects: StandInEffects

  private var seconds: Int64 { Timestamp.seconds(of: effects.now()) }

  /// Who asks.
  ///
  /// - Throws: An error for a token that is bad or expired, and where there is none.
  func caller(of request: StandInRequest) throws(StorageError) -> StorageCaller {
    guard let text = Gateway.bearer(of: request), !text.isEmpty else {
      // The gateway puts the project's key where a client sends no token.
      guard let role = Gateway.key(of: request).flatMap({ keys.role(of: $0) }) else { throw .noAuthorization }
      return StorageCaller(role: role, subject: nil)
    }
    if let role = keys.role(of: text) { return StorageCaller(role: role, subject: nil) }
    let token: JSONWebToken
    do {
      token = try keys.token(text)
    } catch {
      throw .token(error == .signature ? "signature verification failed" : "Invalid Compact JWS")
    }
    do {
      try token.checkTimes(now: seconds, by: .auth)
    } catch {
      throw .token(Self.reason(error))
    }
    let role = token.claims["role"]?.stringValue.flatMap(Role.init(rawValue:)) ?? .anon
    return StorageCaller(role: role, subject: token.claims["sub"]?.stringValue)
  }

  private static func reason(_ fault: ClaimFault) -> String {
    switch fault {
    case .expired: "\"exp\" claim timestamp check failed"
    case .notYetValid: "\"nbf\" claim timestamp check failed"
    case .issuedInFuture: "\"iat\" claim timestamp check failed"
    case .malformed(let claim): "\"\(claim)\" claim must be a number"
    }
  }

  // MARK: Signed URLs

  enum Scope: String {
    case download, upload
  }

  /// The token of a signed URL.
  func sign(_ scope: Scope, _ path: String, seconds lifetime: Int64, _ more: JSONObject = [:]) -> String {
    let now = seconds
    var claims: JSONObject = ["url": .string(path), "scope": .string(scope.rawValue)]
    for (name, value) in more { claims[name] = value }
    claims["iat"] = .integer(now)
    claims["exp"] = .integer(now.addingReportingOverflow(lifetime).partialValue)
    return JSONWebToken.sign(claims, secret: keys.jwtSecret)
  }

  /// The claims of a signed URL's token, if it is good for this path and use.
  func signedClaims(_ text: String, _ scope: Scope, _ path: String) throws(StorageError) -> JSONObject {
    let claims = try signedClaims(text)
    // Older tokens have no scope; they were for downloads.
    let isRightScope = (claims["scope"]?.stringValue ?? Scope.download.rawValue) == scope.rawValue
    guard isRightScope, claims["url"]?.stringValue == path else { throw .signature }
    return claims
  }

  /// The claims of a signed URL's token, whatever it is for.
  func signedClaims(_ text: String) throws(StorageError) -> JSONObject {
    let token: JSONWebToken
    do {
      token = try JSONWebToken(text, secret: keys.jwtSecret)
    } catch {
      throw .signedToken(error == .signature ? "signature verification failed" : "Invalid Compact JWS")
    }
    do {
      try token.checkTimes(now: seconds, by: .auth)
    } catch {
      throw .signedToken(Self.reason(error))
    }
    return token.claims
  }
}
