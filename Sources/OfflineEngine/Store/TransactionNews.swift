/// What a transaction has to say to reads on their way once it is committed.
final class TransactionNews {
  /// What an older answer to a read of a table may not show.
  private(set) var items: [(kind: AcceptedWrites.News.Kind, schema: String, table: String)] = []

  func add(_ kind: AcceptedWrites.News.Kind, schema: String, table: String) { items.append((kind, schema, table)) }
}
