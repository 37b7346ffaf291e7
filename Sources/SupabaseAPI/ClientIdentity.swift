/// How this client names itself to a server.
public enum ClientIdentity {
  /// The version of Tidemark.
  public static let version = "0.1.0"
  /// The text of `User-Agent` and `X-Client-Info`.
  public static let text = "tidemark/\(version)"
}
