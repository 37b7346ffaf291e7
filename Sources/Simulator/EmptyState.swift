import FileWorkspace
import OfflineEngine
import SQLite
import Synchronization

/// The state of a workspace that was just made, to be copied: making its tables takes as long as a good part of a day.
final class EmptyState: Sendable {
  static let shared = Result { try EmptyState() }

  /// Every use of the connection is within this lock, so it is never used by two threads at once.
  private let lock = Mutex(())
  private nonisolated(unsafe) let database: Database

  private init() throws {
    let path = "file:/empty-state?vfs=memdb"
    database = try Database(path: path)
    _ = try EngineStore(path: path, clock: LiveClock(), callerMigrations: Workspace.migrations)
  }

  /// Makes another database begin so.
  func copy(to other: Database) throws { try lock.withLock { _ in try other.replace(with: database) } }
}
