import SQLite
import Synchronization

/// The one connection, lent to one request at a time: a stand-in serves in an order that can be told.
final class SharedDatabase: Sendable {
  private let database: Mutex<Database>

  init(_ database: consuming sending Database) {
    self.database = Mutex(database)
  }

  /// Runs `work` while nobody else uses the database.
  func use<Result: Sendable>(_ work: @Sendable (Database) throws -> Result) throws -> Result {
    try database.withLock { try work($0) }
  }
}
