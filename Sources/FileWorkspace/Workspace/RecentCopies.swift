import OfflineEngine

/// The rows that were made of copies of other rows' files, for as long as a program may still mean to move its copy over
/// the original.
///
/// Some programs write their new text beside the file, under a name that looks like any other, and rename it a second
/// later. Meanwhile it was taken for a copy and given a key of its own; moved over the original, it is that one's save.
struct RecentCopies: Sendable {
  /// How long a copy may take to be moved.
  static let window = Duration.seconds(60)
  /// How many are remembered at most: who copies more at once means copies.
  private static let countMax = 1_024

  private var made: [RowKey: (original: RowKey, at: WallTime)] = [:]

  /// Whether a row was made of a copy of another's file just now.
  func isCopy(_ key: RowKey, of original: RowKey, at time: WallTime) -> Bool {
    guard let copy = made[key], copy.original == original else { return false }
    return copy.at <= time && time < copy.at + Self.window
  }

  /// Remembers a row that a copy became.
  mutating func note(_ key: RowKey, of original: RowKey, at time: WallTime) {
    if made.count >= Self.countMax { made = made.filter { $0.value.at <= time && time < $0.value.at + Self.window } }
    guard made.count < Self.countMax else { return }
    made[key] = (original, time)
  }
}
