/// How many rows may vanish from the server's answer before that is taken for an accident (DESIGN section 8).
public enum VanishingBrake {
  /// Whether so many rows of a collection gone at once wait for a person: twenty, or more than half but at least three.
  public static func holds(_ gone: Int, of total: Int) -> Bool {
    gone >= 20 || (gone >= 3 && gone * 2 > total)
  }
}

/// The rows that lately went from the server's answers, however this device learned of it.
///
/// What goes one by one is as much an accident as what goes at once.
struct LatelyGone: Sendable {
  /// How long rows count as gone together (DESIGN section 8).
  private static let window = Duration.seconds(10)

  private var rows: [String: [(at: Duration, count: Int)]] = [:]

  /// Counts rows of a table that have been taken for gone.
  mutating func note(_ count: Int, of table: String, at now: Duration) {
    rows[table, default: []].removeAll { now - $0.at >= Self.window }
    rows[table]?.append((now, count))
  }

  /// How many of a table's rows went within the last ten seconds.
  func count(of table: String, at now: Duration) -> Int {
    (rows[table] ?? []).reduce(0) { now - $1.at < Self.window ? $0 + $1.count : $0 }
  }
}

extension UserEngine {
  /// Whether so many rows missing now, beside those that went lately, wait for a person.
  ///
  /// - Parameter total: How many rows of the table are known, the missing ones among them.
  func holdsVanishing(_ missing: Int, of total: Int, in table: String) -> Bool {
    let now = environment.clock.elapsed()
    let before = latelyGone.withLock { $0.count(of: table, at: now) }
    return VanishingBrake.holds(missing + before, of: total + before)
  }

  /// Remembers rows that were taken for gone, without anybody having confirmed it.
  func noteGone(_ count: Int, of table: String) {
    let now = environment.clock.elapsed()
    latelyGone.withLock { $0.note(count, of: table, at: now) }
  }
}
