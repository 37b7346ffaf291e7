import LosslessJSON
import SupabaseAPI
import Synchronization
import Testing

@testable import OfflineEngine

@Suite("The resolver")
struct ResolverTests {
  struct Odd: Error {}

  @Test("is shown the conflict as the specification plays it")
  func shown() async throws {
    let shown = Mutex<[MutationConflict]>([])
    let desk = try Desk([.nothing, .rows(Desk.json("Buy almond milk", done: true, t2))]) { conflict in
      shown.withLock { $0.append(conflict) }
      return .hold
    }
    try desk.cache()
    let id = try #require(
      try desk.rename(
        base: WriteBase(values: ["title": "Buy milk", "done": false, "updated_at": .string(t1)], version: t1)))
    let report = await desk.sync()
    let conflict = try #require(shown.withLock(\.self).first)
    #expect(
      conflict
        == MutationConflict(
          mutationID: id, table: "tasks", operation: .update, rowKey: Desk.key,
          base: ["title": "Buy milk", "done": false, "updated_at": .string(t1)],
          local: ["title": "Buy oat milk", "done": true], server: Desk.row("Buy almond milk", done: true, t2),
          changedOnServer: ["title", "done"], conflictingColumns: ["title"]))
    let entry = try #require(report.conflicted.first)
    #expect(entry.serverVersion == t2)
    #expect(entry.changedOnServer == ["title", "done"])
    #expect(entry.conflictingColumns == ["title"])
    #expect(entry.server == Desk.row("Buy almond milk", done: true, t2))
    #expect(try desk.conflicted == [entry])
    #expect(try desk.client.read { try $0.row("tasks", Desk.key).values?["title"] } == "Buy almond milk")
    #expect(Counts(report) == Counts(conflicted: 1))
  }

  @Test("is shown a delete without columns")
  func shownDelete() async throws {
    let shown = Mutex<[MutationConflict]>([])
    let desk = try Desk([.nothing, .rows(Desk.json("Buy almond milk", t2))]) { conflict in
      shown.withLock { $0.append(conflict) }
      return .hold
    }
    try desk.delete()
    let report = await desk.sync()
    let conflict = try #require(shown.withLock(\.self).first)
    #expect(conflict.local == nil)
    #expect(conflict.changedOnServer.isEmpty && conflict.conflictingColumns.isEmpty)
    #expect(report.conflicted.first?.changedOnServer == [])
  }

  struct Word: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let resolver: ConflictResolver
    var isDelete = false
    /// The row as the read by key finds it; an empty list when it is gone.
    var found = Desk.json("Buy almond milk", t2)
    var then: [ScriptedExchange.Step] = []
    let counts: Counts
    var body: String?
  }

  static let words: [Word] = [
    Word(
      testDescription: "keep local sends the write against the server's version", resolver: { _ in .keepLocal },
      then: [.rows(Desk.json("Buy oat milk", done: true, t3))], counts: Counts(synced: 1, resolved: 1),
      body: #"{"title":"Buy oat milk","done":true}"#),
    Word(
      testDescription: "apply sends the chosen columns instead", resolver: { _ in .apply(["title": "Both"]) },
      then: [.rows(Desk.json("Both", t3))], counts: Counts(synced: 1, resolved: 1), body: #"{"title":"Both"}"#),
    Word(
      testDescription: "apply of columns that the row says already sends nothing",
      resolver: { _ in .apply(["done": true]) },
      found: Desk.json("Buy almond milk", done: true, t2), counts: Counts(synced: 1, alreadyOnServer: 1, resolved: 1)),
    Word(
      testDescription: "apply of no column parks", resolver: { _ in .apply([:]) }, counts: Counts(conflicted: 1)),
    Word(
      testDescription: "apply to a delete parks", resolver: { _ in .apply(["title": "Both"]) }, isDelete: true,
      counts: Counts(conflicted: 1)),
    Word(
      testDescription: "keep server drops the write", resolver: { _ in .keepServer }, counts: Counts(keptServer: 1)),
    Word(testDescription: "hold parks", resolver: { _ in .hold }, counts: Counts(conflicted: 1)),
    Word(testDescription: "a throw parks", resolver: { _ in throw Odd() }, counts: Counts(conflicted: 1)),
    Word(
      testDescription: "keep local of a gone row parks", resolver: { _ in .keepLocal }, found: "[]",
      then: [.user(Desk.user)], counts: Counts(conflicted: 1)),
    Word(
      testDescription: "apply to a gone row parks", resolver: { _ in .apply(["title": "x"]) }, found: "[]",
      then: [.user(Desk.user)], counts: Counts(conflicted: 1)),
    Word(
      testDescription: "keep server of a gone row drops the write", resolver: { _ in .keepServer }, found: "[]",
      then: [.user(Desk.user)], counts: Counts(keptServer: 1)),
    Word(
      testDescription: "a delete is kept", resolver: { _ in .keepLocal }, isDelete: true,
      then: [.rows(#"[{"id":42,"updated_at":"\#(t2)"}]"#)], counts: Counts(synced: 1, resolved: 1)),
  ]

  @Test("decides what becomes of the write", arguments: words)
  func decides(_ word: Word) async throws {
    let desk = try Desk([.nothing, .rows(word.found)] + word.then, resolver: word.resolver)
    try desk.cache()
    if word.isDelete { try desk.delete() } else { try desk.rename() }
    let report = await desk.sync()
    #expect(Counts(report) == word.counts)
    if let body = word.body {
      #expect(desk.http.requests.last?.text == body)
      #expect(desk.http.lines.last?.contains("updated_at=eq.2026-10-18T13%3A04%3A00.000001%2B00%3A00") == true)
    }
    desk.checkScript()
  }

  @Test("keep server lays the server's row into the cache and later writes still meet the move")
  func keepServerCache() async throws {
    let desk = try Desk([.nothing, .rows(Desk.json("Buy almond milk", t2))]) { _ in .keepServer }
    try desk.cache()
    try desk.rename()
    try desk.rename(["done": true], base: WriteBase(values: ["done": true], version: t1))
    desk.http.add([.offline])
    _ = await desk.sync()
    #expect(try desk.cached?.values == Desk.row("Buy almond milk", t2))
    #expect(try desk.pending.map(\.baseVersion) == [t1])
  }

  // MARK: Moving again

  @Test("a row that moves at every send is parked after the third, and a conflict counts once")
  func threeSends() async throws {
    let asked = Mutex(0)
    let versions = (1...9).map { "2026-10-18T14:00:0\($0)+00:00" }
    let desk = try Desk([
      .nothing, .rows(Desk.json("Theirs 1", versions[0])), .nothing, .rows(Desk.json("Theirs 2", versions[1])),
      .nothing, .rows(Desk.json("Theirs 3", versions[2])),
    ]) { _ in
      asked.withLock { $0 += 1 }
      return .keepLocal
    }
    try desk.rename()
    let report = await desk.sync()
    #expect(asked.withLock(\.self) == 2)
    #expect(desk.http.lines.filter { $0.hasPrefix("PATCH") }.count == 3)
    #expect(Counts(report) == Counts(conflicted: 1))
    #expect(report.conflicted.first?.serverVersion == versions[2])
    desk.checkScript()
  }

  @Test("a write that is asked about twice and then sent is one settled conflict")
  func countsOnce() async throws {
    let desk = try Desk([
      .nothing, .rows(Desk.json("Theirs 1", t2)), .nothing, .rows(Desk.json("Theirs 2", t3)),
      .rows(Desk.json("Buy oat milk", done: true, "2026-10-18T15:00:00+00:00")),
    ])
    try desk.rename()
    let report = await desk.sync()
    #expect(Counts(report) == Counts(synced: 1, resolved: 1))
    desk.checkScript()
  }

  @Test("a row gone at the third send parks without asking")
  func goneAtThird() async throws {
    let asked = Mutex(0)
    let desk = try Desk([
      .nothing, .rows(Desk.json("Theirs 1", t2)), .nothing, .rows(Desk.json("Theirs 2", t3)), .nothing, .nothing,
    ]) { _ in
      asked.withLock { $0 += 1 }
      return .keepLocal
    }
    try desk.rename()
    let report = await desk.sync()
    #expect(asked.withLock(\.self) == 2)
    #expect(Counts(report) == Counts(conflicted: 1))
    #expect(report.conflicted.first?.server == nil)
    desk.checkScript()
  }

  @Test("after a resend a column the writer never saw is compared with what the read showed")
  func unseenAfterResend() async throws {
    let asked = Mutex(0)
    let desk = try Desk([
      .nothing, .rows(Desk.json("A", done: false, t2)), .nothing, .rows(Desk.json("B", done: false, t3)),
      .rows(Desk.json("B", done: true, "2026-10-18T15:00:00+00:00")),
    ]) { _ in
      asked.withLock { $0 += 1 }
      return .keepLocal
    }
    try desk.rename(["done": true], base: WriteBase(values: [:], version: t1))
    let report = await desk.sync()
    #expect(asked.withLock(\.self) == 1)
    #expect(Counts(report) == Counts(synced: 1, resolved: 1))
    desk.checkScript()
  }

  // MARK: Time

  @Test("thirty seconds without an answer park the write, and the late answer is dropped")
  func slow() async throws {
    let gate = Gate()
    let desk = try Desk([.nothing, .rows(Desk.json("Buy almond milk", t2))]) { _ in
      await gate.opened()
      return .keepLocal
    }
    try desk.rename()
    async let passing = desk.sync()
    await desk.clock.someoneSleeps()
    desk.clock.advance(by: .seconds(30))
    let report = await passing
    #expect(Counts(report) == Counts(conflicted: 1))
    gate.open()
    #expect(try desk.conflicted.count == 1)
    desk.checkScript()
  }

  @Test("a cancelled pass decides nothing, and the write stays queued")
  func cancelled() async throws {
    let gate = Gate()
    let never = VirtualClock()
    let desk = try Desk([.nothing, .rows(Desk.json("Buy almond milk", t2))]) { _ in
      gate.open()
      try await never.sleep(for: .seconds(3600))
      return .keepServer
    }
    try desk.rename()
    let pass = Task { await desk.sync() }
    await gate.opened()
    pass.cancel()
    let report = await pass.value
    #expect(Counts(report) == Counts(remaining: 1))
    guard case .cancelled? = report.stoppedBy else {
      Issue.record("stopped by \(String(describing: report.stoppedBy))")
      return
    }
  }

  @Test("without one the last write wins column by column, and an update of a gone row is dropped")
  func standard() async throws {
    let conflict = { (operation: MutationOperation, server: JSONObject?) in
      MutationConflict(
        mutationID: 1, table: "tasks", operation: operation, rowKey: Desk.key, base: [:], local: [:], server: server,
        changedOnServer: ["title"], conflictingColumns: ["title"])
    }
    #expect(try await ConflictResolvers.lastWriteWins(conflict(.update, [:])) == .keepLocal)
    #expect(try await ConflictResolvers.lastWriteWins(conflict(.delete, [:])) == .keepLocal)
    #expect(try await ConflictResolvers.lastWriteWins(conflict(.update, nil)) == .keepServer)
    #expect(try await ConflictResolvers.holdDisagreements(conflict(.update, [:])) == .hold)
    #expect(try await ConflictResolvers.holdDisagreements(conflict(.delete, [:])) == .hold)
    #expect(try await ConflictResolvers.holdDisagreements(conflict(.update, nil)) == .hold)
    var agreed = conflict(.update, [:])
    agreed.conflictingColumns = []
    #expect(try await ConflictResolvers.holdDisagreements(agreed) == .keepLocal)
  }
}
