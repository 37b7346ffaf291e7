import LosslessJSON
import SQLite
import SupabaseAPI
import Testing

@testable import OfflineEngine

/// A world with one user, whose rows are laid out by the test.
struct Ground {
  let world: World
  let session: Session
  let replica: Replica

  init(
    _ count: Int = 0, rowCountMax: Int = 1_000, pageRows: Int = 1_000, tables: [TableDescription] = [World.tasks]
  ) async throws {
    world = try World(rowCountMax: rowCountMax)
    session = try await world.signUp("a@example.com")
    if count > 0 { try world.lay(manyRows(count, owner: session.user.id)) }
    replica = try world.replica(session, tables: tables, pageRows: pageRows)
  }

  /// How often anything was written to the state.
  func writes() throws -> Int64 {
    try replica.store.read(user: session.user.id) {
      try $0.database.first("SELECT total_changes() AS n")?.integer("n") ?? -1
    }
  }

  /// Checks that the cache holds exactly the server's rows.
  func checkSame(sourceLocation: SourceLocation = #_sourceLocation) throws {
    let rows = try world.rows()
    #expect(try replica.rowCount == rows.count, sourceLocation: sourceLocation)
    for row in rows {
      guard let key = replica.table.key(of: row) else { continue }
      let cached = try replica.cached(key)
      #expect(cached?.values == row.picking(replica.table.readColumns), sourceLocation: sourceLocation)
    }
  }

  /// Rows stamped with one time.
  func lay(_ numbers: Range<Int>, at time: String) throws {
    try world.lay(
      numbers.map { number in
        [
          "id": key(number).values[0], "user_id": .string(session.user.id), "title": .string("Task \(number)"),
          "created_at": .string(time), "updated_at": .string(time),
        ]
      })
  }
}
