import SQLite

/// Lays the schema's tables out in SQLite, and makes an older data folder's tables fit.
///
/// SQLite keeps rows and finds duplicates fast; defaults, checks, policies and foreign keys are the server's own work,
/// because their errors must be PostgreSQL's.
enum TableStore {
  static func prepare(_ database: Database, for schema: Schema) throws(StandInError) {
    do {
      try database.transaction {
        try database.script(
          """
          CREATE TABLE IF NOT EXISTS stand_in_columns (
            table_name TEXT NOT NULL, column_name TEXT NOT NULL, type TEXT NOT NULL,
            PRIMARY KEY (table_name, column_name))
          """)
        for table in schema.tables { try prepare(table, in: database) }
      }
    } catch let error as StandInError {
      throw error
    } catch {
      throw .database(reason: "\(error)")
    }
  }

  private static func prepare(_ table: Table, in database: Database) throws {
    let rows = try database.rows(
      "SELECT column_name, type FROM stand_in_columns WHERE table_name = ?", [.text(table.name)])
    if rows.isEmpty {
      let columns = table.columns.map { "\($0.sqlName) \($0.type.sqliteType)" }
      try database.script("CREATE TABLE \(table.sqlName) (\(columns.joined(separator: ", ")))")
    }
    for column in table.columns {
      let known = rows.first { $0.text("column_name") == column.name }
      if let type = known?.text("type") {
        guard type == column.type.name else {
          throw StandInError.schemaChanged(
            table: table.name, reason: "its column '\(column.name)' is \(type), the schema says \(column.type.name)")
        }
        continue
      }
      if !rows.isEmpty {
        try database.script("ALTER TABLE \(table.sqlName) ADD COLUMN \(column.sqlName) \(column.type.sqliteType)")
        try fill(column, of: table, in: database)
      }
      try database.execute(
        "INSERT INTO stand_in_columns VALUES (?, ?, ?)",
        [.text(table.name), .text(column.name), .text(column.type.name)])
    }
    try prepareIndexes(of: table, in: database)
  }

  /// Gives the rows that are there the new column's default, as PostgreSQL's ALTER TABLE does.
  private static func fill(_ column: Column, of table: Table, in database: Database) throws {
    if case .literal(let text) = column.defaultValue {
      let value = try column.type.stored(text, now: Timestamp(microseconds: 0))
      try database.execute("UPDATE \(table.sqlName) SET \(column.sqlName) = ?", [value])
    } else if column.notNull, try database.first("SELECT 1 FROM \(table.sqlName) LIMIT 1") != nil {
      throw StandInError.schemaChanged(
        table: table.name, reason: "its rows have no value for the new column '\(column.name)', which may not be null")
    }
  }

  private static func prepareIndexes(of table: Table, in database: Database) throws {
    for key in table.keys {
      let columns = key.columns.map { name in
        table.index(of: name).map { table.columns[$0].type.comparable(quoted(name)) } ?? quoted(name)
      }
      try database.script(
        "CREATE UNIQUE INDEX IF NOT EXISTS \(quoted("public.\(key.name)")) ON \(table.sqlName) "
          + "(\(columns.joined(separator: ", ")))")
    }
    for key in table.foreignKeys {
      try index(key.columns, of: table, in: database)
    }
    // A reader's own rows in the order of their versions: what every sync asks for.
    let owned = [table.owner, table.version?.column].compactMap { $0 }
    if !owned.isEmpty { try index(owned, of: table, in: database) }
  }

  private static func index(_ columns: [String], of table: Table, in database: Database) throws {
    let name = quoted("public.\(table.name)_\(columns.joined(separator: "_"))_idx")
    try database.script(
      "CREATE INDEX IF NOT EXISTS \(name) ON \(table.sqlName) (\(columns.map(quoted).joined(separator: ", ")))")
  }
}
