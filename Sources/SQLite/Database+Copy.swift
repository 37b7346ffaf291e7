import CSQLite

extension Database {
  /// A copy in memory of the whole database file at `path`, as of its last commit.
  ///
  /// The file is only read, also while others write to it.
  public static func copyInMemory(of path: String) throws(SQLiteError) -> Database {
    let copy = try Database(path: ":memory:")
    try copy.replace(with: Database(path: path))
    return copy
  }

  /// Takes over everything that another database holds, as of its last commit, in place of its own.
  public func replace(with source: Database) throws(SQLiteError) {
    guard let backup = sqlite3_backup_init(handle, "main", source.handle, "main") else {
      throw .cannotOpen(path: source.path, code: SQLITE_ERROR, reason: String(cString: sqlite3_errmsg(handle)))
    }
    let stepped = sqlite3_backup_step(backup, -1)
    sqlite3_backup_finish(backup)
    guard stepped == SQLITE_DONE else {
      throw .cannotOpen(path: source.path, code: stepped, reason: String(cString: sqlite3_errstr(stepped)))
    }
  }
}
