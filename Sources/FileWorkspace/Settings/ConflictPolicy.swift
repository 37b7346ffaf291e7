import LosslessJSON

/// What happens where two people changed the same thing.
public enum ConflictPolicy: String, Sendable, Hashable, CaseIterable {
  /// Both versions are kept side by side until a person chooses.
  case hold
  /// This replica's change is sent over the server's; the server's text goes to the trash.
  case mine
  /// The server's value stays; this replica's text goes to the trash.
  case theirs
  /// Both changes of a text are merged line by line; where they overlap, they are held.
  case merge

  /// What a workspace or a collection may say: it has columns of every type.
  static let general: [ConflictPolicy] = [.hold, .mine, .theirs]

  /// Reads the word for a workspace or a collection.
  static func general(_ node: SettingsNode) throws(SettingsError) -> ConflictPolicy {
    let policy = try word(node, general)
    guard policy != .merge else {
      throw node.error("only the text of a column can be merged; expected \(list(general)), or \"merge\" at a column")
    }
    return policy
  }

  /// Reads the word for one column.
  static func of(_ column: CollectionColumn, _ node: SettingsNode) throws(SettingsError) -> ConflictPolicy {
    let allowed = column.type == .text ? allCases : general
    let policy = try word(node, allowed)
    if policy == .merge, column.type != .text {
      throw node.error(
        "a column of the type \(column.type.rawValue) has no lines to merge; expected \(list(allowed))")
    }
    if column.isReadOnly { throw node.error("a column that is only shown is never in conflict; take this member out") }
    return policy
  }

  private static func word(_ node: SettingsNode, _ allowed: [ConflictPolicy]) throws(SettingsError) -> ConflictPolicy {
    let what = list(allowed)
    guard let policy = ConflictPolicy(rawValue: try node.text(what)) else { throw node.error("expected \(what)") }
    return policy
  }

  private static func list(_ policies: [ConflictPolicy]) -> String {
    let words = policies.map { "\"\($0.rawValue)\"" }
    return words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
  }
}
