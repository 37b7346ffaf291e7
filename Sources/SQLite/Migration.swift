/// One step of a database's schema. Never edited once released: a change is a new step at the end.
public struct Migration: Sendable {
  /// A short name for error messages and logs.
  public let name: String
  let apply: @Sendable (Database) throws -> Void

  /// A step written as SQL statements.
  public init(_ name: String, _ sql: String) {
    self.name = name
    apply = { try $0.script(sql) }
  }

  /// A step that needs more than SQL.
  public init(_ name: String, apply: @escaping @Sendable (Database) throws -> Void) {
    self.name = name
    self.apply = apply
  }
}

extension Database {
  /// Brings the schema up to date: each missing step in one transaction with the record that it was done.
  ///
  /// - Parameters:
  ///   - migrations: All steps ever made, oldest first.
  ///   - part: Which part of the file they belong to; several modules may keep their tables in one file.
  /// - Throws: `SQLiteError.newerDatabase` when the file has steps that are not in the list; nothing is changed then.
  public func migrate(_ migrations: [Migration], part: String = "main") throws {
    try execute("CREATE TABLE IF NOT EXISTS schema_version (part TEXT PRIMARY KEY, version INTEGER NOT NULL)")
    let found = Int(
      try first("SELECT version FROM schema_version WHERE part = ?", [.text(part)])?.integer("version") ?? 0)
    guard found <= migrations.count else {
      throw SQLiteError.newerDatabase(path: path, found: found, known: migrations.count)
    }
    for (index, migration) in migrations.enumerated().dropFirst(found) {
      try transaction {
        try migration.apply(self)
        try execute(
          "INSERT INTO schema_version VALUES (?1, ?2) ON CONFLICT (part) DO UPDATE SET version = ?2",
          [.text(part), .integer(Int64(index + 1))])
      }
    }
  }
}
