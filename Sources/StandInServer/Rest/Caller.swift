/// Who asks, as PostgREST knows it once the token is judged.
struct Caller {
  let role: Role
  /// The `sub` claim as it stands in the token.
  let subject: String?

  /// The subject as a UUID, which is what `auth.uid()` gives.
  ///
  /// A subject that is none is an error of whoever asks for it.
  func userID() throws(DatabaseFault) -> String? {
    guard let subject, !subject.isEmpty else { return nil }
    guard let uuid = UUIDText.normalised(subject) else { throw .badText(subject, for: .uuid) }
    return uuid
  }

  /// Whether the role sees every row whatever the policies say.
  var bypassesPolicies: Bool { role == .service }
}
