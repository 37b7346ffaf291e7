import SQLite

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

  /// What a row of a table must satisfy for the caller to see it; `nil` where all rows do.
  func policy(of table: Table, alias: String) throws(DatabaseFault) -> SQLText? {
    guard !bypassesPolicies, let owner = table.owner else { return nil }
    guard role == .authenticated, let userID = try userID() else { return SQLText(sql: "0") }
    return SQLText(sql: "\(quoted(alias)).\(quoted(owner)) = ?", bindings: [.text(userID)])
  }

  /// Whether the caller sees a row of a table: what `policy` says in SQL.
  func sees(_ values: [SQLiteValue], of table: Table) -> Bool {
    guard !bypassesPolicies, let owner = table.owner, let place = table.index(of: owner) else { return true }
    guard role == .authenticated, let userID = try? userID() else { return false }
    return values[place] == .text(userID)
  }

  /// Whether the caller may use a table at all, or PostgreSQL's error.
  func checkGrant(_ table: Table) throws(DatabaseFault) {
    guard table.grants.contains(role) else {
      throw DatabaseFault("42501", "permission denied for table \(table.name)")
    }
  }
}
