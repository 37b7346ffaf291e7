import FileWorkspace
import OfflineEngine
import SQLite
import Synchronization

/// What takes as long to make as a good part of a day, and is as good as new once it is cleared: each is one day's at a time.
final class Reused<Thing: Sendable>: Sendable {
  private let free = Mutex<[Thing]>([])

  /// One that was given back, or a new one.
  func take(_ make: () throws -> Thing) rethrows -> Thing { try free.withLock { $0.popLast() } ?? make() }

  /// Leaves one, cleared, to the next day.
  func giveBack(_ thing: Thing) { free.withLock { $0.append(thing) } }
}

/// The state of one device, which outlives the program: in memory, with the tables made.
///
/// All that a day writes is in one transaction, which is taken back at its end; a transaction of the program is a part of
/// it. So the state of a program that dies in the middle of its transaction stands at the commit before.
final class DeviceState: @unchecked Sendable {  // Proof: one thread runs everything in a world.
  static let free = Reused<DeviceState>()

  let database: Database

  init() throws {
    database = try Database(path: ":memory:")
    nonisolated(unsafe) let database = database
    _ = try EngineStore(database, clock: LiveClock(), callerMigrations: Workspace.migrations)
    try database.execute("BEGIN")
  }

  /// What one run of the program sees of it.
  func store(clock: any EngineClock, beforeCommit: (@Sendable () throws -> Void)? = nil) throws -> EngineStore {
    nonisolated(unsafe) let database = database
    return try EngineStore(
      database, clock: clock, callerMigrations: Workspace.migrations, beforeCommit: beforeCommit)
  }

  /// Forgets what was written.
  func clear() throws {
    try database.execute("ROLLBACK")
    try database.execute("BEGIN")
  }
}
