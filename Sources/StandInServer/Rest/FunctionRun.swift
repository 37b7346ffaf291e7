import LosslessJSON
import SQLite

/// Does what a function's body says and gives its rows as something to select from.
struct FunctionRun {
  let function: StoredFunction
  let arguments: [String: SQLiteValue]
  let database: Database
  let service: RestService
  let caller: Caller
  let now: Timestamp
  let isReadOnly: Bool
  /// Gets every row that is written.
  let journal: ChangeJournal

  /// The function's rows, as what stands behind FROM.
  func rows() throws -> SQLText {
    switch function.body {
    case .nothing: return try scalar(.null)
    case .query(let query): return try rows(of: query)
    case .insert(let name, let values):
      try checkWritable("INSERT")
      let table = try table(name)
      let row = try evaluated(values.map(\.value))
      let given = try zip(values, row).compactMap { assignment, value in
        try table.index(of: assignment.column).map { ($0, try table.columns[$0].fitted(value, now: now)) }
      }
      return try written(try writer(table).insert([given], .fail).rows, of: table)
    case .update(let name, let set, let condition):
      try checkWritable("UPDATE")
      let table = try table(name)
      let found = try matching(table, condition, named: "UPDATE", also: set)
      let places = set.compactMap { table.index(of: $0.column) }
      return try written(
        try writer(table).update(found.map { (row: $0.row, changes: Array(zip(places, $0.more))) }), of: table)
    case .delete(let name, let condition):
      try checkWritable("DELETE")
      let table = try table(name)
      let rows = try matching(table, condition, named: "DELETE", also: []).map(\.row)
      try writer(table).delete(rows)
      return try written(rows, of: table)
    case .raise(let code, let message, let detail, let hint):
      throw try fault(code, message, detail, hint)
    }
  }

  /// Finds mistakes in the function's SQL without running it.
  func check() throws {
    let texts: [SQLText]
    switch function.body {
    case .nothing: texts = []
    case .query(let query): texts = [try text(of: query)]
    case .insert(_, let values): texts = [try text(of: values.map(\.value))]
    case .update(let name, let set, let condition): texts = [try text(of: try table(name), condition, also: set)]
    case .delete(let name, let condition): texts = [try text(of: try table(name), condition, also: [])]
    case .raise(let code, let message, let detail, let hint):
      texts = [try text(of: [code, message] + [detail, hint].compactMap { $0 })]
    }
    for text in texts { _ = try database.rows("EXPLAIN \(text.sql)", text.bindings) }
  }

  // MARK: Queries

  private func text(of query: StoredFunction.Expression) throws -> SQLText {
    // Within a FROM nothing but a query can stand: a function writes by its other bodies alone.
    try visibleTables(for: [query]) + SQLText(sql: "SELECT * FROM (") + sql(query) + SQLText(sql: "\n)")
  }

  private func rows(of query: StoredFunction.Expression) throws -> SQLText {
    let text = try text(of: query)
    switch function.returns {
    case .void:
      _ = try database.first(text.sql, text.bindings)
      return try scalar(.null)
    case .scalar(let type):
      let row = try database.first(text.sql, text.bindings)
      return try scalar(try type.returned(row?.values.first ?? .null, now: now))
    case .row(let name):
      let table = try table(name)
      let row = try database.first(text.sql, text.bindings)
      return rows([row?.values ?? table.columns.map { _ in .null }], of: table)
    case .scalars, .rows, .table:
      // All rows are read and put into their types at once: SQLite's values have none.
      let table = function.table(in: service.schema)
      var found: [[SQLiteValue]] = []
      try database.forEach(text.sql, text.bindings) { row in
        guard row.values.count == table.columns.count else { throw wrongColumns(row.values.count, of: table) }
        found.append(try zip(table.columns, row.values).map { try $0.type.returned($1, now: now) })
      }
      return rows(found, of: table)
    }
  }

  private func wrongColumns(_ count: Int, of table: Table) -> DatabaseFault {
    DatabaseFault(
      "42P13", "return type mismatch in function \(function.name)",
      details: "The query gives \(count) columns, \(table.columns.count) are declared.")
  }

  /// The tables that a piece of SQL mentions, under their own names and with the rows that the caller may see.
  private func visibleTables(for expressions: [StoredFunction.Expression]) throws -> SQLText {
    var parts: [SQLText] = []
    for table in service.schema.tables where expressions.contains(where: { $0.mentions(table.name) }) {
      try caller.checkGrant(table)
      let policy = try caller.policy(of: table, alias: "visible") ?? SQLText(sql: "1")
      parts.append(
        SQLText(sql: "\(quoted(table.name)) AS (SELECT * FROM \(table.sqlName) AS visible WHERE ") + policy
          + SQLText(sql: ")"))
    }
    guard let joined = SQLBuilder.joined(parts, by: ", ") else { return SQLText(sql: "") }
    return SQLText(sql: "WITH ") + joined + SQLText(sql: " ")
  }

  /// A piece of SQL with its arguments bound.
  private func sql(_ expression: StoredFunction.Expression) throws -> SQLText {
    var text = SQLText(sql: "")
    for part in expression.parts {
      switch part {
      case .text(let sql): text.sql += sql
      case .argument(let name):
        text.sql += "?"
        text.bindings.append(try argument(String(name)))
      }
    }
    return text
  }

  /// The values of some expressions.
  private func evaluated(_ expressions: [StoredFunction.Expression]) throws -> [SQLiteValue] {
    let text = try text(of: expressions)
    return try database.first(text.sql, text.bindings)?.values ?? []
  }

  private func text(of expressions: [StoredFunction.Expression]) throws -> SQLText {
    let list = try expressions.map { try SQLText(sql: "(") + sql($0) + SQLText(sql: ")") }
    return try visibleTables(for: expressions) + SQLText(sql: "SELECT ")
      + (SQLBuilder.joined(list, by: ", ") ?? SQLText(sql: "NULL"))
  }

  private func argument(_ name: String) throws -> SQLiteValue {
    if let value = arguments[name] { return value }
    return name == "now" ? .integer(now.microseconds) : .optional(try caller.userID())
  }

  // MARK: Writes

  private func checkWritable(_ command: String) throws(DatabaseFault) {
    guard !isReadOnly else {
      throw DatabaseFault("25006", "cannot execute \(command) in a read-only transaction")
    }
  }

  private func table(_ name: String) throws(DatabaseFault) -> Table {
    guard let table = service.schema.table(named: name) else {
      throw DatabaseFault("42P01", "relation \"\(name)\" does not exist")
    }
    try caller.checkGrant(table)
    return table
  }

  private func writer(_ table: Table) -> RowWriter {
    RowWriter(
      database: database, schema: service.schema, table: table, caller: caller, now: now,
      randomBytes: service.effects.randomBytes, journal: journal)
  }

  /// The rows that a write is for, each with the values of some expressions.
  private func matching(
    _ table: Table, _ condition: StoredFunction.Expression?, named command: String,
    also assignments: [StoredFunction.Assignment]
  ) throws -> [(row: StoredRow, more: [SQLiteValue])] {
    if condition == nil, service.requiresWhere {
      throw DatabaseFault("21000", "\(command) requires a WHERE clause")
    }
    let text = try text(of: table, condition, also: assignments)
    return try database.rows(text.sql, text.bindings).map { row in
      guard case .integer(let rowID) = row[0] else { throw DatabaseFault("XX000", "a row without a place") }
      let values = Array(row.values[1...table.columns.count])
      let more = zip(assignments, row.values[(table.columns.count + 1)...]).map { assignment, value in
        (table.index(of: assignment.column).map { table.columns[$0] }, value)
      }
      return (
        StoredRow(rowID: rowID, values: values), try more.map { try $0?.fitted($1, now: now) ?? $1 }
      )
    }
  }

  private func text(
    of table: Table, _ condition: StoredFunction.Expression?, also assignments: [StoredFunction.Assignment]
  ) throws -> SQLText {
    let alias = quoted(table.name)
    let columns = table.columns.map { "\(alias).\($0.sqlName)" }.joined(separator: ", ")
    var text = try visibleTables(for: assignments.map(\.value) + [condition].compactMap { $0 })
    text = text + SQLText(sql: "SELECT \(alias).rowid, \(columns)")
    for assignment in assignments { text = text + SQLText(sql: ", ") + (try sql(assignment.value)) }
    // Names the real table, whose rows have places; the rows seen through WITH have none.
    text = text + SQLText(sql: " FROM main.\(table.sqlName) AS \(alias) WHERE ")
    text = text + (try caller.policy(of: table, alias: table.name) ?? SQLText(sql: "1"))
    if let condition { text = text + SQLText(sql: " AND (") + (try sql(condition)) + SQLText(sql: ")") }
    return text
  }

  /// What a write returns: its rows, or how many they were.
  private func written(_ rows: [StoredRow], of table: Table) throws -> SQLText {
    switch function.returns {
    case .void: return try scalar(.null)
    case .row: return self.rows([rows.first?.values ?? table.columns.map { _ in .null }], of: table)
    case .rows: return self.rows(rows.map(\.values), of: table)
    default: return try scalar(.integer(Int64(rows.count)))
    }
  }

  // MARK: Results

  private func scalar(_ value: SQLiteValue) throws -> SQLText {
    rows([[value]], of: function.table(in: service.schema))
  }

  /// Rows that were made, as something to select from.
  ///
  /// They travel in one JSON text: a statement has room for few values.
  private func rows(_ rows: [[SQLiteValue]], of table: Table) -> SQLText {
    var text: [UInt8] = [UInt8(ascii: "[")]
    for (index, row) in rows.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text.append(UInt8(ascii: "["))
      for (index, value) in row.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        switch value {
        case .null, .blob: text.append(contentsOf: "null".utf8)
        case .integer(let number): text.append(contentsOf: String(number).utf8)
        case .real(let number) where number.isFinite: text.append(contentsOf: number.description.utf8)
        // The reader takes a number beyond all others for the infinite one.
        case .real(let number): text.append(contentsOf: (number < 0 ? "-9e999" : "9e999").utf8)
        case .text(let string): JSONText.append(string, to: &text)
        }
      }
      text.append(UInt8(ascii: "]"))
    }
    text.append(UInt8(ascii: "]"))
    let columns = table.columns.enumerated().map { index, column in
      "json_extract(value, '$[\(index)]') AS \(column.sqlName)"
    }
    return SQLText(
      sql: "(SELECT \(columns.joined(separator: ", ")) FROM json_each(?)) AS t0",
      bindings: [.text(String(decoding: text, as: UTF8.self))])
  }

  // MARK: Errors

  private func fault(
    _ code: StoredFunction.Expression, _ message: StoredFunction.Expression, _ detail: StoredFunction.Expression?,
    _ hint: StoredFunction.Expression?
  ) throws -> DatabaseFault {
    func text(_ expression: StoredFunction.Expression?) throws -> String? {
      guard let expression, let value = try evaluated([expression]).first else { return nil }
      return ColumnType.text.postgresText(value)
    }
    let state = try text(code) ?? ""
    let isState = state.utf8.count == 5 && state.utf8.allSatisfy { isDigit($0) || (65...90).contains($0) }
    guard isState else { return DatabaseFault("42704", "unrecognized exception condition \"\(state)\"") }
    return DatabaseFault(state, try text(message) ?? "", details: try text(detail), hint: try text(hint))
  }
}

extension ColumnType {
  /// A value that SQLite worked out, as a stored value of the type.
  func returned(_ value: SQLiteValue, now: Timestamp) throws(DatabaseFault) -> SQLiteValue {
    switch (self, value) {
    case (_, .null): return .null
    case (.boolean, .integer(let number)): return .integer(number == 0 ? 0 : 1)
    case (.date, .integer), (.timestamptz, .integer), (.float8, .real): return value
    case (.float8, .integer(let number)): return .real(Double(number))
    case (.int2, .real(let number)), (.int4, .real(let number)), (.int8, .real(let number)):
      return try ColumnType.float8.cast(.real(number), to: self, now: now)
    case (.textArray, .text(let text)), (.int4Array, .text(let text)):
      if let document = try? JSONValue(parsing: text) { return try stored(document, now: now) }
      return try stored(text, now: now)
    case (.int2, .integer), (.int4, .integer):
      do {
        return try stored(ColumnType.int8.postgresText(value) ?? "", now: now)
      } catch {
        throw error.code == "22003" ? DatabaseFault("22003", "\(name) out of range") : error
      }
    default:
      guard let text = ColumnType.float8.postgresText(value) else { return .null }
      return try stored(text, now: now)
    }
  }
}
