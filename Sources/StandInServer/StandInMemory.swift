import SQLite

/// A database in memory that stand-ins use one after another: each finds its tables made and empty.
///
/// Making the tables takes longer than many a short test.
public final class StandInMemory: Sendable {
  let database: SharedDatabase

  /// Makes the tables of a schema, which every stand-in that uses this must have.
  public init(schema: Schema = .tasksAndPhotos) throws(StandInError) {
    let database = try MadeDatabase.open(path: nil, schema: schema)
    do {
      // What one stand-in writes is in one transaction that never ends well.
      try database.execute("BEGIN")
    } catch {
      throw .database(reason: "\(error)")
    }
    self.database = SharedDatabase(database)
  }

  /// Forgets what was written; no stand-in may use it any more that did.
  public func clear() throws {
    try database.use { database in
      try database.execute("ROLLBACK")
      try database.execute("BEGIN")
    }
  }
}

/// A database with everything that a stand-in needs of it.
enum MadeDatabase {
  /// Opens or makes it.
  ///
  /// - Parameter path: The file; `nil` for one in memory.
  static func open(path: String?, schema: Schema) throws(StandInError) -> sending Database {
    do {
      let database = try Database(path: path ?? ":memory:")
      // A killed process loses nothing this way, a power cut perhaps the last requests: enough for a stand-in, and an
      // insert costs no flush of the disk.
      try database.setFlushesCommits(false)
      try SQLFunctions.add(to: database)
      try database.migrate(AuthService.migrations, part: "auth")
      try database.migrate(StorageTables.migrations, part: "storage")
      try TableStore.prepare(database, for: schema)
      return database
    } catch let error as StandInError {
      throw error
    } catch {
      throw .database(reason: "\(error)")
    }
  }
}
