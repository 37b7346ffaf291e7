import Synchronization

/// The last queries of tables, read and planned: a client that looks whether anything is new asks in the same words again
/// and again.
///
/// What a plan says depends on the words and the schema alone, never on who asks or when.
final class KeptPlans: Sendable {
  /// What one query string asks of one table.
  struct Asked: Hashable, Sendable {
    let table: String
    let query: String
    /// Whether the conditions belong to the read; for a write they choose its rows.
    let isRead: Bool
  }

  struct Kept: Sendable {
    let query: RestQuery
    let plan: ReadPlan
  }

  private let kept = Mutex<[Asked: Kept]>([:])

  /// Beyond this many all are read anew.
  private static let countMax = 256
  /// A longer one is hardly asked twice.
  private static let queryBytesMax = 4_096

  /// What was read and planned before.
  func known(_ asked: Asked) -> Kept? { kept.withLock { $0[asked] } }

  func keep(_ asked: Asked, _ query: RestQuery, _ plan: ReadPlan) {
    guard asked.query.utf8.count <= Self.queryBytesMax else { return }
    kept.withLock { kept in
      if kept.count >= Self.countMax { kept.removeAll() }
      kept[asked] = Kept(query: query, plan: plan)
    }
  }
}
