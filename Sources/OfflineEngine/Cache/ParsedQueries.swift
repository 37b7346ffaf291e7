import Synchronization

/// The queries of kept lists, read from their texts once: every write looks at the queries of its table.
final class ParsedQueries: Sendable {
  private struct Name: Hashable {
    let schema: String
    let table: String
    let text: String
  }

  private static let countMax = 1_000
  private let known = Mutex<[Name: ListQuery]>([:])

  /// The query that a text means; `nil` when it is not understood.
  func query(schema: String, table: String, text: String) -> ListQuery? {
    let name = Name(schema: schema, table: table, text: text)
    if let query = known.withLock({ $0[name] }) { return query }
    guard let query = ListQuery(schema: schema, table: table, text: text) else { return nil }
    known.withLock { known in
      if known.count >= Self.countMax { known = [:] }
      known[name] = query
    }
    return query
  }
}
