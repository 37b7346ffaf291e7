import Foundation
import SQLite
import Testing

/// A folder of its own for one test, removed with it.
private final class Folder {
  let path: String
  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-sqlite-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(atPath: path) }
  var database: String { path + "/state.sqlite" }
}

@Suite("The SQLite wrapper") struct DatabaseTests {
  @Test(
    "a bound value comes back as it was",
    arguments: [
      .null, .integer(.max), .integer(.min), .real(0.1), .text(""), .text("caf\u{e9} \u{1F30A} a\0b"), .blob([]),
      .blob([0, 255]),
    ] as [SQLiteValue])
  func roundTrip(_ value: SQLiteValue) throws {
    let database = try Database(path: ":memory:")
    #expect(try database.first("SELECT ? AS x", [value])?["x"] == value)
  }

  @Test("a failed transaction leaves nothing and passes the error on")
  func rollback() throws {
    struct Stop: Error {}
    let database = try Database(path: ":memory:")
    try database.script("CREATE TABLE t (x)")
    #expect(throws: Stop.self) {
      try database.transaction {
        try database.execute("INSERT INTO t VALUES (1)")
        throw Stop()
      }
    }
    #expect(try database.rows("SELECT * FROM t").isEmpty)
    #expect(!database.isInTransaction)
  }

  @Test("a failed inner transaction undoes its own changes only")
  func savepoint() throws {
    struct Stop: Error {}
    let database = try Database(path: ":memory:")
    try database.script("CREATE TABLE t (x)")
    try database.transaction {
      try database.execute("INSERT INTO t VALUES (1)")
      try? database.transaction {
        try database.execute("INSERT INTO t VALUES (2)")
        throw Stop()
      }
      try database.transaction { try database.execute("INSERT INTO t VALUES (3)") }
    }
    #expect(try database.rows("SELECT x FROM t ORDER BY x").map { $0[0] } == [.integer(1), .integer(3)])
  }

  @Test("the same query may run within the loop over itself")
  func reentrant() throws {
    let database = try Database(path: ":memory:")
    try database.script("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2)")
    var seen = 0
    try database.forEach("SELECT x FROM t") { _ in seen += try database.rows("SELECT x FROM t").count }
    #expect(seen == 4)
  }

  @Test("an error names the statement and never a bound value")
  func errorWithoutValues() throws {
    let database = try Database(path: ":memory:")
    try database.script("CREATE TABLE t (x TEXT UNIQUE)")
    try database.execute("INSERT INTO t VALUES (?)", ["hunter2"])
    let error = #expect(throws: SQLiteError.self) { try database.execute("INSERT INTO t VALUES (?)", ["hunter2"]) }
    #expect(error?.description.contains("INSERT INTO t") == true)
    #expect(error?.description.contains("hunter2") == false)
  }

  @Test("commits are in WAL mode and flushed in full")
  func durability() throws {
    let folder = try Folder()
    let database = try Database(path: folder.database)
    #expect(try database.first("PRAGMA journal_mode")?[0] == .text("wal"))
    #expect(try database.first("PRAGMA synchronous")?[0] == .integer(2))
  }

  @Test("one commit may be let off waiting for the disk, again and again, and so may all but one")
  func unflushedCommits() throws {
    let folder = try Folder()
    let database = try Database(path: folder.database)
    func level() throws -> SQLiteValue? { try database.first("PRAGMA synchronous")?[0] }
    let (full, normal) = (SQLiteValue.integer(2), SQLiteValue.integer(1))
    for _ in 0..<3 {
      #expect(try database.transaction(isFlushed: false) { try level() } == normal)
      #expect(try database.transaction { try level() } == full)
    }
    #expect(throws: CancellationError.self) {
      try database.transaction(isFlushed: false) { throw CancellationError() }
    }
    #expect(try level() == full)
    // One within another has no say.
    #expect(try database.transaction { try database.transaction(isFlushed: false) { try level() } } == full)
    try database.setFlushesCommits(false)
    for _ in 0..<3 {
      #expect(try database.transaction { try level() } == normal)
      #expect(try database.transaction(isFlushed: true) { try level() } == full)
    }
    #expect(try level() == normal)
  }

  @Test("migrations run once, in order, and a failed one leaves the last good schema")
  func migrations() throws {
    let folder = try Folder()
    let first = Migration("make t", "CREATE TABLE t (x)")
    let second = Migration("fill t", "INSERT INTO t VALUES (1)")
    try Database(path: folder.database).migrate([first])
    let database = try Database(path: folder.database)
    #expect(throws: SQLiteError.self) {
      try database.migrate([first, Migration("broken", "INSERT INTO nowhere VALUES (1)")])
    }
    try database.migrate([first, second])
    try database.migrate([first, second])
    #expect(try database.rows("SELECT * FROM t").count == 1)
  }

  @Test("a database of a newer program is refused and left as it is")
  func newerDatabase() throws {
    let folder = try Folder()
    let steps = [Migration("one", "CREATE TABLE a (x)"), Migration("two", "CREATE TABLE b (x)")]
    try Database(path: folder.database).migrate(steps)
    let error = #expect(throws: SQLiteError.self) { try Database(path: folder.database).migrate([steps[0]]) }
    #expect(error == .newerDatabase(path: folder.database, found: 2, known: 1))
  }

  @Test("a file that is no database is refused with its name")
  func damaged() throws {
    let folder = try Folder()
    try Data(repeating: 65, count: 8192).write(to: URL(fileURLWithPath: folder.database))
    let error = #expect(throws: SQLiteError.self) { try Database(path: folder.database) }
    #expect(error?.description.contains(folder.database) == true)
  }

  @Test("two connections in two threads write one after the other")
  func busyHandling() async throws {
    let folder = try Folder()
    let path = folder.database
    try Database(path: path).script("CREATE TABLE t (x)")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          let database = try Database(path: path)
          for number in 0..<50 {
            try database.transaction { try database.execute("INSERT INTO t VALUES (?)", [.integer(Int64(number))]) }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try Database(path: path).first("SELECT count(*) FROM t")?[0] == .integer(100))
  }
}
