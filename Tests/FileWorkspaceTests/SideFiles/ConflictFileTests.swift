import LosslessJSON
import OfflineEngine
import StandInServer
import Testing

@testable import FileWorkspace

@Suite("Side files of conflicts")
struct ConflictFileTests {
  /// Two replicas of one row, of which the first has met the second's change of the title.
  private func conflict(
    mine: JSONObject = ["title": "Mine"], theirs: JSONObject = ["title": "Theirs"]
  ) async throws -> (world: TaskWorld, one: Replica, other: Replica) {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "two")])
    let (one, other) = (try world.replica(), try world.replica())
    try await one.sync()
    try await other.sync()
    try one.edit("milk.json", mine)
    try other.edit("milk.json", theirs)
    try await other.sync()
    try await one.sync()
    return (world, one, other)
  }

  @Test("the main file shows theirs and the side file the person's whole text, and both stay so")
  func sideBySide() async throws {
    let (world, one, other) = try await conflict()
    #expect(one.names == ["milk.json", "milk.mine.json"])
    #expect(one.json("milk.json")?["title"] == "Theirs")
    #expect(one.json("milk.mine.json") == ["id": .string(key(1)), "title": "Mine", "notes": "two", "done": false])
    #expect(world.rows[key(1)]?["title"] == "Theirs")
    #expect(try await one.sync().isQuiet)
    try one.restart()
    #expect(try await one.sync().isQuiet)
    try await other.settle()
    #expect(other.names == ["milk.json"])
    #expect(try one.conflicts.map(\.conflictingColumns) == [["title"]])
  }

  @Test("the side file keeps the person's own formatting and notes")
  func sideKeepsFormat() async throws {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "two")])
    let one = try world.replica()
    try await one.sync()
    try one.rewrite("milk.json", #"{"$mine":[1, 2],  "title":"Mine", "id":"\#(key(1))"}"#)
    world.update(key(1), ["title": "Theirs"])
    try await one.sync()
    let side = try #require(one.text("milk.mine.json"))
    #expect(side.contains(#""$mine":[1, 2],  "title":"Mine""#))
    #expect(one.json("milk.json")?["title"] == "Theirs")
  }

  @Test("what the server had is in the trash where mine is kept before the file has shown it")
  func keepMineBeforeTheirsIsShown() async throws {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "two")])
    let one = try world.replica()
    try await one.sync()
    try one.edit("milk.json", ["title": "Mine"])
    world.update(key(1), ["title": "Theirs"])
    try one.write(".milk.json.swp", "")
    try await one.sync()
    try #require(one.names == ["milk.json", "milk.mine.json"])
    try #require(one.json("milk.json")?["title"] == "Mine")
    try one.move("milk.mine.json", "milk.json")
    try one.remove(".milk.json.swp")
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Mine")
    #expect(one.trash.contains { $0.contains("Theirs") })
    #expect(try one.isClear)
  }

  @Test("deleting the side file keeps theirs")
  func keepTheirs() async throws {
    let (world, one, _) = try await conflict()
    try one.remove("milk.mine.json")
    try await one.settle()
    #expect(one.names == ["milk.json"])
    #expect(one.json("milk.json")?["title"] == "Theirs")
    #expect(world.rows[key(1)]?["title"] == "Theirs")
    #expect(one.trash.contains { $0.contains("Mine") })
    #expect(try one.isClear)
  }

  @Test("a side file that is gone is noticed by an event alone")
  func keepTheirsByEvent() async throws {
    let (_, one, _) = try await conflict()
    try one.remove("milk.mine.json")
    _ = try await one.workspace.look(at: ["tasks/milk.mine.json"])
    #expect(try one.conflicts.count == 1, "it may come back at once, as a save does")
    let due = try #require(try await one.workspace.nextTick())
    one.advance(to: due)
    _ = try await one.workspace.tick()
    #expect(try one.isClear)
  }

  @Test("is found again by a process that finds it half written anew, whenever the one before died")
  func joinedAndKilled() async throws {
    for commit in 0..<14 {
      let (_, one, other) = try await conflict()
      try one.edit("milk.json", ["title": "Mine again"])
      try other.edit("milk.json", ["title": "Theirs again"])
      try await other.sync()
      one.commits.plan(last: commit)
      _ = try? await one.sync()
      try one.restart()
      try await one.settle()
      #expect(one.json("milk.mine.json")?["title"] == "Mine again", "\(commit)")
      #expect(one.json("milk.json")?["title"] == "Theirs again", "\(commit)")
      let problems = try one.client.read { try Problems($0).paths() }
      #expect(problems.isEmpty, "\(commit): \(problems)")
      try one.move("milk.mine.json", "milk.json")
      try await one.settle()
      #expect(try one.isClear, "\(commit)")
      #expect(one.json("milk.json")?["title"] == "Mine again", "\(commit)")
    }
  }

  @Test("renamed together with its row's file still waits, and settles there", arguments: [true, false])
  func renamedPair(isMine: Bool) async throws {
    let (world, one, _) = try await conflict()
    try one.move("milk.json", "oat.json")
    try one.move("milk.mine.json", "oat.mine.json")
    try await one.settle()
    #expect(try one.conflicts.count == 1)
    #expect(one.names == ["oat.json", "oat.mine.json"])
    if isMine { try one.move("oat.mine.json", "oat.json") } else { try one.remove("oat.mine.json") }
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == (isMine ? "Mine" : "Theirs"))
    #expect(one.names == ["oat.json"])
    #expect(try one.isClear)
  }

  enum LayingOver: String, CaseIterable, CustomTestStringConvertible {
    case move, copy, copyAndRemove, editedThenMoved, saveOverThenRemove
    var testDescription: String { rawValue }

    func play(_ replica: Replica) throws {
      switch self {
      case .move: try replica.move("milk.mine.json", "milk.json")
      case .copy: try replica.copy("milk.mine.json", "milk.json")
      case .copyAndRemove:
        try replica.copy("milk.mine.json", "milk.json")
        try replica.remove("milk.mine.json")
      case .editedThenMoved:
        try replica.edit("milk.mine.json", ["title": "Mine"])
        try replica.move("milk.mine.json", "milk.json")
      case .saveOverThenRemove:
        try replica.rewrite("milk.json", replica.text("milk.mine.json") ?? "")
        try replica.remove("milk.mine.json")
      }
    }
  }

  @Test(
    "mine laid over theirs keeps mine, and turns back no column that was not touched", arguments: LayingOver.allCases)
  func keepMine(how: LayingOver) async throws {
    let (world, one, other) = try await conflict(theirs: ["title": "Theirs", "notes": "three"])
    #expect(one.json("milk.json")?["notes"] == "three")
    _ = one.network.takeWrites()
    try how.play(one)
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Mine")
    #expect(world.rows[key(1)]?["notes"] == "three")
    #expect(one.json("milk.json")?["title"] == "Mine")
    #expect(one.json("milk.json")?["notes"] == "three")
    #expect(one.names == ["milk.json"])
    #expect(try one.isClear)
    #expect(one.network.takeWrites().allSatisfy { !$0.contains("notes\":") }, "only the touched column is sent")
    try await other.settle()
    #expect(other.json("milk.json")?["title"] == "Mine")
  }

  @Test("mine laid over theirs meets a change that came later in the same way")
  func keepMineMeetsChange() async throws {
    let (world, one, other) = try await conflict()
    try other.edit("milk.json", ["title": "Theirs again"])
    try await other.sync()
    try one.move("milk.mine.json", "milk.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Theirs again", "the conflict had seen an older version")
    #expect(one.json("milk.json")?["title"] == "Theirs again")
    #expect(one.json("milk.mine.json")?["title"] == "Mine")
  }

  @Test("mine laid over theirs and edited while the editor holds the file says nothing about what it never showed")
  func keepMineUnderEditor() async throws {
    let (world, one, _) = try await conflict(theirs: ["title": "Theirs", "notes": "three"])
    try one.move("milk.mine.json", "milk.json")
    try one.write(".milk.json.swp", "")
    try await one.sync()
    #expect(one.json("milk.json")?["notes"] == "two", "the rest of the row waits for the editor")
    try one.edit("milk.json", ["notes": "four"])
    try await one.sync()
    try one.remove(".milk.json.swp")
    try await one.settle()
    #expect(world.rows[key(1)]?["notes"] == "three")
    #expect(one.json("milk.mine.json")?["notes"] == "four")
    #expect(world.rows[key(1)]?["title"] == "Mine")
  }

  @Test("an edit of the main file and the end of the side file are a merge", arguments: [true, false])
  func merge(isAtOnce: Bool) async throws {
    let (world, one, _) = try await conflict()
    try one.edit("milk.json", ["title": "Mine and theirs"])
    if !isAtOnce { try await one.sync() }
    try one.remove("milk.mine.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Mine and theirs")
    #expect(one.names == ["milk.json"])
    #expect(try one.isClear)
  }

  @Test("a second conflict joins the same side file, and the text before it is in the trash")
  func join() async throws {
    let (world, one, other) = try await conflict()
    try other.edit("milk.json", ["notes": "theirs", "title": "Theirs 2"])
    try await other.sync()
    try one.edit("milk.json", ["notes": "mine", "title": "Mine 2"])
    try await one.sync()
    #expect(one.names == ["milk.json", "milk.mine.json"])
    #expect(one.json("milk.mine.json")?["notes"] == "mine")
    #expect(one.json("milk.mine.json")?["title"] == "Mine 2")
    #expect(one.trash.contains { $0.contains("\"Mine\"") })
    try one.move("milk.mine.json", "milk.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["notes"] == "mine")
    #expect(world.rows[key(1)]?["title"] == "Mine 2")
    #expect(try one.isClear)
  }

  @Test("a conflict whose sides become equal closes itself", arguments: [true, false])
  func equal(isHere: Bool) async throws {
    let (world, one, other) = try await conflict()
    if isHere {
      try one.edit("milk.json", ["title": "Mine"])
    } else {
      try other.edit("milk.json", ["title": "Mine"])
      try await other.sync()
    }
    try await one.settle()
    #expect(one.names == ["milk.json"])
    #expect(world.rows[key(1)]?["title"] == "Mine")
    #expect(try one.isClear)
  }

  @Test("side files that vanish three at once are written again")
  func vanishTogether() async throws {
    let world = try await TaskWorld.make((1...4).map { task($0, "Task \($0)") })
    let one = try world.replica()
    try await one.sync()
    for number in 1...4 {
      try one.edit("task-\(number).json", ["notes": "mine"])
      world.update(key(number), ["notes": "theirs"])
    }
    try await one.sync()
    #expect(one.names.count == 8)
    for number in 1...3 { try one.remove("task-\(number).mine.json") }
    try await one.settle()
    #expect(one.names.count == 8)
    #expect(try one.conflicts.count == 4)
    for number in 1...2 { try one.remove("task-\(number).mine.json") }
    try await one.settle()
    #expect(try one.conflicts.count == 2)
  }

  @Test("a side file that vanishes while git works is written again")
  func vanishUnderGit() async throws {
    let (_, one, _) = try await conflict()
    try one.recordOfGit("commit")
    try one.files.person.save(".git/index.lock", [])
    try one.remove("milk.mine.json")
    try await one.sync()
    try one.recordOfGit("commit", "checkout")
    try one.files.person.remove(".git/index.lock")
    try await one.settle()
    #expect(one.names == ["milk.json", "milk.mine.json"])
    #expect(try one.conflicts.count == 1)
  }

  @Test("a side file that was never durable is written again rather than taken for settled")
  func neverDurable() async throws {
    let (_, one, _) = try await conflict()
    try one.client.transaction { transaction in
      var side = try #require(try SideFiles(transaction).at("tasks/milk.mine.json"))
      side.isDurable = false
      try SideFiles(transaction).save(side)
      try transaction.touchRow("tasks", RowKey(key(1)))
    }
    try one.remove("milk.mine.json")
    try await one.settle()
    #expect(one.json("milk.mine.json")?["title"] == "Mine")
    #expect(try one.conflicts.count == 1)
  }

  @Test("a side file that cannot be written is a problem, not a row, and it is written when it can be")
  func sideCannotBeWritten() async throws {
    let world = try await TaskWorld.make([task(1, "Milk")])
    let one = try world.replica()
    try await one.sync()
    try one.edit("milk.json", ["title": "Mine"])
    world.update(key(1), ["title": "Theirs"])
    try one.write("milk.mine.json", #"{"title": "a person's own file"}"#)
    try await one.sync()
    #expect(try one.problems.map(\.path) == ["tasks/milk.mine.json"])
    #expect(one.json("milk.json")?["title"] == "Mine", "not before the side file is safe")
    try await one.sync()
    #expect(world.rows.count == 1)
    try one.move("milk.mine.json", "milk.txt")
    try await one.settle()
    #expect(one.json("milk.mine.json")?["title"] == "Mine")
    #expect(one.json("milk.json")?["title"] == "Theirs")
    #expect(try one.problems.isEmpty)
    #expect(world.rows.count == 1)
  }

  // MARK: Rows that are gone

  private func gone() async throws -> (world: TaskWorld, one: Replica) {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "two"), task(2, "Bread")])
    let one = try world.replica()
    try await one.sync()
    try one.edit("milk.json", ["title": "Mine"])
    world.delete(key(1))
    try await one.settle()
    return (world, one)
  }

  @Test("an edit of a row that is gone is held: the text stands in the side file, the main file is in the trash")
  func editOfGoneRow() async throws {
    let (world, one) = try await gone()
    #expect(one.names == ["bread.json", "milk.mine.json"])
    #expect(one.json("milk.mine.json")?["title"] == "Mine")
    #expect(one.json("milk.mine.json")?["notes"] == "two")
    #expect(world.rows[key(1)] == nil)
    #expect(try await one.sync().isQuiet)
    try one.remove("milk.mine.json")
    try await one.settle()
    #expect(one.names == ["bread.json"])
    #expect(try one.isClear)
    #expect(one.trash.contains { $0.contains("Mine") })
  }

  @Test("its side file moved over the main name makes the row again under its key")
  func makeAgain() async throws {
    let (world, one) = try await gone()
    try one.move("milk.mine.json", "milk.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Mine")
    #expect(world.rows[key(1)]?["notes"] == "two")
    #expect(one.names == ["bread.json", "milk.json"])
    #expect(try one.isClear)
    #expect(try await one.sync().isQuiet)
  }

  @Test("a row that is made again is sent without the columns that are only shown")
  func makeAgainWithoutShown() async throws {
    let world = try await TaskWorld.make([task(1, "Milk"), task(2, "Bread")])
    let one = try world.replica(TaskWorld.columns + ["updated_at timestamp read-only"])
    try await one.sync()
    try one.edit("milk.json", ["title": "Mine"])
    world.delete(key(1))
    try await one.settle()
    _ = one.network.takeWrites()
    try one.move("milk.mine.json", "milk.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Mine")
    #expect(try one.isClear)
    let inserts = one.network.takeWrites().filter { $0.hasPrefix("POST") }
    #expect(inserts.count == 1)
    #expect(inserts.allSatisfy { !$0.contains("\"updated_at\":") })
  }

  @Test("an edit made after the row was known to be gone is held too")
  func editAfterGone() async throws {
    let world = try await TaskWorld.make([task(1, "Milk"), task(2, "Bread")])
    let one = try world.replica()
    try await one.sync()
    world.delete(key(1))
    _ = try await one.client.pull("tasks")
    try one.edit("milk.json", ["title": "Mine"])
    try await one.settle()
    #expect(one.names == ["bread.json", "milk.mine.json"])
    #expect(one.json("milk.mine.json")?["title"] == "Mine")
    #expect(world.rows.count == 1)
  }

  @Test("an edit that waits when its row is known to be gone keeps its file, and its side file holds all of that")
  func editBeforeGone() async throws {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "two"), task(2, "Bread")])
    let one = try world.replica()
    try await one.sync()
    try one.edit("milk.json", ["title": "Mine"])
    _ = try await one.workspace.scan()
    world.delete(key(1))
    _ = try await one.client.pull("tasks")
    _ = try await one.workspace.writeRows()
    #expect(one.names == ["bread.json", "milk.json"])
    try await one.settle()
    #expect(one.names == ["bread.json", "milk.mine.json"])
    #expect(one.json("milk.mine.json")?["title"] == "Mine")
    #expect(one.json("milk.mine.json")?["notes"] == "two")
    try one.move("milk.mine.json", "milk.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["notes"] == "two")
    #expect(try one.isClear)
  }

  @Test("the side files of gone rows that vanish three at once are written again")
  func goneVanishTogether() async throws {
    let world = try await TaskWorld.make((1...9).map { task($0, "Task \($0)") })
    let one = try world.replica()
    try await one.sync()
    for number in 1...3 {
      try one.edit("task-\(number).json", ["notes": "mine"])
      world.delete(key(number))
    }
    try await one.settle()
    #expect(one.names.filter { $0.hasSuffix(".mine.json") }.count == 3)
    for number in 1...3 { try one.remove("task-\(number).mine.json") }
    try await one.settle()
    #expect(one.names.filter { $0.hasSuffix(".mine.json") }.count == 3)
    #expect(one.json("task-2.mine.json")?["notes"] == "mine")
  }

  @Test("a row that comes back while its edit is held gets its file under its own name")
  func goneAndBack() async throws {
    let (world, one) = try await gone()
    world.insert([task(1, "Milk", notes: "back")])
    try await one.settle()
    #expect(one.names == ["bread.json", "milk.json", "milk.mine.json"])
    #expect(one.json("milk.json")?["notes"] == "back")
    try one.move("milk.mine.json", "milk.json")
    try await one.settle()
    #expect(one.names == ["bread.json", "milk.json"])
    #expect(world.rows[key(1)]?["title"] == "Mine")
    #expect(world.rows[key(1)]?["notes"] == "back")
  }

  // MARK: Deletes that met a change

  @Test("a delete that met a change brings the file back with a note beside it; deleting the note keeps the row")
  func deleteMetChange() async throws {
    let world = try await TaskWorld.make([task(1, "Milk"), task(2, "Bread")])
    let one = try world.replica()
    try await one.sync()
    try one.remove("milk.json")
    world.update(key(1), ["notes": "theirs"])
    one.advance(.seconds(20))
    try await one.sync()
    #expect(one.names == ["bread.json", "milk.deleted.json", "milk.json"])
    #expect(one.json("milk.json")?["notes"] == "theirs")
    #expect(world.rows[key(1)] != nil)
    #expect(try await one.sync().isQuiet)
    try one.remove("milk.deleted.json")
    try await one.settle()
    #expect(one.names == ["bread.json", "milk.json"])
    #expect(world.rows[key(1)] != nil)
    #expect(try one.isClear)
  }
}
