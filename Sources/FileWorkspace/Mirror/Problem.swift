import OfflineEngine
import SQLite

/// A file that cannot be read as its row, or another trouble that needs a person.
public struct Problem: Sendable, Hashable {
  /// The file, relative to the workspace.
  public var path: String
  /// Line and column in the file, counted from one, where the trouble is at a place in it.
  public var line: Int?
  /// The column in Unicode scalars.
  public var column: Int?
  /// What was found and what was expected.
  public var message: String
  /// Since when.
  public var since: WallTime

  /// A problem of a file, at a place in it where one is known.
  public init(path: String, line: Int? = nil, column: Int? = nil, message: String, since: WallTime) {
    self.path = path
    self.line = line
    self.column = column
    self.message = message
    self.since = since
  }

  /// `tasks/a.json:3:12: …`, or without a place.
  public var description: String {
    let place = line.map { ":\($0):\(column ?? 1)" } ?? ""
    return "\(path)\(place): \(message)"
  }
}

/// The problems within one transaction.
struct Problems {
  let database: Database

  init(_ transaction: EngineTransaction) { database = transaction.database }

  func all() throws -> [Problem] {
    try database.rows("SELECT * FROM problem ORDER BY path").map { row in
      Problem(
        path: row.text("path") ?? "", line: row.integer("line").map(Int.init),
        column: row.integer("column").map(Int.init),
        message: row.text("message") ?? "", since: WallTime(nanoseconds: row.integer("since") ?? 0))
    }
  }

  func count() throws -> Int {
    Int(try database.first("SELECT count(*) AS n FROM problem")?.integer("n") ?? 0)
  }

  /// Remembers a problem; one that is known keeps its time.
  ///
  /// - Parameter isTold: Whether it is told now, and not when it has lasted.
  /// - Returns: Whether it is new or says something else than before.
  func set(_ problem: Problem, isTold: Bool = true) throws -> Bool {
    let before = try database.first("SELECT message FROM problem WHERE path = ?", [.text(problem.path)])?.text(
      "message")
    let isNew = before != problem.message
    try database.execute(
      """
      INSERT INTO problem (path, line, column, message, since, told) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
      ON CONFLICT (path) DO UPDATE SET line = ?2, column = ?3, message = ?4, told = iif(?7, ?6, told)
      """,
      [
        .text(problem.path), .optional(problem.line.map(Int64.init)), .optional(problem.column.map(Int64.init)),
        .text(problem.message), .integer(problem.since.nanoseconds), .integer(isTold ? 1 : 0), .integer(isNew ? 1 : 0),
      ])
    return isNew
  }

  /// - Returns: Whether there was one that had been told.
  func clear(_ path: String) throws -> Bool {
    let wasTold = try database.first("SELECT told FROM problem WHERE path = ?", [.text(path)])?.integer("told") == 1
    try database.execute("DELETE FROM problem WHERE path = ?", [.text(path)])
    return wasTold
  }

  /// The paths of the problems that are not told yet.
  func untold() throws -> Set<String> {
    Set(try database.rows("SELECT path FROM problem WHERE told = 0").compactMap { $0.text("path") })
  }

  func noteTold(_ path: String) throws {
    try database.execute("UPDATE problem SET told = 1 WHERE path = ?", [.text(path)])
  }

  func paths() throws -> [String] {
    try database.rows("SELECT path FROM problem").compactMap { $0.text("path") }
  }
}
