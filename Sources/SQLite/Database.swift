import CSQLite
import Glibc

/// One connection to one SQLite file.
///
/// Not `Sendable`: exactly one owner guards it, for example `Mutex<Database>`. Opened in WAL mode with
/// `synchronous=FULL`, so what `transaction` returned survives a power cut, unless its caller says that it need not
/// (https://sqlite.org/pragma.html#pragma_synchronous).
public final class Database {
  /// What the connection may do.
  public enum Mode: Sendable {
    /// Reads and writes; the file is made when it is absent.
    case readWrite
    /// Reads only; the file must exist.
    case readOnly
  }

  /// The file's path as given; `:memory:` lives in memory.
  public let path: String

  let handle: OpaquePointer
  private var statements: [String: Statement] = [:]
  /// The same by where their SQL lies in memory: hashing an address takes a fraction of hashing a long text.
  private var statementsByAddress: [UnsafeRawPointer: Statement] = [:]
  private var savepointDepth = 0
  private var flushesCommits = true

  /// Statements kept prepared; beyond this many the cache starts anew, which no caller's fixed set of SQL reaches.
  private static let statementCountMax = 256
  /// SQLite counts every allocation under a lock, unless it is told before its first use that nobody asks.
  private static let countsNoMemory = tm_sqlite3_count_no_memory() == SQLITE_OK
  /// From how many pages on (of 4 KiB) the log is written into the file: of large transactions, not each one.
  private static let checkpointPages = 4_000
  /// How long a statement waits for another process's transaction.
  private static let busyMilliseconds: Int32 = 5_000

  /// Opens the file.
  ///
  /// - Parameter path: The file; `:memory:`; or a URI that begins with `file:` (https://sqlite.org/uri.html).
  public init(path: String, _ mode: Mode = .readWrite) throws(SQLiteError) {
    self.path = path
    _ = Self.countsNoMemory
    let access = mode == .readWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY
    let form = path.hasPrefix("file:") ? SQLITE_OPEN_URI : 0
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(path, &opened, access | form | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
    guard code == SQLITE_OK, let opened else {
      let reason = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
      sqlite3_close_v2(opened)
      throw .cannotOpen(path: path, code: code, reason: reason)
    }
    handle = opened
    sqlite3_busy_timeout(handle, Self.busyMilliseconds)
    try script("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;")
    if mode == .readWrite {
      _ = try rows("PRAGMA journal_mode = WAL")
      _ = try rows("PRAGMA wal_autocheckpoint = \(Self.checkpointPages)")
    }
  }

  deinit {
    statements.removeAll()
    statementsByAddress.removeAll()
    sqlite3_close_v2(handle)
  }

  // MARK: Statements

  /// Runs one statement and drops its rows.
  public func execute(_ sql: String, _ bindings: [SQLiteValue] = []) throws(SQLiteError) {
    let statement = try prepared(sql, bindings)
    defer { statement.rewind() }
    while try step(statement) {}
  }

  /// Runs several statements without bindings, such as a schema.
  public func script(_ sql: String) throws(SQLiteError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    if code != SQLITE_OK { throw failure(code, sql) }
  }

  /// All rows of a query.
  public func rows(_ sql: String, _ bindings: [SQLiteValue] = []) throws(SQLiteError) -> [SQLiteRow] {
    let statement = try prepared(sql, bindings)
    defer { statement.rewind() }
    var found: [SQLiteRow] = []
    while try step(statement) { found.append(statement.row) }
    return found
  }

  /// The first row of a query, or `nil`.
  public func first(_ sql: String, _ bindings: [SQLiteValue] = []) throws(SQLiteError) -> SQLiteRow? {
    let statement = try prepared(sql, bindings)
    defer { statement.rewind() }
    return try step(statement) ? statement.row : nil
  }

  /// Calls `body` with each row, without keeping them: for results that may be large.
  ///
  /// `body` may run other statements, but not the same SQL.
  public func forEach(_ sql: String, _ bindings: [SQLiteValue] = [], _ body: (SQLiteRow) throws -> Void) throws {
    let statement = try prepared(sql, bindings)
    defer { statement.rewind() }
    while try step(statement) { try body(statement.row) }
  }

  /// Rows changed by the last INSERT, UPDATE or DELETE.
  public var changes: Int { Int(sqlite3_changes64(handle)) }

  /// Rows changed since the connection was opened, by triggers too.
  public var totalChanges: Int64 { sqlite3_total_changes64(handle) }

  /// The rowid of the last INSERT.
  public var lastInsertRowID: Int64 { sqlite3_last_insert_rowid(handle) }

  // MARK: Transactions

  /// Whether a transaction is open.
  public var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Says whether each commit waits for the disk from now on.
  ///
  /// Without, the file stays whole, and a process that is killed loses nothing; a power cut takes the last commits, all
  /// that came behind the last one that waited. Not within a transaction.
  public func setFlushesCommits(_ flushes: Bool) throws(SQLiteError) {
    guard flushes != flushesCommits else { return }
    // Not as a kept statement: this one works while it is prepared.
    try script("PRAGMA synchronous = \(flushes ? "FULL" : "NORMAL")")
    flushesCommits = flushes
  }

  /// Commits what `body` returns, or rolls back and rethrows the first error, the one worth reading.
  ///
  /// Takes the write lock at once (`BEGIN IMMEDIATE`), so that it cannot meet a busy database half-way. A call within a
  /// transaction is a savepoint of its own: its failure undoes its own changes only.
  ///
  /// - Parameter isFlushed: Whether this commit waits for the disk, as `setFlushesCommits` says it; `nil` for what that
  ///   was told last. A transaction within another has no say.
  public func transaction<T>(isFlushed: Bool? = nil, _ body: () throws -> T) throws -> T {
    let isNested = isInTransaction
    let flushedBefore = flushesCommits
    if let isFlushed, !isNested { try setFlushesCommits(isFlushed) }
    defer { if !isNested { try? setFlushesCommits(flushedBefore) } }
    let name = "level\(savepointDepth)"
    try execute(isNested ? "SAVEPOINT \(name)" : "BEGIN IMMEDIATE")
    savepointDepth += 1
    defer { savepointDepth -= 1 }
    do {
      let value = try body()
      try execute(isNested ? "RELEASE \(name)" : "COMMIT")
      return value
    } catch {
      if isNested {
        try? execute("ROLLBACK TO \(name)")
        try? execute("RELEASE \(name)")
      } else if isInTransaction {  // SQLite ends the transaction by itself on some errors, a full disk among them.
        try? execute("ROLLBACK")
      }
      throw error
    }
  }

  // MARK: Inner workings

  private func prepared(_ sql: String, _ bindings: [SQLiteValue]) throws(SQLiteError) -> Statement {
    let statement: Statement
    let address = Self.address(of: sql)
    if let cached = address.flatMap({ statementsByAddress[$0] }) ?? statements[sql], !cached.isBusy {
      statement = cached
    } else {
      var raw: OpaquePointer?
      let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &raw, nil)
      guard code == SQLITE_OK, let raw else { throw failure(code, sql) }
      statement = Statement(raw, sql: sql)
      if statements[sql] == nil {
        if statements.count >= Self.statementCountMax { forgetStatements() }
        statements[sql] = statement
        // The statement keeps its SQL, so no other text can come to lie there as long as it stands here.
        if let address { statementsByAddress[address] = statement }
      }
    }
    let code = statement.bind(bindings)
    if code != SQLITE_OK {
      statement.rewind()
      throw failure(code, sql)
    }
    return statement
  }

  private func step(_ statement: Statement) throws(SQLiteError) -> Bool {
    let code = sqlite3_step(statement.raw)
    switch code {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default:
      let error = failure(code, statement.sql)
      forgetStatements()
      throw error
    }
  }

  private func forgetStatements() {
    statements.removeAll()
    statementsByAddress.removeAll()
  }

  /// Where a text's bytes lie; `nil` for one so short that it lies nowhere.
  private static func address(of text: String) -> UnsafeRawPointer? {
    guard text.utf8.count > 15 else { return nil }
    return text.utf8.withContiguousStorageIfAvailable { $0.baseAddress.map(UnsafeRawPointer.init) } ?? nil
  }

  private func failure(_ code: Int32, _ sql: String) -> SQLiteError {
    let reason = String(cString: sqlite3_errmsg(handle))
    return switch code & 0xff {
    case SQLITE_FULL: .diskFull(path: path)
    case SQLITE_IOERR where isForWantOfRoom(code): .diskFull(path: path)
    case SQLITE_BUSY, SQLITE_LOCKED: .busy(path: path)
    case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged(path: path, reason: reason)
    default: .statement(sql: sql, code: code, reason: reason)
    }
  }

  /// Whether a failure of the disk is one of a full disk or quota: also a database that is only read needs a little room,
  /// for the memory that its readers share (`SQLITE_IOERR_SHMSIZE`).
  private func isForWantOfRoom(_ code: Int32) -> Bool {
    let reason = sqlite3_system_errno(handle)
    return code == SQLITE_IOERR | 19 << 8 || reason == ENOSPC || reason == EDQUOT
  }
}

/// A prepared statement, finalised with its last reference.
private final class Statement {
  let raw: OpaquePointer
  let sql: String
  private lazy var names: [String] = (0..<sqlite3_column_count(raw)).map {
    String(cString: sqlite3_column_name(raw, $0))
  }

  init(_ raw: OpaquePointer, sql: String) {
    self.raw = raw
    self.sql = sql
  }

  deinit { sqlite3_finalize(raw) }

  /// Whether it stands in the middle of its rows: a query within the loop over the same query needs its own.
  var isBusy: Bool { sqlite3_stmt_busy(raw) != 0 }

  func bind(_ values: [SQLiteValue]) -> Int32 {
    for (offset, value) in values.enumerated() {
      let index = Int32(offset + 1)
      let code: Int32 =
        switch value {
        case .null: sqlite3_bind_null(raw, index)
        case .integer(let number): sqlite3_bind_int64(raw, index, number)
        case .real(let number): sqlite3_bind_double(raw, index, number)
        case .text(var text):
          text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
              tm_sqlite3_bind_text(raw, index, $0.baseAddress, Int32($0.count))
            }
          }
        case .blob(let bytes):
          bytes.withUnsafeBytes {
            tm_sqlite3_bind_blob(raw, index, $0.baseAddress, Int32($0.count))
          }
        }
      if code != SQLITE_OK { return code }
    }
    return SQLITE_OK
  }

  func rewind() {
    sqlite3_reset(raw)
    sqlite3_clear_bindings(raw)
  }

  var row: SQLiteRow {
    SQLiteRow(names: names, values: (0..<Int32(names.count)).map(value))
  }

  private func value(at index: Int32) -> SQLiteValue {
    switch sqlite3_column_type(raw, index) {
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(raw, index))
    case SQLITE_FLOAT: return .real(sqlite3_column_double(raw, index))
    case SQLITE_TEXT:
      guard let start = sqlite3_column_text(raw, index) else { return .text("") }
      let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(raw, index)))
      return .text(String(decoding: bytes, as: UTF8.self))
    case SQLITE_BLOB:
      let bytes = UnsafeRawBufferPointer(
        start: sqlite3_column_blob(raw, index), count: Int(sqlite3_column_bytes(raw, index)))
      return .blob([UInt8](bytes))
    default: return .null
    }
  }

}
