import SupabaseAPI

/// Where one user's access tokens come from.
public protocol TokenSource: Sendable {
  /// A token of the user that is expected to be accepted now; `nil` for no user, whose requests carry the project's key.
  ///
  /// - Parameter refused: A token that the server has just refused; it is not handed out again.
  /// - Throws: `SessionFailure` when there is none.
  func accessToken(replacing refused: Secret?) async throws(SessionFailure) -> Secret?

  /// Whether the Auth service says that the token is the user's, for an answer that nothing else can prove.
  func isTokenProven(_ token: Secret) async -> Bool
}

extension TokenSource {
  /// A token of the user that is expected to be accepted now; `nil` for no user.
  public func accessToken() async throws(SessionFailure) -> Secret? { try await accessToken(replacing: nil) }
}
