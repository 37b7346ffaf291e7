import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("Inserts that follow one another")
struct InsertRunTests {
  private let world: World
  private let session: Session
  private let replica: Replica

  init() async throws {
    world = try World()
    session = try await world.signUp("a@example.com")
    replica = try world.replica(session)
  }

  private var posts: [String] { replica.http.lines.filter { $0.hasPrefix("POST /rest/v1/tasks") } }

  @Test("travel as one request, each with its own row for an answer")
  func oneRequest() async throws {
    for number in 1...40 { try replica.insert(key(number), ["title": .string("Task \(number)")]) }
    let report = await replica.sync()
    #expect(Counts(report) == Counts(synced: 40))
    #expect(posts.count == 1)
    #expect(try world.rows().count == 40)
    #expect(try replica.cached(key(7))?.values?["title"] == "Task 7")
    #expect(try replica.cached(key(7))?.version != nil)
  }

  @Test("keep their order among other writes, and a write behind one takes its version")
  func order() async throws {
    for number in 1...3 { try replica.insert(key(number), ["title": "a"]) }
    try replica.update(key(2), ["title": "b"])
    for number in 4...5 { try replica.insert(key(number), ["title": "c"]) }
    let report = await replica.sync()
    #expect(Counts(report) == Counts(synced: 6))
    #expect(replica.http.requests.map(\.method) == ["POST", "PATCH", "POST"])
    #expect(try world.rows().first { $0["id"] == key(2).values[0] }?["title"] == "b")
  }

  @Test("are refused alone: one bad row among many keeps no other from the server")
  func oneRefused() async throws {
    for number in 1...32 { try replica.insert(key(number), ["title": .string(number == 11 ? " " : "Task \(number)")]) }
    let report = await replica.sync()
    #expect(Counts(report) == Counts(synced: 31, rejected: 1))
    #expect(try replica.rejected.map(\.write.key) == [key(11)])
    #expect(posts.count <= 11, "halved: twice the five steps from 32 to 1, and the whole")
    #expect(try world.rows().count == 31)
  }

  @Test("meet rows that are there already one by one: equal is done, different is a conflict")
  func taken() async throws {
    try replica.insert(key(1), ["title": "mine"])
    try replica.insert(key(2), ["title": "same"])
    _ = await replica.sync()
    let other = try world.replica(session)
    for (number, title) in [(1, "other"), (2, "same"), (3, "new"), (4, "new")] {
      try other.insert(key(number), ["title": .string(title)])
    }
    let report = await other.sync()
    #expect(Counts(report) == Counts(synced: 3, alreadyOnServer: 1, conflicted: 1))
    #expect(try other.conflicted.map(\.write.key) == [key(1)])
    #expect(try world.rows().count == 4)
  }

  @Test("whose answer is lost are all in doubt, and exist once in the end")
  func lostAnswer() async throws {
    for number in 1...5 { try replica.insert(key(number), ["title": .string("Task \(number)")]) }
    replica.http.after { _ in StandInExchange.cut }
    #expect(Counts(await replica.sync()) == Counts(remaining: 5))
    #expect(try replica.pending.map(\.sendCount) == [1, 1, 1, 1, 1])
    replica.http.after(nil)
    #expect(Counts(await replica.sync()) == Counts(synced: 5, alreadyOnServer: 5))
    #expect(try world.rows().count == 5)
  }

  @Test("with different columns travel together, and what one leaves out takes its default as it would alone")
  func differentColumns() async throws {
    try replica.insert(key(1), ["title": "a", "notes": "n"])
    try replica.insert(key(2), ["title": "b", "done": true])
    try replica.insert(key(3), ["title": "c", "notes": .null])
    #expect(Counts(await replica.sync()) == Counts(synced: 3))
    #expect(posts.count == 1)
    #expect(
      try world.rows().map { $0.picking(["title", "notes", "done"]) } == [
        ["title": "a", "notes": "n", "done": false], ["title": "b", "notes": .null, "done": true],
        ["title": "c", "notes": .null, "done": false],
      ])
  }

  @Test("are found together when none of them needed to be made")
  func foundTogether() async throws {
    for number in 1...5 { try replica.insert(key(number), ["title": .string("Task \(number)")]) }
    replica.http.after { _ in StandInExchange.cut }
    _ = await replica.sync()
    replica.http.after(nil)
    replica.http.forget()
    #expect(Counts(await replica.sync()) == Counts(synced: 5, alreadyOnServer: 5))
    #expect(replica.http.requests.map(\.method) == ["POST", "GET"])
  }

  @Test("of which the third names a column that the server does not know wait from there on")
  func unknownColumn() async throws {
    for number in 1...5 {
      try replica.insert(key(number), number == 3 ? ["title": "c", "colour": "red"] : ["title": "a"])
    }
    let report = await replica.sync()
    #expect(Counts(report) == Counts(synced: 2, remaining: 3))
    #expect(try replica.pending.map(\.sendCount) == [0, 0, 0])
    #expect(try world.rows().count == 2)
  }

  @Test("that certainly did not leave are not in doubt, nor are those claimed behind them")
  func offline() async throws {
    for number in 1...5 { try replica.insert(key(number), ["title": .string("Task \(number)")]) }
    try replica.insert(key(6), ["title": "other columns", "notes": "n"])
    replica.http.isOffline = true
    #expect(Counts(await replica.sync()) == Counts(remaining: 6))
    #expect(try replica.pending.allSatisfy { $0.sendCount == 0 })
  }
}
