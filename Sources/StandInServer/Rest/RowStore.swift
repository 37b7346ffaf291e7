import LosslessJSON
import SQLite

/// All rows of all tables, laid out or read without triggers, defaults, checks and policies.
struct RowStore {
  let schema: Schema
  let now: Timestamp

  /// Replaces everything by `{"tasks": [{…}, …], …}`; a table that is not named becomes empty, a column that is not
  /// named NULL.
  func replace(with value: JSONValue, in database: Database) throws {
    guard let tables = value.objectValue else { throw RowStoreError.notAnObject }
    try database.transaction {
      for table in schema.tables {
        try database.execute("DELETE FROM \(table.sqlName)")
        guard let rows = tables[table.name]?.arrayValue else { continue }
        let marks = table.columns.map { _ in "?" }.joined(separator: ", ")
        for row in rows {
          let values = try table.columns.map { try $0.type.stored(row[$0.name] ?? .null, now: now) }
          try database.execute("INSERT INTO \(table.sqlName) VALUES (\(marks))", values)
        }
      }
    }
  }

  /// Replaces everything, and gives what differs afterwards as the changes of one transaction, for those who listen.
  ///
  /// Rows of tables without a primary key come and go unseen.
  func changes(replacingWith value: JSONValue, in database: Database) throws -> [RowChange] {
    let before = try schema.tables.map { try keyed($0, in: database) }
    try replace(with: value, in: database)
    var changes: [RowChange] = []
    for (table, before) in zip(schema.tables, before) {
      let after = try keyed(table, in: database)
      func change(_ kind: RowChange.Kind, _ old: [SQLiteValue]?, _ new: [SQLiteValue]?) -> RowChange {
        RowChange(table: table, kind: kind, old: old, new: new, committedAt: now)
      }
      for (key, old) in before where after[key] == nil { changes.append(change(.delete, old, nil)) }
      for (key, new) in after {
        guard let old = before[key] else {
          changes.append(change(.insert, nil, new))
          continue
        }
        if old != new { changes.append(change(.update, old, new)) }
      }
    }
    return changes
  }

  private func keyed(_ table: Table, in database: Database) throws -> [[SQLiteValue]: [SQLiteValue]] {
    guard !table.primaryKey.isEmpty else { return [:] }
    let columns = table.columns.map(\.sqlName).joined(separator: ", ")
    let places = table.primaryKey.compactMap(table.index)
    var rows: [[SQLiteValue]: [SQLiteValue]] = [:]
    try database.forEach("SELECT \(columns) FROM \(table.sqlName)") { row in
      let values = table.columns.indices.map { row[$0] }
      rows[places.map { values[$0] }] = values
    }
    return rows
  }

  /// Everything, in the form that `replace` takes, rows in the order in which they came.
  func everything(in database: Database) throws -> [UInt8] {
    var output: [UInt8] = [UInt8(ascii: "{")]
    for (index, table) in schema.tables.enumerated() {
      if index > 0 { output.append(UInt8(ascii: ",")) }
      JSONText.append(table.name, to: &output)
      output.append(UInt8(ascii: ":"))
      let projection = try Projection([.everything], of: SQLBuilder(table: table, now: now))
      let columns = table.columns.map(\.sqlName).joined(separator: ", ")
      let rows = try database.rows("SELECT \(columns) FROM \(table.sqlName) ORDER BY rowid")
      output.append(UInt8(ascii: "["))
      for (index, row) in rows.enumerated() {
        if index > 0 { output.append(contentsOf: ", \n ".utf8) }
        output.append(UInt8(ascii: "{"))
        let values = table.columns.indices.map { row[$0] }
        _ = try projection.appendMembers(values, leavesOutNulls: false, to: &output, now: now)
        output.append(UInt8(ascii: "}"))
      }
      output.append(UInt8(ascii: "]"))
    }
    output.append(UInt8(ascii: "}"))
    return output
  }
}

/// Why rows cannot be laid out.
enum RowStoreError: Error, CustomStringConvertible {
  case notAnObject

  var description: String { "expected a JSON object of tables" }
}
