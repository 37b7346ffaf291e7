import OfflineEngine

/// The rows that were made of new files, for as long as a program may still mean to move its file over another one.
///
/// Some programs write their new text beside the file, under a name that looks like any other, and rename it a second
/// later. Meanwhile it was taken for a new file; moved over the other, it is that one's save.
struct RecentRows: Sendable {
  /// How long a file may take to be moved.
  static let window = Duration.seconds(60)
  /// How many are remembered at most: who makes more at once means new files.
  private static let countMax = 1_024

  private var made: [RowKey: (copyOf: RowKey?, at: WallTime)] = [:]

  /// Whether a row was made of a copy of another's file just now.
  func isCopy(_ key: RowKey, of original: RowKey, at time: WallTime) -> Bool {
    made[key].map { $0.copyOf == original && Self.isRecent($0.at, at: time) } ?? false
  }

  /// Whether a row was made of a file without a key just now.
  func isNew(_ key: RowKey, at time: WallTime) -> Bool {
    made[key].map { $0.copyOf == nil && Self.isRecent($0.at, at: time) } ?? false
  }

  /// Remembers a row that a new file became: one that named another's key, or none.
  mutating func note(_ key: RowKey, copyOf original: RowKey?, at time: WallTime) {
    if made.count >= Self.countMax { made = made.filter { Self.isRecent($0.value.at, at: time) } }
    guard made.count < Self.countMax else { return }
    made[key] = (original, time)
  }

  private static func isRecent(_ made: WallTime, at time: WallTime) -> Bool { made <= time && time < made + window }
}
