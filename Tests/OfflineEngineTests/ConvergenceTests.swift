import LosslessJSON
import Randomness
import StandInServer
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("Passes and pulls together")
struct ConvergenceTests {
  @Test("a pull after a pass finds nothing new in the rows that the pass wrote")
  func afterPass() async throws {
    let ground = try await Ground(10)
    try await ground.replica.pull()
    try ground.replica.insert(key(100), ["title": "new"])
    try ground.replica.update(key(1), ["title": "mine"])
    try ground.replica.delete(key(2))
    #expect(Counts(await ground.replica.sync()) == Counts(synced: 3))
    #expect(try await ground.replica.pull() == PullReport())
    try ground.checkSame()
  }

  @Test("a clock that was set back does not keep the hourly sweep waiting")
  func clockSetBack() async throws {
    let ground = try await Ground(30)
    try await ground.replica.pull()
    ground.world.clock.advance(by: .seconds(-7_200))
    ground.replica.http.forget()
    try await ground.replica.pull()
    #expect(ground.replica.http.lines.contains { $0.contains("order=id.asc") })
    ground.replica.http.forget()
    try await ground.replica.pull()
    #expect(!ground.replica.http.lines.contains { $0.contains("order=id.asc") })
  }

  @Test("two devices that edit, delete and insert in turns agree in the end", arguments: 0..<12 as Range<UInt64>)
  func convergence(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    let ground = try await Ground(12, rowCountMax: 5)
    // Every second seed plays on a network and a server that fail in every way they know.
    let kinds: [StandInFault.Kind] = [
      .dropBefore, .dropAfter, .truncate, .unavailable(retryAfter: 1), .expiredToken, .loginPage, .proxy520,
      .schemaCache(code: "PGRST205"),
    ]
    let fails = seed % 2 == 1
    var inserted: [RowKey] = []
    let replicas = [
      ground.replica,
      try ground.world.replica(ground.session, resolver: ConflictResolvers.lastWriteWins),
    ]
    for replica in replicas { try await replica.pull() }
    for step in 0..<30 {
      let replica = random.pick(replicas)
      if fails {
        ground.world.standIn.faults.append(
          StandInFault(random.pick(kinds), skipping: Int.random(in: 0..<4, using: &random)))
      }
      let number = Int.random(in: 1...14, using: &random)
      let row = try replica.row(key(number))
      switch Int.random(in: 0..<6, using: &random) {
      case 0: if row.values != nil { try replica.delete(key(number), coalesces: true) }
      case 1:
        try replica.insert(key(100 + step), ["title": "new"])
        inserted.append(key(100 + step))
      case 2: _ = await replica.sync()
      case 3: _ = try? await replica.client.pull("tasks")
      default:
        if row.values != nil {
          try replica.update(key(number), [random.pick(["title", "notes"]): .string("\(step)")], coalesces: true)
        }
      }
    }
    ground.world.standIn.faults = []
    for replica in replicas {
      #expect(await replica.sync().stoppedBy == nil)
      // What waits for a person is settled for the server.
      try replica.client.transaction { transaction in
        for entry in try transaction.conflictedMutations() { try transaction.dismissConflictedMutation(entry.id) }
      }
      #expect(try replica.rejected.isEmpty && replica.pending.isEmpty)
    }
    let rows = try ground.world.rows()
    for key in inserted { #expect(rows.filter { $0["id"] == key.values[0] }.count == 1) }
    for replica in replicas {
      try await replica.pull(isConfirmed: true)
      #expect(try replica.rowCount == rows.count)
      for row in rows {
        guard let key = World.tasks.key(of: row) else { continue }
        #expect(try replica.row(key).values == row.picking(World.tasks.readColumns))
      }
    }
  }
}
