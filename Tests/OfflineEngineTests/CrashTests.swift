import Foundation
import LosslessJSON
import SupabaseAPI
import Synchronization
import Testing

@testable import OfflineEngine

@Suite("A process that dies in mid-pass")
struct CrashTests {
  /// When it dies; what lies on the disk then is what the next process finds.
  enum Moment: String, CaseIterable, Sendable {
    case beforeTheRequestArrives
    case afterTheServerCommitted
    case afterTheLocalCommit
  }

  struct Death: Sendable, CustomTestStringConvertible {
    let operation: MutationOperation
    let moment: Moment
    var testDescription: String { "\(operation.rawValue) \(moment.rawValue)" }
  }

  static let deaths = [MutationOperation.insert, .update, .delete].flatMap { operation in
    Moment.allCases.map { Death(operation: operation, moment: $0) }
  }

  @Test("loses nothing and does nothing twice", arguments: deaths)
  func dies(_ death: Death) async throws {
    let world = try World(schema: World.counted())
    let session = try await world.signUp("a@example.com")
    let folder = try TemporaryFolder()
    let live = folder.file("live.sqlite")
    let found = folder.file("found.sqlite")
    let first = try world.replica(session, path: live, tables: [World.countedTasks], writesInOneRequest: 1)
    let key = key(1)
    if death.operation != .insert {
      try first.insert(key, ["title": "A", "notes": "n"])
      _ = await first.sync()
    }
    switch death.operation {
    case .insert, .upsert: try first.insert(key, ["title": "B"])
    case .update: try first.update(key, ["title": "B"])
    case .delete: try first.delete(key)
    }
    try first.insert(RowKey("00000000-0000-4000-8000-0000000000ff"), ["title": "behind"])
    // The image of the disk is taken while the request is under way; the dying process sends nothing more.
    let isTaken = Mutex(false)
    let take: @Sendable () -> HTTPError = {
      isTaken.withLock { isTaken in
        if !isTaken { Self.copy(live, to: found) }
        isTaken = true
      }
      return StandInExchange.cut
    }
    switch death.moment {
    case .beforeTheRequestArrives: first.http.before { _ in take() }
    case .afterTheServerCommitted: first.http.after { _ in take() }
    case .afterTheLocalCommit:
      let count = Mutex(0)
      first.http.before { _ in
        count.withLock {
          $0 += 1
          return $0 > 1
        } ? take() : nil
      }
    }
    _ = await first.sync()
    let wasTaken = isTaken.withLock { $0 }
    #expect(wasTaken)

    let second = try world.replica(session, path: found, tables: [World.countedTasks])
    let sendCounts = try second.pending.map(\.sendCount)
    #expect(sendCounts.first == 1)  // On record before it left.
    let report = await second.sync()
    #expect(report.stoppedBy == nil)
    #expect(report.rejected.isEmpty && report.conflicted.isEmpty)
    #expect(try second.pending.isEmpty)
    let rows = try world.rows()
    let row = rows.first { $0["id"] == key.values[0] }
    switch death.operation {
    case .insert, .upsert:
      #expect(row?["title"] == "B")
      #expect(row?["version"] == 1)
    case .update:
      #expect(row?["title"] == "B")
      #expect(row?["version"] == 2)
    case .delete: #expect(row == nil)
    }
    #expect(rows.filter { $0["title"] == "behind" }.count == 1)
    try await second.pull()
    #expect(try second.rowCount == rows.count)
  }

  @Test("keeps what a caller was told is queued")
  func queuedIsKept() async throws {
    let world = try World()
    let session = try await world.signUp("a@example.com")
    let folder = try TemporaryFolder()
    let first = try world.replica(session, path: folder.file("live.sqlite"))
    let id = try first.insert(key(1), ["title": "A"])
    Self.copy(folder.file("live.sqlite"), to: folder.file("found.sqlite"))
    let second = try world.replica(session, path: folder.file("found.sqlite"))
    #expect(try second.pending.map(\.id) == [id])
    #expect(try second.pending == first.pending)
  }

  @Test("in the middle of a first pull goes on and ends with every row")
  func pull() async throws {
    let world = try World(rowCountMax: 10)
    let session = try await world.signUp("a@example.com")
    try world.lay(manyRows(45, owner: session.user.id))
    let folder = try TemporaryFolder()
    let first = try world.replica(session, path: folder.file("live.sqlite"), pageRows: 10)
    let count = Mutex(0)
    first.http.before { _ in
      count.withLock {
        $0 += 1
        return $0 > 3
      } ? StandInExchange.cut : nil
    }
    await #expect(throws: SyncFailure.self) { try await first.pull() }
    #expect(try first.rowCount == 30)
    Self.copy(folder.file("live.sqlite"), to: folder.file("found.sqlite"))
    let second = try world.replica(session, path: folder.file("found.sqlite"), pageRows: 10)
    #expect(try second.client.read { try $0.hasBeenSwept("tasks") } == false)
    try await second.pull()
    #expect(try second.rowCount == 45)
    #expect(try second.client.read { try $0.hasBeenSwept("tasks") })
    // It goes on behind the thirtieth row: ten, five and none; the count is for what went meanwhile before it.
    #expect(second.http.requests.count == 4)
    #expect(try second.client.read { try $0.pullState("tasks") }.cursorKey == key(45))
  }

  @Test("in a first pull finds what changed and went behind its back when it goes on", arguments: [false, true])
  func pullBehindBack(hasCursor: Bool) async throws {
    let world = try World(rowCountMax: 10)
    let session = try await world.signUp("a@example.com")
    try world.lay(manyRows(45, owner: session.user.id))
    var table = World.tasks
    if !hasCursor { table.cursorColumn = nil }
    let replica = try world.replica(session, tables: [table], pageRows: 10)
    let count = Mutex(0)
    replica.http.before { _ in
      count.withLock {
        $0 += 1
        return $0 > 3
      } ? StandInExchange.cut : nil
    }
    await #expect(throws: SyncFailure.self) { try await replica.pull() }
    replica.http.before(nil)
    // In the part that was read: one changes, one goes, one comes. In the part that was not: one is newer than all.
    try world.change(key(5), ["notes": "changed"])
    try world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(6).text)")
    var new = manyRows(1, owner: session.user.id, from: 0)
    new[0]["updated_at"] = .string(WallTime(seconds: world.clock.now().seconds).text)
    try world.lay(new)
    try world.change(key(44), ["notes": "newest"])
    world.clock.advance(by: .seconds(90))
    for _ in 0..<3 {
      try await replica.pull()
      world.clock.advance(by: .seconds(61))
    }
    let rows = try world.rows()
    #expect(try replica.rowCount == rows.count)
    for row in rows {
      guard let key = table.key(of: row) else { continue }
      #expect(try replica.cached(key)?.values == row.picking(table.readColumns))
    }
    #expect(try replica.row(key(6)).isGone)
  }

  /// Copies a database as a power cut would leave it.
  private static func copy(_ path: String, to other: String) {
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
      try? FileManager.default.copyItem(atPath: path + suffix, toPath: other + suffix)
    }
  }
}

/// Rows of one owner, stamped one second apart.
func manyRows(_ count: Int, owner: String, from first: Int = 1, startingAt second: Int = 0) -> [JSONObject] {
  (first..<first + count).map { number in
    let time = WallTime(seconds: 1_792_000_000 + Int64(second + number)).text
    return [
      "id": key(number).values[0], "user_id": .string(owner), "title": .string("Task \(number)"),
      "created_at": .string(time), "updated_at": .string(time),
    ]
  }
}
