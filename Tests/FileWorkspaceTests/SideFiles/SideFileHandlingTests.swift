import LosslessJSON
import OfflineEngine
import StandInServer
import Testing

@testable import FileWorkspace

/// What people and their tools do with side files besides moving and deleting them.
@Suite("Side files that are edited, moved elsewhere, broken or left behind")
struct SideFileHandlingTests {
  /// One replica whose title has met another, with a second row beside.
  private func conflict() async throws -> (world: TaskWorld, one: Replica) {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "two"), task(2, "Bread"), task(3, "Tea")])
    let one = try world.replica()
    try await one.sync()
    try one.edit("milk.json", ["title": "Mine"])
    world.update(key(1), ["title": "Theirs", "notes": "three"])
    try await one.settle()
    #expect(one.names == ["bread.json", "milk.json", "milk.mine.json", "tea.json"])
    return (world, one)
  }

  // MARK: Edited

  @Test("a side file that is edited before it is moved back sends what was typed into it", arguments: [true, false])
  func editedThenMoved(isLookedAt: Bool) async throws {
    let (world, one) = try await conflict()
    try one.edit("milk.mine.json", ["title": "Mine, better", "done": true])
    if isLookedAt { try await one.sync() }
    try one.move("milk.mine.json", "milk.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Mine, better")
    #expect(world.rows[key(1)]?["done"] == true)
    #expect(world.rows[key(1)]?["notes"] == "three", "never touched here")
    #expect(try one.isClear)
  }

  @Test("what was typed into a side file is in the trash when it is removed")
  func editedThenRemoved() async throws {
    let (_, one) = try await conflict()
    try one.edit("milk.mine.json", ["title": "Mine, better"])
    _ = try await one.workspace.look(at: ["tasks/milk.mine.json"])
    try one.remove("milk.mine.json")
    try await one.settle()
    #expect(try one.isClear)
    #expect(one.trash.contains { $0.contains("Mine, better") })
  }

  @Test("a further conflict joins a side file that was edited meanwhile, and takes nothing out of it")
  func editedThenJoined() async throws {
    let (world, one) = try await conflict()
    try one.edit("milk.mine.json", ["title": "Mine, better"])
    try one.edit("milk.json", ["done": true, "notes": "mine"])
    world.update(key(1), ["notes": "four"])
    try await one.settle()
    #expect(one.names == ["bread.json", "milk.json", "milk.mine.json", "tea.json"])
    #expect(one.json("milk.mine.json")?["title"] == "Mine, better")
    #expect(one.json("milk.mine.json")?["notes"] == "mine")
    try one.move("milk.mine.json", "milk.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Mine, better")
    #expect(world.rows[key(1)]?["notes"] == "mine")
  }

  // MARK: Elsewhere

  @Test("a side file removed while nothing runs keeps theirs")
  func removedWhileNothingRuns() async throws {
    let (world, one) = try await conflict()
    try one.remove("milk.mine.json")
    one.advance(.seconds(3600))
    try one.restart()
    try await one.sync()
    #expect(try one.isClear)
    #expect(world.rows[key(1)]?["title"] == "Theirs")
    #expect(one.trash.contains { $0.contains("Mine") })
  }

  @Test("a side file moved to another name is a row of its own, and theirs is kept")
  func movedToRowName() async throws {
    let (world, one) = try await conflict()
    try one.move("milk.mine.json", "my-milk.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Theirs")
    #expect(one.json("milk.json")?["title"] == "Theirs")
    #expect(world.rows.count == 4)
    #expect(world.row(titled: "Mine") != nil)
    #expect(one.json("my-milk.json")?["id"] != .string(key(1)))
    #expect(try one.isClear)
  }

  @Test("a side file moved to a name where it stands for nothing has settled nothing: it comes back at its place")
  func movedToSideName() async throws {
    let (world, one) = try await conflict()
    try one.move("milk.mine.json", "later.mine.json")
    try await one.settle()
    #expect(one.json("later.mine.json")?["title"] == "Mine")
    #expect(one.json("milk.mine.json")?["title"] == "Mine")
    #expect(try one.conflicts.count == 1)
    #expect(world.rows.count == 3)
    #expect(try await one.sync().isQuiet)
  }

  @Test("a side file moved over its row's file under the file's new name keeps mine, and turns nothing else back")
  func mainWasRenamed() async throws {
    let (world, one) = try await conflict()
    try one.move("milk.json", "oat.json")
    try await one.settle()
    #expect(try one.conflicts.count == 1)
    try one.move("milk.mine.json", "oat.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Mine")
    #expect(world.rows[key(1)]?["notes"] == "three")
    #expect(one.names == ["bread.json", "oat.json", "tea.json"])
    #expect(try one.isClear)
  }

  @Test("a side file moved to the name that its row's file had is no copy: a problem says where it belongs")
  func movedToFormerName() async throws {
    let (world, one) = try await conflict()
    try one.move("milk.json", "oat.json")
    try await one.settle()
    try one.move("milk.mine.json", "milk.json")
    for _ in 0..<3 {
      one.advance(.seconds(20))
      try await one.sync()
    }
    #expect(try one.problems.map(\.path) == ["tasks/milk.json"])
    #expect(try one.problems.first?.message.contains("'tasks/oat.json'") == true)
    #expect(try one.conflicts.count == 1)
    #expect(world.rows.count == 3)
    try one.move("milk.json", "oat.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Mine")
    #expect(world.rows[key(1)]?["notes"] == "three")
    #expect(try one.isClear)
  }

  @Test("a side file moved over another row's file is that file's edit, and its own row keeps theirs")
  func movedOverAnotherRow() async throws {
    let (world, one) = try await conflict()
    try one.move("milk.mine.json", "bread.json")
    try await one.settle()
    #expect(world.rows.count == 3)
    #expect(world.rows[key(1)]?["title"] == "Theirs")
    #expect(world.rows[key(2)]?["title"] == "Mine")
    #expect(
      one.trash.contains { $0.contains("Bread") } || one.files.person.paths(below: StateFolder.replaced).count > 0)
    #expect(try one.conflicts.isEmpty)
  }

  // MARK: Git

  @Test("a side file that was settled and comes back with a commit is no row and settles nothing")
  func backFromCommit() async throws {
    let (world, one) = try await conflict()
    let committed = try #require(one.text("milk.mine.json"))
    try one.remove("milk.mine.json")
    try await one.settle()
    try one.write("milk.mine.json", committed)
    try await one.settle()
    #expect(world.rows.count == 3)
    #expect(world.rows[key(1)]?["title"] == "Theirs")
    #expect(try one.isClear)
    #expect(one.text("milk.mine.json") == committed)
    // As a person would: it is moved over the file, and is an edit like any other.
    try one.move("milk.mine.json", "milk.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Mine")
  }

  @Test("a checkout that takes a committed side file away settles nothing, and one that changes it is an edit of it")
  func checkout() async throws {
    let (world, one) = try await conflict()
    let text = try #require(one.text("milk.mine.json"))
    try one.recordOfGit("commit")
    try one.files.person.save(".git/index.lock", [])
    try one.remove("milk.mine.json")
    try await one.sync()
    try one.recordOfGit("commit", "checkout")
    try one.files.person.remove(".git/index.lock")
    try await one.settle()
    #expect(one.text("milk.mine.json") == text)
    #expect(try one.conflicts.count == 1)
    try one.rewrite("milk.mine.json", text.replacing("Mine", with: "From the branch"))
    try await one.settle()
    try one.move("milk.mine.json", "milk.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "From the branch")
  }

  // MARK: The row is deleted meanwhile

  @Test("the row of a conflict is deleted elsewhere: the side file stays, and moved to its file it makes the row again")
  func rowDeletedElsewhere() async throws {
    let (world, one) = try await conflict()
    world.delete(key(1))
    try await one.settle()
    #expect(one.names == ["bread.json", "milk.mine.json", "tea.json"])
    #expect(try one.conflicts.count == 1)
    try one.move("milk.mine.json", "milk.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Mine")
    #expect(world.rows[key(1)]?["notes"] == "two")
    #expect(one.names == ["bread.json", "milk.json", "tea.json"])
    #expect(try one.isClear)
  }

  @Test("the row of a conflict is deleted here: the side file stays until it is settled")
  func rowDeletedHere() async throws {
    let (world, one) = try await conflict()
    try one.remove("milk.json")
    one.advance(.seconds(20))
    try await one.settle()
    #expect(world.rows[key(1)] == nil)
    #expect(one.names == ["bread.json", "milk.mine.json", "tea.json"])
    try one.remove("milk.mine.json")
    try await one.settle()
    #expect(try one.isClear)
    #expect(one.trash.contains { $0.contains("Mine") })
  }

  @Test("a side file laid over a file that was removed a moment ago takes the delete back")
  func rowDeleteUnsent() async throws {
    let (world, one) = try await conflict()
    one.network.isConnected = false
    try one.remove("milk.json")
    one.advance(.seconds(20))
    try await one.sync()
    #expect(try one.queue.map(\.write.operation) == [.delete])
    try one.move("milk.mine.json", "milk.json")
    try await one.sync()
    one.network.isConnected = true
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Mine")
    #expect(world.rows[key(1)]?["notes"] == "three")
    #expect(try one.isClear)
  }

  @Test("the text of a delete that met a change, laid over the file, keeps the row and turns nothing back")
  func deletedTextLaidOver() async throws {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "two"), task(2, "Bread"), task(3, "Tea")])
    let one = try world.replica()
    try await one.sync()
    try one.remove("milk.json")
    world.update(key(1), ["notes": "three"])
    one.advance(.seconds(20))
    try await one.sync()
    try one.edit("milk.deleted.json", ["title": "Oat milk"])
    try one.move("milk.deleted.json", "milk.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Oat milk")
    #expect(world.rows[key(1)]?["notes"] == "three")
    #expect(one.names == ["bread.json", "milk.json", "tea.json"])
    #expect(try one.isClear)
  }

  // MARK: Bad input

  enum Breakage: String, CaseIterable, CustomTestStringConvertible {
    case notJSON, unknownMember, changedID, otherRow
    var testDescription: String { rawValue }

    func play(_ replica: Replica, _ name: String) throws {
      let text = replica.text(name) ?? ""
      let broken =
        switch self {
        case .notJSON: String(text.dropLast(4))
        case .unknownMember: text.replacing("\"title\"", with: "\"titel\"")
        case .changedID: text.replacing(key(1), with: key(99))
        case .otherRow: text.replacing(key(1), with: key(2))
        }
      #expect(broken != text)
      try replica.rewrite(name, broken)
    }

    var word: String {
      switch self {
      case .notJSON: "expected"
      case .unknownMember: "titel"
      case .changedID, .otherRow: "put back \(key(1))"
      }
    }
  }

  @Test("a side file that is broken is a problem where it lies, and settles nothing", arguments: Breakage.allCases)
  func brokenInPlace(how: Breakage) async throws {
    let (world, one) = try await conflict()
    let whole = try #require(one.text("milk.mine.json"))
    try how.play(one, "milk.mine.json")
    try await one.sync()
    #expect(try one.problems.map(\.path) == ["tasks/milk.mine.json"])
    #expect(try one.problems.first?.message.contains(how.word) == true)
    #expect(try one.conflicts.count == 1)
    #expect(world.rows[key(1)]?["title"] == "Theirs")
    #expect(world.rows.count == 3)
    await #expect(throws: WorkspaceRequestError.self, "the command says so, too") {
      try await one.workspace.resolve(.path("tasks/milk.json"), keepsMine: true)
    }
    #expect(try one.conflicts.count == 1)
    try one.rewrite("milk.mine.json", whole)
    try await one.sync()
    #expect(try one.problems.isEmpty)
    try one.move("milk.mine.json", "milk.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Mine")
    #expect(try one.isClear)
  }

  @Test(
    "a broken side file moved over its row's file is a problem there; nothing is settled, sent or lost",
    arguments: Breakage.allCases, [true, false])
  func brokenThenMoved(how: Breakage, isLookedAt: Bool) async throws {
    let (world, one) = try await conflict()
    let whole = try #require(one.text("milk.mine.json"))
    try how.play(one, "milk.mine.json")
    if isLookedAt { try await one.sync() }
    let broken = one.text("milk.mine.json")
    _ = one.network.takeWrites()
    try one.move("milk.mine.json", "milk.json")
    for _ in 0..<3 {
      one.advance(.seconds(20))
      try await one.sync()
    }
    #expect(try one.problems.map(\.path) == ["tasks/milk.json"])
    #expect(try one.conflicts.count == 1)
    #expect(one.network.takeWrites().isEmpty)
    #expect(one.text("milk.json") == broken)
    #expect(world.rows[key(1)]?["title"] == "Theirs")
    #expect(world.rows.count == 3)
    // Mended, it is what it was meant to be.
    try one.rewrite("milk.json", whole)
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Mine")
    #expect(world.rows[key(1)]?["notes"] == "three")
    #expect(try one.isClear)
  }
}

@Suite("Two rows that are gone")
struct TwoGoneRowsTests {
  @Test("and had one name one after the other get side files of their own")
  func oneName() async throws {
    let world = try await TaskWorld.make([task(1, "A"), task(2, "B")])
    let replica = try world.replica()
    try await replica.settle()
    try replica.edit("a.json", ["notes": "of A"])
    _ = try await replica.workspace.look(at: ["tasks/a.json"])
    try replica.move("b.json", "a.json")
    try replica.edit("a.json", ["notes": "of B"])
    _ = try await replica.workspace.scan()
    world.delete(key(1))
    world.delete(key(2))
    try await replica.settle()
    let sides = replica.names.filter { $0.hasSuffix(".mine.json") }
    #expect(Set(sides.map { replica.json($0)?["notes"] }) == ["of A", "of B"])
    #expect(sides.contains("a.mine.json"))
    #expect(try await replica.sync().isQuiet)
  }
}
