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
