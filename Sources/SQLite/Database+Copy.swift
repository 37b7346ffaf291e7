import CSQLite

extension Database {
  /// A copy in memory of the whole database file at `path`, as of its last commit.
  ///
  /// The file is only read, also while others write to it.
  public static func copyInMemory(of path: String) throws(SQLiteError) -> Database {
    let source = try Database(path: path)
    let copy = try Database(path: ":memory:")
    guard let backup = sqlite3_backup_init(copy.handle, "main", source.handle, "main") else {
      throw .cannotOpen(path: path, code: SQLITE_ERROR, reason: String(cString: sqlite3_errmsg(copy.handle)))
    }
    let stepped = sqlite3_backup_step(backup, -1)
    sqlite3_backup_finish(backup)
    guard stepped == SQLITE_DONE else {
      throw .cannotOpen(path: path, code: stepped, reason: String(cString: sqlite3_errstr(stepped)))
    }
    return copy
  }
}
