import SQLite
import Synchronization

/// The one owner of the engine's SQLite file.
///
/// Every step of the engine is one short synchronous transaction; nothing waits for the network within one.
public final class EngineStore: Sendable {
  /// Every use of the connection is within this lock, so it is never used by two threads at once.
  private let lock = Mutex(())
  private nonisolated(unsafe) let database: Database
  let clock: any EngineClock
  /// The schema of tables that name none.
  let schema: String
  /// Rings after each transaction that has written.
  let changes = ChangeSignal()
  /// What reads on their way may not know of.
  let accepted = AcceptedWrites()
  /// Which kept lists are in use.
  let uses = ListUses()
  private let queries = ParsedQueries()
  private let beforeCommit: (@Sendable () throws -> Void)?

  /// Opens the file at `path`, bringing its schema up to date.
  ///
  /// - Parameters:
  ///   - path: The SQLite file; `:memory:` for a store that ends with the process.
  ///   - clock: The source of the times that entries carry.
  ///   - schema: The schema of tables that name none.
  ///   - callerMigrations: The steps of a caller who keeps tables of its own in the same file, under the part `caller`.
  ///   - beforeCommit: Called before each commit; what it throws takes the transaction back. A simulated process dies so.
  public convenience init(
    path: String, clock: any EngineClock, schema: String = "public", callerMigrations: [Migration] = [],
    beforeCommit: (@Sendable () throws -> Void)? = nil
  ) throws {
    try self.init(Database(path: path), clock, schema, callerMigrations, beforeCommit)
  }

  /// Takes a database that is open, which nobody else uses while the store does.
  public convenience init(
    _ database: sending Database, clock: any EngineClock, callerMigrations: [Migration] = [],
    beforeCommit: (@Sendable () throws -> Void)? = nil
  ) throws {
    try self.init(database, clock, "public", callerMigrations, beforeCommit)
  }

  /// A copy in memory of the state at `path`: what is done to it ends with the process.
  public convenience init(copyOf path: String, clock: any EngineClock, callerMigrations: [Migration] = []) throws {
    try self.init(Database.copyInMemory(of: path), clock, "public", callerMigrations, nil)
  }

  private init(
    _ opened: sending Database, _ clock: any EngineClock, _ schema: String, _ callerMigrations: [Migration],
    _ beforeCommit: (@Sendable () throws -> Void)?
  ) throws {
    try opened.migrate(Migration.engine, part: "engine")
    try opened.migrate(callerMigrations, part: "caller")
    database = opened
    self.clock = clock
    self.schema = schema
    self.beforeCommit = beforeCommit
  }

  /// Commits what `body` did for `user`, or nothing of it.
  ///
  /// The transaction hook of the design: a caller may write to its own tables in the same transaction.
  ///
  /// - Parameter isFlushed: Whether the commit waits for the disk. Without, a power cut may take it, with all that came
  ///   behind it and did not wait either: for what can be had again.
  public func transaction<T: Sendable>(
    user: String, isFlushed: Bool = true, _ body: (EngineTransaction) throws -> T
  ) throws -> T {
    let (result, hasWritten) = try lock.withLock { _ in
      let news = TransactionNews()
      let before = database.totalChanges
      let transaction = transaction(user, news)
      let result = try database.transaction(isFlushed: isFlushed) {
        let result = try body(transaction)
        try beforeCommit?()
        return result
      }
      for item in news.items { accepted.note(item.kind, user: user, schema: item.schema, table: item.table) }
      return (result, database.totalChanges != before)
    }
    if hasWritten { changes.ring() }
    return result
  }

  /// Runs `body` without a transaction, for reads of one statement each.
  public func read<T: Sendable>(user: String, _ body: (EngineTransaction) throws -> T) throws -> T {
    try lock.withLock { _ in try body(transaction(user, TransactionNews())) }
  }

  private func transaction(_ user: String, _ news: TransactionNews) -> EngineTransaction {
    EngineTransaction(
      database: database, user: user, schema: schema, clock: clock, news: news, uses: uses, queries: queries)
  }

  /// What is wrong with the file where an error says that it is damaged, or none of SQLite's; `nil` for other errors.
  public static func damage(_ error: any Error) -> String? {
    if case SQLiteError.damaged(_, let reason)? = error as? SQLiteError { reason } else { nil }
  }

  /// Whether what a transaction threw is a trouble of the device that may pass: a full disk, a database that is busy.
  public static func mayPass(_ error: any Error) -> Bool { (error as? SQLiteError)?.mayPass ?? false }
}

/// The engine's state for one user within one transaction.
///
/// Valid only in the closure it was handed to.
public struct EngineTransaction {
  /// The connection, for a caller's own tables.
  ///
  /// The engine's tables are the engine's.
  public let database: Database
  /// The user whose rows and writes are seen and changed.
  public let user: String
  /// The schema of tables that name none.
  let schema: String
  let clock: any EngineClock
  /// What is said once the transaction is committed.
  let news: TransactionNews
  /// Which kept lists are in use.
  let uses: ListUses
  /// The queries of kept lists.
  let queries: ParsedQueries

  /// The time by the state's clock.
  public var now: WallTime { clock.now() }

  /// A small value kept with the state, such as a switch; `nil` when it was never set.
  public func note(_ name: String) throws -> String? {
    try database.first("SELECT value FROM note WHERE name = ?", [.text(name)])?.text("value")
  }

  /// Keeps a small value; `nil` forgets it.
  public func setNote(_ name: String, _ value: String?) throws {
    if let value {
      try database.execute(
        "INSERT INTO note VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2", [.text(name), .text(value)])
    } else {
      try database.execute("DELETE FROM note WHERE name = ?", [.text(name)])
    }
  }

  /// Deletes the rows, queries, writes and notes of every user.
  func clearEverything() throws {
    let tables = [
      "mutation", "mutation_count", "cached_row", "cached_row_count", "made_row", "row_change", "pull_state",
      "cached_list", "resumable_upload", "cached_file",
    ]
    for table in tables {
      try database.execute("DELETE FROM \(table)")
    }
    try database.execute("UPDATE table_change SET number = number + 1")
  }
}
