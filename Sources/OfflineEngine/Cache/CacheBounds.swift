import SQLite

/// How much of the answers to reads is kept on this device, of all users together.
///
/// Beyond it the answers go that were not used for the longest time; their queries have nothing to show offline until
/// they are asked again. Queued, refused and parked writes never go, nor does what a live read follows, nor the answer
/// that came last.
public struct CacheBounds: Sendable, Hashable {
  /// The most bytes of the kept rows as JSON; rows that several answers show alike count once.
  public var bytes: Int
  /// The most answers.
  public var queries: Int

  /// Bounds of the given sizes.
  public init(bytes: Int, queries: Int) {
    self.bytes = bytes
    self.queries = queries
  }

  /// 64 MiB in 1,000 answers.
  public static let standard = CacheBounds(bytes: 64 << 20, queries: 1_000)
}

extension EngineTransaction {
  /// Drops the lists that were not used for the longest time until what is left is within the bounds.
  ///
  /// - Parameter query: The query whose answer stays in any case.
  func bound(_ bounds: CacheBounds, sparing query: ListQuery) throws {
    try writeUses()
    guard try isBeyond(bounds) else { return }
    let spared = ListUses.Name(user: user, query)
    let lists = try database.rows(
      "SELECT id, user_id, schema_name, table_name, query FROM cached_list ORDER BY used_at, id")
    for row in lists {
      let name = ListUses.Name(
        user: row.text("user_id") ?? "", schema: row.text("schema_name") ?? "", table: row.text("table_name") ?? "",
        query: row.text("query") ?? "")
      guard name != spared, !uses.isHeld(name) else { continue }
      try database.execute("DELETE FROM cached_list WHERE id = ?", [.integer(row.integer("id") ?? 0)])
      guard try isBeyond(bounds) else { return }
    }
  }

  /// Writes down when lists were used.
  func writeUses() throws {
    for (list, time) in uses.takeUsed() {
      try database.execute(
        """
        UPDATE cached_list SET used_at = max(used_at, ?5)
        WHERE user_id = ?1 AND schema_name = ?2 AND table_name = ?3 AND query = ?4
        """,
        [.text(list.user), .text(list.schema), .text(list.table), .text(list.query), .integer(time.nanoseconds)])
    }
  }

  private func isBeyond(_ bounds: CacheBounds) throws -> Bool {
    let lists = try database.first("SELECT count(*) AS n FROM cached_list")?.integer("n") ?? 0
    let bytes = try database.first("SELECT sum(bytes) AS n FROM list_shape")?.integer("n") ?? 0
    return lists > bounds.queries || bytes > bounds.bytes
  }
}
