import LosslessJSON
import SQLite
import SupabaseAPI
import Synchronization
import Testing

@testable import OfflineEngine

@Suite("A pull")
struct PullTests {
  // MARK: The first pull

  @Test(
    "reads every row whatever page the server allows",
    arguments: [
      (1_000, 2_500, 4), (77, 2_500, 34), (1_000, 1_000, 1), (1_000, 999, 1), (1_000, 0, 1), (7, 20, 4),
    ])
  func first(rowCountMax: Int, count: Int, requests: Int) async throws {
    let ground = try await Ground(count, rowCountMax: rowCountMax)
    let report = try await ground.replica.pull()
    #expect(report == PullReport(changed: count))
    #expect(ground.replica.http.lines.filter { $0.hasPrefix("GET /rest") }.count == requests)
    try ground.checkSame()
    // The sweep was the first pull; the next finds nothing.
    ground.replica.http.forget()
    #expect(try await ground.replica.pull() == PullReport())
    try ground.checkSame()
  }

  @Test("believes an empty table at first only when the Auth server vouches for the token")
  func emptyTable() async throws {
    let ground = try await Ground()
    ground.replica.http.before { $0.line.hasPrefix("GET /auth") ? StandInExchange.cut : nil }
    await #expect(throws: SyncFailure.self) { try await ground.replica.pull() }
    #expect(try ground.replica.client.read { try $0.hasBeenSwept("tasks") } == false)
    ground.replica.http.before(nil)
    try await ground.replica.pull()
    #expect(try ground.replica.client.read { try $0.hasBeenSwept("tasks") })
  }

  // MARK: Behind the cursor

  @Test("asks for two small answers when nothing has changed, and writes nothing")
  func quiet() async throws {
    let ground = try await Ground(120)
    try await ground.replica.pull()
    ground.world.clock.advance(by: .seconds(120))
    try await ground.replica.pull()
    ground.replica.http.forget()
    let before = try ground.writes()
    for _ in 0..<5 { #expect(try await ground.replica.pull() == PullReport()) }
    #expect(try ground.writes() == before)
    #expect(ground.replica.http.requests.map(\.method) == Array(repeating: ["GET", "HEAD"], count: 5).flatMap(\.self))
    #expect(
      ground.replica.http.lines[0].hasPrefix(
        "GET /rest/v1/tasks?select=id%2Cupdated_at%2Ctitle%2Cnotes%2Cdone&and=%28updated_at.gte."))
  }

  @Test("reads what changed since, and only that")
  func delta() async throws {
    let ground = try await Ground(200)
    try await ground.replica.pull()
    ground.world.clock.advance(by: .seconds(120))
    try await ground.replica.pull()
    for number in [3, 50, 199] { try ground.world.change(key(number), ["notes": "changed"]) }
    ground.replica.http.forget()
    #expect(try await ground.replica.pull() == PullReport(changed: 3))
    #expect(ground.replica.http.requests.count == 2)  // The three rows, the count.
    try ground.checkSame()
  }

  @Test("keeps the server's order of equal times: no row is skipped or read for ever", arguments: [10, 3, 1])
  func equalTimes(pageRows: Int) async throws {
    let ground = try await Ground(5, pageRows: pageRows)
    try await ground.replica.pull()
    let time = WallTime(seconds: 1_792_100_000).text
    try ground.lay(100..<125, at: time)
    #expect(try await ground.replica.pull() == PullReport(changed: 25))
    try ground.lay(200..<205, at: time)
    #expect(try await ground.replica.pull() == PullReport(changed: 5))
    try ground.checkSame()
    ground.replica.http.forget()
    #expect(try await ground.replica.pull() == PullReport())
  }

  @Test("a first pull whose rows all have one time does not read them again")
  func oneTimeForAll() async throws {
    let ground = try await Ground()
    try ground.lay(0..<50, at: WallTime(seconds: 1_792_100_000).text)
    try await ground.replica.pull()
    ground.world.clock.advance(by: .seconds(120))
    try await ground.replica.pull()
    ground.replica.http.forget()
    try await ground.replica.pull()
    #expect(ground.replica.http.requests.count == 2)
    let state = try ground.replica.client.read { try $0.pullState("tasks") }
    #expect(state.cursorKey == key(49))
  }

  @Test("a row stamped in the future is read, but the cursor does not pass the server's own time")
  func futureRow() async throws {
    let ground = try await Ground(3)
    try await ground.replica.pull()
    try ground.lay(100..<103, at: "2036-01-01T00:00:00+00:00")
    #expect(try await ground.replica.pull() == PullReport(changed: 3))
    let cursor = try ground.replica.client.read { try $0.pullState("tasks") }.cursor
    #expect(cursor?.hasPrefix("2026-") == true)
    try ground.world.change(key(2), ["notes": "now"])
    #expect(try await ground.replica.pull() == PullReport(changed: 1))
    try ground.checkSame()
    // The page ends with future rows, yet the cursor has come to the last honest one.
    let after = try ground.replica.client.read { try $0.pullState("tasks") }
    #expect(after.cursorKey == key(2))
  }

  @Test("a first pull that meets a row of the future still finds its cursor")
  func futureRowAtFirst() async throws {
    let ground = try await Ground(20)
    try ground.lay(100..<101, at: "2036-01-01T00:00:00+00:00")
    try await ground.replica.pull()
    let state = try ground.replica.client.read { try $0.pullState("tasks") }
    #expect(state.cursorKey == key(20))
    ground.replica.http.forget()
    try await ground.replica.pull()
    try ground.checkSame()
  }

  @Test("more future rows than a page are all read", arguments: [2, 5])
  func manyFutureRows(pageRows: Int) async throws {
    let ground = try await Ground(3, pageRows: pageRows)
    try await ground.replica.pull()
    try ground.lay(100..<112, at: "2036-01-01T00:00:00+00:00")
    #expect(try await ground.replica.pull() == PullReport(changed: 12))
    try ground.checkSame()
  }

  // MARK: Late commits

  /// Writes a row as a transaction that began `seconds` before and commits now.
  private func commitLate(_ ground: Ground, _ number: Int, secondsAgo: Int64) throws {
    var everything = try ground.world.admin("GET", "/stand-in/rows").objectValue ?? [:]
    var rows = everything["tasks"]?.arrayValue ?? []
    let time = WallTime(seconds: ground.world.clock.now().seconds - secondsAgo).text
    for index in rows.indices where rows[index]["id"] == key(number).values[0] {
      var row = rows[index].objectValue ?? [:]
      row["notes"] = "late"
      row["updated_at"] = .string(time)
      rows[index] = .object(row)
    }
    everything["tasks"] = .array(rows)
    try ground.world.admin("PUT", "/stand-in/rows", .object(everything))
  }

  @Test("sees a change that was committed late, however seldom it runs", arguments: [5, 300] as [Int64])
  func lateCommit(secondsBetween: Int64) async throws {
    let ground = try await Ground(30)
    try await ground.replica.pull()
    try ground.world.change(key(30), ["notes": "on time"])
    #expect(try await ground.replica.pull() == PullReport(changed: 1))
    // Stamped before the cursor, committed after the pull.
    try commitLate(ground, 7, secondsAgo: 20)
    ground.world.clock.advance(by: .seconds(secondsBetween))
    #expect(try await ground.replica.pull() == PullReport(changed: 1))
    #expect(try ground.replica.cached(key(7))?.values?["notes"] == "late")
    try ground.checkSame()
  }

  @Test("looks back until a pull that began long enough after has ended, and then no more")
  func overlapEnds() async throws {
    let ground = try await Ground(30)
    try await ground.replica.pull()
    try ground.world.change(key(30), ["notes": "last"])
    try await ground.replica.pull()
    var counts: [Int] = []
    for _ in 0..<6 {
      ground.world.clock.advance(by: .seconds(25))
      ground.replica.http.forget()
      try await ground.replica.pull()
      counts.append(ground.replica.http.requests.count)
    }
    // Behind the cursor, the overlap, the count; the third pull began 75 s after and ends it.
    #expect(counts == [3, 3, 3, 2, 2, 2])
  }

  @Test("of an overlap of many rows reads the newest rows each time, and all of it now and then")
  func overlapIsThrottled() async throws {
    let ground = try await Ground(rowCountMax: 100, pageRows: 100)
    try ground.lay(0..<500, at: "2026-10-18T12:59:30+00:00")
    try ground.lay(500..<600, at: "2026-10-18T12:59:50+00:00")
    try await ground.replica.pull()
    /// Commits late, with an older time than the cursor's.
    func late(_ number: Int, _ time: String) throws {
      try ground.lay(number..<number + 1, at: time)
      // Another row leaves, so that the count alone does not tell.
      try ground.world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(number - 1_000).text)")
    }
    try late(1_000, "2026-10-18T12:59:31+00:00")
    ground.replica.http.forget()
    try await ground.replica.pull()
    #expect(ground.replica.http.lines.count == 3)  // Behind the cursor, the newest page, the count.
    #expect(try ground.replica.cached(key(1_000)) == nil)
    // A later change moves the cursor, and is no reason to read all that is old once more.
    try ground.world.change(key(599), ["notes": "later"])
    ground.replica.http.forget()
    #expect(try await ground.replica.pull() == PullReport(changed: 1))
    // Behind the cursor, the newest page, the count.
    #expect(ground.replica.http.lines.count == 3)
    ground.world.clock.advance(by: .seconds(15))
    try await ground.replica.pull()
    #expect(try ground.replica.cached(key(1_000))?.values != nil)
    try late(1_001, "2026-10-18T12:59:50+00:00")
    try await ground.replica.pull()
    #expect(try ground.replica.cached(key(1_001))?.values != nil)
  }

  @Test("reads whole rows in the overlap only where key and version differ")
  func overlapIsCheap() async throws {
    let ground = try await Ground(30)
    try await ground.replica.pull()
    try ground.world.change(key(30), ["notes": "on time"])
    try await ground.replica.pull()
    ground.replica.http.forget()
    try await ground.replica.pull()
    #expect(ground.replica.http.lines[1].hasPrefix("GET /rest/v1/tasks?select=id%2Cupdated_at&updated_at=gt."))
    #expect(!ground.replica.http.lines.contains { $0.contains("id=in.") })
  }

  // MARK: The sweep

  @Test("finds exactly the deleted rows when a count differs")
  func deleted() async throws {
    let ground = try await Ground(200, rowCountMax: 77)
    try await ground.replica.pull()
    let deleted = [1, 78, 154, 200]
    for number in deleted { try ground.world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(number).text)") }
    ground.replica.http.forget()
    #expect(try await ground.replica.pull() == PullReport(gone: 4))
    for number in 1...200 {
      let row = try ground.replica.row(key(number))
      #expect(row.isGone == deleted.contains(number))
    }
    // Keys and versions only, and one read by key of what was missing.
    let reads = ground.replica.http.lines.filter { $0.hasPrefix("GET") && $0.contains("select=id%2Cupdated_at&") }
    #expect(reads.count >= 4)
    #expect(ground.replica.http.lines.filter { $0.contains("id=in.") }.count == 1)
    try ground.checkSame()
  }

  @Test("a row is not gone because a server shows fewer rows than were asked for")
  func shortAnswers() async throws {
    let ground = try await Ground(40, rowCountMax: 7)
    try await ground.replica.pull()
    // Rows that all differ are read by key, sixty at a time; this server gives seven.
    for number in 1...40 { try ground.world.change(key(number), ["notes": "x"]) }
    try ground.world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(9).text)")
    ground.world.clock.advance(by: .seconds(4_000))
    let report = try await ground.replica.pull()
    #expect(report == PullReport(changed: 39, gone: 1))
    try ground.checkSame()
  }

  @Test("sweeps once an hour although no count differs")
  func hourly() async throws {
    let ground = try await Ground(30)
    try await ground.replica.pull()
    ground.world.clock.advance(by: .seconds(120))
    try await ground.replica.pull()
    // A change that no cursor shows: its time went backwards.
    try commitLate(ground, 7, secondsAgo: 3_000_000)
    #expect(try await ground.replica.pull() == PullReport())
    ground.world.clock.advance(by: .seconds(3_600))
    #expect(try await ground.replica.pull() == PullReport(changed: 1))
    try ground.checkSame()
  }

  @Test("rows missing in large numbers wait for a person, cost no sweep at each pull, and are gone once confirmed")
  func brake() async throws {
    let ground = try await Ground(60)
    try await ground.replica.pull()
    for number in 1...25 { try ground.world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(number).text)") }
    #expect(try await ground.replica.pull() == PullReport(heldVanished: 25))
    #expect(try ground.replica.client.read { try $0.heldVanishedRows("tasks") } == 25)
    #expect(try ground.replica.rowCount == 60)
    ground.world.clock.advance(by: .seconds(120))
    #expect(try await ground.replica.pull() == PullReport(heldVanished: 25))
    ground.replica.http.forget()
    #expect(try await ground.replica.pull() == PullReport(heldVanished: 25))
    #expect(ground.replica.http.requests.count == 2)
    #expect(try await ground.replica.pull(isConfirmed: true) == PullReport(gone: 25))
    #expect(try ground.replica.client.read { try $0.heldVanishedRows("tasks") } == 0)
    try ground.checkSame()
  }

  @Test("rows that were held stay so, however few are left of them")
  func brakeStaysOn() async throws {
    let ground = try await Ground(60)
    try await ground.replica.pull()
    for number in 1...25 { try ground.world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(number).text)") }
    #expect(try await ground.replica.pull() == PullReport(heldVanished: 25))
    // A replay has found these gone by itself.
    try ground.replica.client.transaction { for number in 1...23 { try $0.setGone("tasks", key(number)) } }
    ground.world.clock.advance(by: .seconds(7_200))
    #expect(try await ground.replica.pull() == PullReport(heldVanished: 2))
    #expect(try await ground.replica.pull(isConfirmed: true) == PullReport(gone: 2))
    try ground.checkSame()
  }

  @Test("rows that come back while they were held are simply there")
  func brakeReleased() async throws {
    let ground = try await Ground(60)
    try await ground.replica.pull()
    let rows = try ground.world.admin("GET", "/stand-in/rows")
    for number in 1...25 { try ground.world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(number).text)") }
    try await ground.replica.pull()
    try ground.world.admin("PUT", "/stand-in/rows", rows)
    #expect(try await ground.replica.pull() == PullReport())
    #expect(try ground.replica.client.read { try $0.heldVanishedRows("tasks") } == 0)
    try ground.checkSame()
  }

  @Test(
    "the brake holds from twenty rows, or from more than half but at least three",
    arguments: [
      (19, 1_000, false), (20, 1_000, true), (2, 2, false), (2, 3, false), (3, 6, false), (3, 5, true), (4, 7, true),
      (3, 3, true),
    ])
  func brakeLimits(gone: Int, total: Int, isHeld: Bool) {
    #expect(VanishingBrake.holds(gone, of: total) == isHeld)
  }

  @Test("a table that shows nothing any more is believed with proof only", arguments: [true, false])
  func allGone(isProven: Bool) async throws {
    let ground = try await Ground(2)
    try await ground.replica.pull()
    for number in 1...2 { try ground.world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(number).text)") }
    if !isProven { ground.replica.http.before { $0.line.hasPrefix("GET /auth") ? StandInExchange.cut : nil } }
    if isProven {
      #expect(try await ground.replica.pull() == PullReport(gone: 2))
    } else {
      await #expect(throws: SyncFailure.self) { try await ground.replica.pull() }
      #expect(try ground.replica.rowCount == 2)
    }
  }

  // MARK: Other tables

  @Test("a table without a cursor is swept at each pull, and quietly")
  func withoutCursor() async throws {
    var table = World.tasks
    table.cursorColumn = nil
    let ground = try await Ground(120, tables: [table])
    try await ground.replica.pull()
    let before = try ground.writes()
    #expect(try await ground.replica.pull() == PullReport())
    #expect(try ground.writes() - before <= 1)  // When it was swept.
    try ground.world.change(key(5), ["notes": "x"])
    try ground.world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(6).text)")
    #expect(try await ground.replica.pull() == PullReport(changed: 1, gone: 1))
    try ground.checkSame()
  }

  @Test("a table without a version is read whole, page by page, and quietly")
  func withoutVersion() async throws {
    let table = TableDescription(name: "tasks", columns: ["title", "notes", "done"])
    let ground = try await Ground(250, rowCountMax: 100, tables: [table])
    try await ground.replica.pull()
    let before = try ground.writes()
    ground.replica.http.forget()
    #expect(try await ground.replica.pull() == PullReport())
    #expect(ground.replica.http.requests.count == 4)
    #expect(try ground.writes() - before <= 1)
    try ground.world.change(key(5), ["notes": "x"])
    #expect(try await ground.replica.pull() == PullReport(changed: 1))
    try ground.checkSame()
  }

  @Test("a table with a cursor and no version sees a late commit without reading row by row")
  func cursorWithoutVersion() async throws {
    var table = World.tasks
    table.versionColumn = nil
    let ground = try await Ground(30, tables: [table])
    try await ground.replica.pull()
    try ground.world.change(key(30), ["notes": "on time"])
    try await ground.replica.pull()
    try commitLate(ground, 7, secondsAgo: 20)
    ground.replica.http.forget()
    #expect(try await ground.replica.pull() == PullReport(changed: 1))
    #expect(ground.replica.http.requests.count == 3)
    try ground.checkSame()
  }

  @Test("a row that no longer meets the conditions is gone")
  func conditions() async throws {
    var table = World.tasks
    table.conditions = [.eq("done", false)]
    let ground = try await Ground(10, tables: [table])
    try await ground.replica.pull()
    try ground.world.change(key(4), ["done": true])
    #expect(try await ground.replica.pull().gone == 1)
    #expect(try ground.replica.row(key(4)).isGone)
    #expect(try ground.replica.rowCount == 9)
  }

  @Test("other columns or other conditions than before are read from the start")
  func otherShape() async throws {
    let ground = try await Ground(30)
    try await ground.replica.pull()
    for number in 1...5 { try ground.world.change(key(number), ["done": true]) }
    try await ground.replica.pull()
    var table = World.tasks
    table.columns = ["title", "created_at"]
    table.conditions = [.eq("done", true)]
    let other = Replica(ground.replica, tables: [table])
    #expect(try await other.pull() == PullReport(changed: 5, heldVanished: 25))
    #expect(try other.cached(key(3))?.values?["created_at"] != nil)
    #expect(try await other.pull(isConfirmed: true) == PullReport(gone: 25))
    #expect(try other.rowCount == 5)
  }

  // MARK: Late answers

  @Test("an answer that was asked for before a row was learned of does not undo that", arguments: [false, true])
  func lateAnswer(isFirst: Bool) async throws {
    let ground = try await Ground(10)
    if !isFirst {
      try await ground.replica.pull()
      ground.world.clock.advance(by: .seconds(120))
      try ground.world.change(key(4), ["notes": "older"])
    }
    let isTold = Mutex(false)
    ground.replica.http.after { request in
      let isFirst = isTold.withLock { told in
        defer { told = true }
        return !told
      }
      guard isFirst else { return nil }
      // While the answer travels, the row changes and the device is told.
      try? ground.world.change(key(4), ["notes": "newer"])
      let row = try? ground.world.rows().first { $0["id"] == key(4).values[0] }
      try? ground.replica.client.transaction {
        try $0.setCachedRow(World.tasks, key(4), (row ?? [:]).picking(World.tasks.readColumns))
      }
      return nil
    }
    try await ground.replica.pull()
    #expect(try ground.replica.cached(key(4))?.values?["notes"] == "newer")
    #expect(try ground.replica.cached(key(4))?.isStale == false)
    try ground.checkSame()
  }

  @Test("a row that is made anew while it is found missing is not gone")
  func madeMeanwhile() async throws {
    let ground = try await Ground(10)
    try await ground.replica.pull()
    let row = try #require(try ground.world.rows().first { $0["id"] == key(4).values[0] })
    try ground.world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(4).text)")
    ground.replica.http.after { request in
      guard request.line.contains("id=in.") else { return nil }
      try? ground.world.lay([row])
      try? ground.replica.client.transaction {
        try $0.setCachedRow(World.tasks, key(4), row.picking(World.tasks.readColumns))
      }
      return nil
    }
    #expect(try await ground.replica.pull().gone == 0)
    #expect(try ground.replica.row(key(4)).values != nil)
  }

  // MARK: Rows to be read again

  @Test("a row known in parts only is read again, and one that is gone meanwhile does not keep the pull busy")
  func stale() async throws {
    let ground = try await Ground(5)
    try await ground.replica.pull()
    let answer = { (number: Int) -> JSONObject in
      ["id": key(number).values[0], "updated_at": .string(t3), "title": "part"]
    }
    try ground.replica.client.transaction { transaction in
      try transaction.mergeAnswer(World.tasks, key(2), answer(2), guardedWith: "another")
      try transaction.mergeAnswer(World.tasks, key(3), answer(3), guardedWith: "another")
      try transaction.database.execute(
        "UPDATE cached_row SET is_stale = 1, body = NULL WHERE key = ?", [.text(key(5).text)])
    }
    try ground.world.admin("DELETE", "/rest/v1/tasks?id=eq.\(key(3).text)")
    _ = try await ground.replica.pull()
    #expect(try ground.replica.cached(key(2))?.values?["title"] == "Task 2")
    #expect(try ground.replica.cached(key(2))?.isStale == false)
    #expect(try ground.replica.row(key(3)).isGone)
    try ground.checkSame()
  }
}
