import LosslessJSON

/// How a write, its base and the server's row stand to one another, column by column (spec 5, "The resolver").
struct ConflictComparison: Equatable {
  /// The columns the write sets whose server value differs from the base.
  var changedOnServer: [String] = []
  /// Those of them that the write sets to another value than the server's.
  var conflictingColumns: [String] = []
  /// Whether the server already holds every value the write sets.
  var isAlreadyThere = true

  /// Compares an update.
  ///
  /// A column the base does not hold counts as changed when the server's value is not the
  /// write's: nobody can say what the writer saw.
  init(local: JSONObject, base: JSONObject?, server: JSONObject) {
    for (name, value) in local.members {
      let theirs = server[name]
      let isSame = theirs.map { Self.isSame($0, value) } ?? false
      if !isSame { isAlreadyThere = false }
      let seen = base?[name]
      guard seen == nil || theirs != seen else { continue }
      if seen == nil, isSame { continue }
      changedOnServer.append(name)
      if !isSame { conflictingColumns.append(name) }
    }
  }

  /// Whether the server's value is what a write set: equal, or the same as the server writes it.
  ///
  /// A time sent as `2026-10-18T13:00:27Z` comes back as `2026-10-18T13:00:27+00:00`, and a UUID in lower case.
  private static func isSame(_ server: JSONValue, _ local: JSONValue) -> Bool {
    if server == local { return true }
    if let mine = local.stringValue, server.stringValue == mine.asUUIDIsWritten { return true }
    guard case (.string(let theirs), .string(let mine)) = (server, local), theirs.utf8.count >= 25,
      let left = ServerTimestamp(theirs, .zoned), let right = ServerTimestamp(mine, .zoned)
    else { return false }
    return left.microseconds == right.microseconds
  }
}
