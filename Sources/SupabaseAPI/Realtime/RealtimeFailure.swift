/// Why changes do not come live, and what that asks for.
public enum RealtimeFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// There is no connection.
  case connection(WebSocketFailure)
  /// The connection ended.
  case closed
  /// The server did not answer in time.
  case silent
  /// The server refused the join or ended the channel, in its own words.
  case refused(reason: String)
  /// The server does not tell the changes of these tables, in its own words.
  case notSubscribed(reason: String)
  /// There is no token of the user.
  case noToken(reason: String)
  /// The device slept, or its network changed.
  case interrupted

  /// What a server's refusal asks for.
  enum Remedy {
    /// Another token.
    case newToken
    /// A pause longer than usual.
    case pause
    /// Nothing that is tried again soon can help.
    case person
    /// The next try.
    case retry
  }

  /// What the words of a refusal ask for (protocol sheet realtime, section 7).
  static func remedy(for reason: String) -> Remedy {
    func starts(with codes: String...) -> Bool { codes.contains { reason.hasPrefix($0) } }
    if starts(with: "InvalidJWT", "Token has expired", "Fields `role`") { return .newToken }
    if starts(
      with: "ConnectionRateLimitReached", "ClientJoinRateLimitReached", "ChannelRateLimitReached",
      "DatabaseConnectionRateLimitReached", "Too many ")
    {
      return .pause
    }
    if starts(
      with: "MalformedJWT", "JwtSignatureError", "JwtSignerError", "Unauthorized", "PrivateOnly", "TopicNameRequired",
      "TenantNotFound", "RealtimeDisabledForTenant", "You do not have permissions")
    {
      return .person
    }
    return .retry
  }

  /// What happened, in one sentence.
  public var description: String {
    switch self {
    case .connection(let failure): "\(failure)"
    case .closed: "the server closed the live connection"
    case .silent: "the server stopped answering on the live connection"
    case .refused(let reason): "the server refused live changes: \(PrintableText.of(reason))"
    case .notSubscribed(let reason): "the server tells no changes: \(PrintableText.of(reason))"
    case .noToken(let reason): "no live changes: \(reason)"
    case .interrupted: "the device slept or its network changed"
    }
  }
}
