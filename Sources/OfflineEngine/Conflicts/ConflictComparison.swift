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
      if theirs != value { isAlreadyThere = false }
      let seen = base?[name]
      guard seen == nil || theirs != seen else { continue }
      if seen == nil, theirs == value { continue }
      changedOnServer.append(name)
      if theirs != value { conflictingColumns.append(name) }
    }
  }
}
