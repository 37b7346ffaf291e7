import CSQLite

/// Why a database call failed.
///
/// Never carries a bound value.
public enum SQLiteError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file cannot be opened: no permission, no folder, not a database.
  case cannotOpen(path: String, code: Int32, reason: String)
  /// The file was written by a newer program, with migrations that this one does not know.
  case newerDatabase(path: String, found: Int, known: Int)
  /// The disk or the quota is full; nothing of the transaction was kept.
  case diskFull(path: String)
  /// Another process held the database for longer than the busy limit.
  case busy(path: String)
  /// The file is damaged or is no database.
  case damaged(path: String, reason: String)
  /// Any other failure of one statement, with SQLite's extended result code.
  case statement(sql: String, code: Int32, reason: String)

  /// Whether the same call may work later, once there is room, or another process has finished.
  public var mayPass: Bool {
    switch self {
    case .diskFull, .busy, .cannotOpen: true
    case .statement(_, let code, _): code & 0xFF == SQLITE_IOERR
    case .newerDatabase, .damaged: false
    }
  }

  /// Whether a row was refused since another one has a value that must be unique; the transaction goes on without it.
  public var isUniqueViolation: Bool {
    if case .statement(_, SQLITE_CONSTRAINT | 8 << 8, _) = self { true } else { false }  // SQLITE_CONSTRAINT_UNIQUE
  }

  /// What happened, to which file, and what to do.
  public var description: String {
    switch self {
    case .cannotOpen(let path, let code, let reason):
      "cannot open the database '\(path)': \(reason) (SQLite \(code)); check that the folder exists and is writable"
    case .newerDatabase(let path, let found, let known):
      "the database '\(path)' was written by a newer program (its version is \(found), this program knows "
        + "\(known)); use that program, nothing was changed"
    case .diskFull(let path):
      "the disk is full: '\(path)' could not be written, nothing of this step was kept; free some space"
    case .busy(let path):
      "the database '\(path)' is held by another process; wait for it to finish or stop it"
    case .damaged(let path, let reason):
      "the database '\(path)' is damaged: \(reason); nothing was changed"
    case .statement(let sql, let code, let reason):
      "the database refused a statement: \(reason) (SQLite \(code)) in: \(sql)"
    }
  }
}
