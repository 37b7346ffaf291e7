import CSQLite

extension Database {
  /// Adds an SQL function to this connection, whose result depends on its arguments alone.
  ///
  /// - Parameters:
  ///   - name: How SQL calls it.
  ///   - argumentCount: How many arguments it takes; -1 for any number.
  ///   - body: Called with the arguments of each row, on the thread that runs the statement.
  public func addFunction(
    _ name: String, argumentCount: Int, _ body: @escaping ([SQLiteValue]) -> SQLiteValue
  ) throws(SQLiteError) {
    let boxed = Unmanaged.passRetained(SQLFunction(body))
    // On failure SQLite calls the destructor as well, so the box is never released here.
    let code = sqlite3_create_function_v2(
      handle, name, Int32(argumentCount), SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, boxed.toOpaque(),
      { context, count, arguments in
        guard let box = sqlite3_user_data(context) else { return }
        let function = Unmanaged<SQLFunction>.fromOpaque(box).takeUnretainedValue()
        let values = (0..<Int(count)).map { SQLFunction.value(arguments?[$0]) }
        SQLFunction.answer(function.body(values), to: context)
      }, nil, nil, { box in box.map { Unmanaged<SQLFunction>.fromOpaque($0).release() } })
    if code != SQLITE_OK {
      throw .statement(sql: name, code: code, reason: String(cString: sqlite3_errmsg(handle)))
    }
  }
}

/// A function's body, kept alive by the connection.
private final class SQLFunction {
  let body: ([SQLiteValue]) -> SQLiteValue

  init(_ body: @escaping ([SQLiteValue]) -> SQLiteValue) { self.body = body }

  static func value(_ raw: OpaquePointer?) -> SQLiteValue {
    switch sqlite3_value_type(raw) {
    case SQLITE_INTEGER: return .integer(sqlite3_value_int64(raw))
    case SQLITE_FLOAT: return .real(sqlite3_value_double(raw))
    case SQLITE_TEXT:
      guard let start = sqlite3_value_text(raw) else { return .text("") }
      let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(raw)))
      return .text(String(decoding: bytes, as: UTF8.self))
    case SQLITE_BLOB:
      return .blob(
        [UInt8](UnsafeRawBufferPointer(start: sqlite3_value_blob(raw), count: Int(sqlite3_value_bytes(raw)))))
    default: return .null
    }
  }

  static func answer(_ value: SQLiteValue, to context: OpaquePointer?) {
    // SQLITE_TRANSIENT, a cast of -1 that Swift cannot import: SQLite copies the bytes before this returns.
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    switch value {
    case .null: sqlite3_result_null(context)
    case .integer(let number): sqlite3_result_int64(context, number)
    case .real(let number): sqlite3_result_double(context, number)
    case .text(let text): sqlite3_result_text(context, text, Int32(text.utf8.count), transient)
    case .blob(let bytes):
      guard !bytes.isEmpty else { return sqlite3_result_zeroblob(context, 0) }
      bytes.withUnsafeBytes { sqlite3_result_blob(context, $0.baseAddress, Int32($0.count), transient) }
    }
  }
}
