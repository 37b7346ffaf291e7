import LosslessJSON
import OfflineEngine
import StandInServer
import Testing

@testable import FileWorkspace

@Suite("Conflicts settled as the settings say")
struct ConflictPolicyTests {
  private static let notes = "one\ntwo\nthree\n"

  private static func columns(title: String? = nil, notes: String? = nil) -> [JSONValue] {
    func column(_ name: String, _ policy: String?) -> JSONValue {
      var column: JSONObject = ["name": .string(name), "type": "text"]
      column["conflicts"] = policy.map(JSONValue.string)
      return .object(column)
    }
    return ["id uuid", column("title", title), column("notes", notes), "done boolean"]
  }

  /// A replica with settings, one without any, and another person's row between them.
  private struct Two {
    let world: TaskWorld
    let one: Replica
    let other: Replica

    init(_ conflicts: String?, _ columns: [JSONValue] = ConflictPolicyTests.columns()) async throws {
      world = try await TaskWorld.make([task(1, "Milk", notes: ConflictPolicyTests.notes), task(2, "Bread")])
      one = try world.replica(columns, conflicts: conflicts)
      other = try world.replica()
      try await one.sync()
      try await other.sync()
    }

    /// Both edit, the other is first on the server, and then all come to rest; what the one's syncs told.
    func meet(mine: JSONObject, theirs: JSONObject) async throws -> [WorkspaceEvent] {
      try one.edit("milk.json", mine)
      try other.edit("milk.json", theirs)
      return try await meet()
    }

    func meet() async throws -> [WorkspaceEvent] {
      try await other.settle()
      let events = try await one.sync().files.events
      try await one.settle()
      try await other.settle()
      return events
    }

    /// Both folders are the server's rows, and nothing waits.
    func expectInStep(_ location: SourceLocation = #_sourceLocation) throws {
      for replica in [one, other] {
        #expect(replica.names == other.names, sourceLocation: location)
        #expect(try replica.isClear, sourceLocation: location)
        for name in replica.names {
          #expect(replica.json(name) == other.json(name), sourceLocation: location)
          let row = replica.json(name)?["id"]?.stringValue.flatMap { world.rows[$0] } ?? [:]
          for (column, value) in replica.json(name) ?? [:] {
            #expect(row[column] == value, sourceLocation: location)
          }
        }
      }
      #expect(world.rows.count == other.names.count, sourceLocation: location)
    }
  }

  @Test("mine is sent over theirs, which is in the trash and in the log")
  func mine() async throws {
    let two = try await Two("mine")
    let events = try await two.meet(mine: ["title": "Oat"], theirs: ["title": "Soy", "done": true])
    try two.expectInStep()
    #expect(two.one.json("milk.json")?["title"] == "Oat")
    #expect(two.one.json("milk.json")?["done"] == true)
    #expect(two.one.trash.contains { $0.contains("Soy") })
    let told = events.filter { $0.kind == .settled }
    #expect(
      told == [WorkspaceEvent(.settled, "tasks/milk.json", "title: yours is kept, theirs is in the trash")])
  }

  @Test("theirs stays, and mine is in the trash and in the log")
  func theirs() async throws {
    let two = try await Two("theirs")
    let events = try await two.meet(mine: ["title": "Oat"], theirs: ["title": "Soy", "done": true])
    try two.expectInStep()
    #expect(two.one.json("milk.json")?["title"] == "Soy")
    #expect(two.one.trash.contains { $0.contains("Oat") })
    let told = events.filter { $0.kind == .settled }
    #expect(
      told == [WorkspaceEvent(.settled, "tasks/milk.json", "title: theirs is kept, yours is in the trash")])
  }

  @Test("theirs in one column drops no other column of the same save")
  func theirsBesideOthers() async throws {
    let two = try await Two(nil, Self.columns(title: "theirs"))
    _ = try await two.meet(mine: ["title": "Oat", "done": true], theirs: ["title": "Soy"])
    try two.expectInStep()
    #expect(two.one.json("milk.json")?["title"] == "Soy")
    #expect(two.one.json("milk.json")?["done"] == true)
    #expect(two.one.trash.contains { $0.contains("Oat") })
  }

  @Test("a text is merged line by line on both replicas, and nothing goes to the trash")
  func merge() async throws {
    let two = try await Two(nil, Self.columns(notes: "merge"))
    let events = try await two.meet(mine: ["notes": "ONE\ntwo\nthree\n"], theirs: ["notes": "one\ntwo\nthree\nfour\n"])
    try two.expectInStep()
    #expect(two.one.json("milk.json")?["notes"] == "ONE\ntwo\nthree\nfour\n")
    #expect(two.one.trash.isEmpty)
    #expect(events.contains(WorkspaceEvent(.settled, "tasks/milk.json", "notes: both changes are merged")))
  }

  @Test("a merge beside a title that is to be held holds both")
  func mergeBesideHold() async throws {
    let two = try await Two(nil, Self.columns(notes: "merge"))
    _ = try await two.meet(
      mine: ["title": "Oat", "notes": "ONE\ntwo\nthree\n"], theirs: ["title": "Soy", "notes": "one\ntwo\nTHREE\n"])
    #expect(two.one.names == ["bread.json", "milk.json", "milk.mine.json"])
    #expect(two.one.json("milk.json")?["notes"] == "one\ntwo\nTHREE\n")
    #expect(two.one.json("milk.mine.json")?["notes"] == "ONE\ntwo\nthree\n")
    #expect(two.one.json("milk.mine.json")?["title"] == "Oat")
  }

  @Test("lines that overlap are held, with both texts as they were typed")
  func overlap() async throws {
    let two = try await Two("mine", Self.columns(notes: "merge"))
    _ = try await two.meet(mine: ["notes": "1\ntwo\nthree\n"], theirs: ["notes": "ONE\ntwo\nthree\n"])
    #expect(two.one.json("milk.json")?["notes"] == "ONE\ntwo\nthree\n")
    #expect(two.one.json("milk.mine.json")?["notes"] == "1\ntwo\nthree\n")
    #expect(two.world.rows[key(1)]?["notes"] == "ONE\ntwo\nthree\n")
  }

  @Test("merges made by both replicas, one after the other, keep every line")
  func mergeInTurns() async throws {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "a\nb\nc\nd\ne\nf\ng\n")])
    let replicas = try (0..<3).map { _ in try world.replica(Self.columns(notes: "merge")) }
    for replica in replicas { try await replica.sync() }
    try replicas[0].edit("milk.json", ["notes": "A\nb\nc\nd\ne\nf\ng\n"])
    try replicas[1].edit("milk.json", ["notes": "a\nb\nC\nd\ne\nf\ng\n"])
    try replicas[2].edit("milk.json", ["notes": "a\nb\nc\nd\nE\nf\ng\nh\n"])
    for replica in replicas { try await replica.sync() }
    // Typed before the merge came back as a file.
    try replicas[0].edit("milk.json", ["notes": "A\nb\nc\nd\ne\nf\nG\n"])
    try await replicas[0].sync()
    for _ in 0..<2 { for replica in replicas { try await replica.settle() } }
    // The last line and the one put behind it touch: one of the two is held, and stands in a side file.
    let texts = replicas.flatMap { replica in
      replica.names.compactMap { replica.json($0)?["notes"]?.stringValue }
    }
    for line in ["A", "C", "E", "h", "G"] { #expect(texts.contains { $0.contains(line) }, "\(line)") }
    for replica in replicas { #expect(replica.json("milk.json")?["notes"] == world.rows[key(1)]?["notes"]) }
  }

  // MARK: Deletes

  @Test("a delete that met a change: mine deletes, and the changed row is in the trash")
  func deleteMine() async throws {
    let two = try await Two("mine")
    try two.one.remove("milk.json")
    try two.other.edit("milk.json", ["notes": "typed elsewhere"])
    two.one.advance(.seconds(20))
    let events = try await two.meet()
    try two.expectInStep()
    #expect(two.one.names == ["bread.json"])
    #expect(two.one.trash.contains { $0.contains("typed elsewhere") })
    #expect(events.contains { $0.kind == .settled && $0.detail.contains("deleted, as the settings say") })
  }

  @Test("a delete that met a change: theirs keeps the row, and its file comes back")
  func deleteTheirs() async throws {
    let two = try await Two("theirs")
    try two.one.remove("milk.json")
    try two.other.edit("milk.json", ["notes": "typed elsewhere"])
    two.one.advance(.seconds(20))
    let events = try await two.meet()
    try two.expectInStep()
    #expect(two.one.json("milk.json")?["notes"] == "typed elsewhere")
    #expect(events.contains { $0.kind == .settled && $0.detail.contains("kept, as the settings say") })
  }

  /// Whether the edit is sent before the row is known to be gone, or the other way round.
  @Test("an edit of a gone row: mine makes the row again, with all of its columns", arguments: [true, false])
  func goneMine(isFoundBySending: Bool) async throws {
    let two = try await Two("mine")
    two.world.delete(key(1))
    if !isFoundBySending { _ = try await two.one.client.pull("tasks") }
    try two.one.edit("milk.json", ["title": "Oat"])
    let events = try await two.meet()
    try two.expectInStep()
    #expect(two.one.names.contains("milk.json"))
    #expect(two.world.rows[key(1)]?["title"] == "Oat")
    #expect(two.world.rows[key(1)]?["notes"] == .string(Self.notes))
    #expect(events.contains { $0.kind == .settled && $0.detail.contains("made again") })
  }

  @Test("an edit of a gone row: theirs lets the file go, with the edit in the trash", arguments: [true, false])
  func goneTheirs(isFoundBySending: Bool) async throws {
    let two = try await Two("theirs")
    two.world.delete(key(1))
    if !isFoundBySending { _ = try await two.one.client.pull("tasks") }
    try two.one.edit("milk.json", ["title": "Oat"])
    let events = try await two.meet()
    try two.expectInStep()
    #expect(two.one.names == ["bread.json"])
    #expect(two.one.trash.contains { $0.contains("Oat") })
    #expect(events.contains { $0.kind == .settled && $0.detail.contains("its row is gone") })
  }

  @Test("both replicas for mine: the last to come wins, each loser is in a trash, and there is an end")
  func mineOnBothSides() async throws {
    let world = try await TaskWorld.make([task(1, "Milk")])
    let (one, other) = (try world.replica(conflicts: "mine"), try world.replica(conflicts: "mine"))
    try await one.sync()
    try await other.sync()
    try one.edit("milk.json", ["title": "Oat"])
    try other.edit("milk.json", ["title": "Soy"])
    try await one.sync()
    try await other.sync()
    #expect(try await one.settle() < 5)
    #expect(try await other.settle() < 5)
    #expect(world.rows[key(1)]?["title"] == "Soy")
    #expect(one.json("milk.json")?["title"] == "Soy")
    #expect(other.trash.contains { $0.contains("Oat") })
  }

  // MARK: What a policy does not settle

  @Test(
    "a file that meets its row for the first time has no base: the difference is held", arguments: ["mine", "theirs"])
  func adoption(policy: String) async throws {
    let world = try await TaskWorld.make([task(1, "Milk")])
    let one = try world.replica(conflicts: policy)
    try one.files.person.createFolder("tasks")
    try one.write("mine.json", #"{"id": "\#(key(1))", "title": "Oat", "notes": null}"#)
    try await one.settle()
    #expect(try one.conflicts.count == 1)
    #expect(world.rows[key(1)]?["title"] == "Milk")
  }

  @Test("a conflict that was held stays the person's when the settings change")
  func heldBefore() async throws {
    let two = try await Two(nil)
    _ = try await two.meet(mine: ["title": "Oat"], theirs: ["title": "Soy"])
    try two.one.restart(conflicts: .mine)
    try await two.one.settle()
    #expect(two.one.names.contains("milk.mine.json"))
    #expect(two.world.rows[key(1)]?["title"] == "Soy")
    try two.one.edit("milk.json", ["notes": "mine"])
    try two.other.edit("milk.json", ["notes": "theirs"])
    _ = try await two.meet()
    #expect(two.world.rows[key(1)]?["notes"] == "mine", "a later one follows the settings")
    #expect(two.one.json("milk.mine.json")?["title"] == "Oat")
  }

  @Test("what cannot be kept in the trash is held")
  func trashFails() async throws {
    let two = try await Two("theirs")
    try two.one.edit("milk.json", ["title": "Oat"])
    try two.other.edit("milk.json", ["title": "Soy"])
    try await two.other.settle()
    _ = try await two.one.workspace.scan()
    two.one.files.plan(.error(errno: 28), atOperation: two.one.files.operationCount + 1)
    _ = await two.one.client.syncPendingMutations()
    #expect(try two.one.conflicts.count == 1)
    #expect(two.one.trash.isEmpty)
  }

  @Test("a write that is asked about twice, since the network failed, is kept and told once")
  func askedTwice() async throws {
    let two = try await Two("mine")
    try two.one.edit("milk.json", ["title": "Oat"])
    try two.other.edit("milk.json", ["title": "Soy"])
    try await two.other.settle()
    _ = try await two.one.workspace.scan()
    two.one.network.disconnect(after: 2)
    let first = await two.one.client.syncPendingMutations()
    #expect(first.stoppedBy != nil)
    two.one.network.isConnected = true
    let events = try await two.one.sync().files.events
    #expect(events.count { $0.kind == .settled } == 1)
    #expect(two.one.trash.count { $0.contains("Soy") } == 1)
    #expect(two.world.rows[key(1)]?["title"] == "Oat")
  }
}
