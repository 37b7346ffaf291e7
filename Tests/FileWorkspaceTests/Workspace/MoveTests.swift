import LosslessJSON
import OfflineEngine
import Testing

@testable import FileWorkspace

@Suite("Files that are moved")
struct MoveTests {
  private func letters() async throws -> (world: TaskWorld, one: Replica) {
    let world = try await TaskWorld.make([task(1, "a"), task(2, "b"), task(3, "c"), task(4, "d")])
    let one = try world.replica()
    try await one.sync()
    return (world, one)
  }

  /// The keys in the files by name.
  private func keys(_ replica: Replica) -> [String: JSONValue] {
    Dictionary(uniqueKeysWithValues: replica.names.map { ($0, replica.json($0)?["id"] ?? .null) })
  }

  private func k(_ number: Int) -> JSONValue { .string(key(number)) }

  @Test("a moved file keeps its row, and its name on this replica", arguments: ["moved.json", "A.json", "Ä ö.json"])
  func moved(name: String) async throws {
    let (world, one) = try await letters()
    try one.move("a.json", name)
    let result = try await one.sync()
    #expect(result.files.queued == 0 && result.files.filesWritten == 0)
    try one.edit(name, ["title": "edited"])
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "edited")
    world.update(key(1), ["title": "again"])
    try await one.settle()
    #expect(one.json(name)?["title"] == "again")
    #expect(world.rows.count == 4)
    #expect(try one.isClear)
  }

  @Test(
    "events of a move may come in any order",
    arguments: [["a.json", "z.json"], ["z.json", "a.json"], ["z.json"], ["a.json"]])
  func eventsOfAMove(order: [String]) async throws {
    let (world, one) = try await letters()
    try one.move("a.json", "z.json")
    for name in order { _ = try await one.workspace.look(at: ["tasks/\(name)"]) }
    one.advance(.seconds(60))
    _ = try await one.workspace.tick()
    try await one.settle()
    #expect(world.rows.count == 4)
    #expect(keys(one)["z.json"] == k(1))
    #expect(try one.isClear)
  }

  @Test("a new file that is moved and edited is not in conflict with what the server filled in for it")
  func movedBeforeAnswer() async throws {
    let world = try await TaskWorld.make()
    let one = try world.replica()
    try await one.sync()
    try one.write("new.json", #"{"id": "\#(key(5))", "title": "new"}"#)
    _ = try await one.workspace.look(at: ["tasks/new.json"])
    _ = await one.client.syncPendingMutations()
    try one.move("new.json", "moved.json")
    try one.edit("moved.json", ["done": true])
    try await one.settle()
    #expect(world.rows[key(5)]?["done"] == true)
    #expect(try one.isClear)
  }

  @Test("a file that has made room for one that is half written keeps its row")
  func roomForHalfWritten() async throws {
    let (world, one) = try await letters()
    let text = try #require(one.text("b.json"))
    try one.move("a.json", "t.json")
    try one.edit("t.json", ["notes": "edited"])
    try one.move("b.json", "a.json")
    try one.write("a.json", String(text.prefix(text.count / 2)))
    try await one.sync()
    #expect(world.rows.count == 4)
    try one.write("a.json", text)
    try await one.settle()
    #expect(world.rows.count == 4)
    #expect(world.rows[key(1)]?["notes"] == "edited")
    #expect(keys(one) == ["a.json": k(2), "c.json": k(3), "d.json": k(4), "t.json": k(1)])
    #expect(try one.isClear)
  }

  @Test("a known file moved over another: its row follows, the other row has lost its file")
  func over() async throws {
    let (world, one) = try await letters()
    try one.move("b.json", "a.json")
    try await one.settle()
    #expect(world.rows.keys.sorted() == [key(2), key(3), key(4)])
    #expect(keys(one) == ["a.json": k(2), "c.json": k(3), "d.json": k(4)])
    #expect(world.rows[key(2)]?["title"] == "b")
    #expect(one.trash.contains { $0.contains(key(1)) })
    #expect(try one.isClear)
  }

  @Test("the row that lost its file to another comes back where its key comes back, with what was edited")
  func overAndBack() async throws {
    let (world, one) = try await letters()
    let text = try #require(one.text("a.json"))
    try one.move("b.json", "a.json")
    _ = try await one.workspace.look(at: ["tasks/a.json", "tasks/b.json"])
    world.update(key(1), ["notes": "theirs"])
    _ = try await one.client.pull("tasks")
    try one.write("back.json", text.replacing("\"a\"", with: "\"edited\""))
    try await one.settle()
    #expect(world.rows.count == 4)
    #expect(keys(one) == ["a.json": k(2), "back.json": k(1), "c.json": k(3), "d.json": k(4)])
    #expect(world.rows[key(1)]?["title"] == "edited")
    #expect(one.json("back.json")?["notes"] == "theirs")
    #expect(try one.isClear)
  }

  struct Permutation: CustomTestStringConvertible {
    var moves: [(String, String)]
    var expected: [String: Int]
    var testDescription: String { moves.map { "\($0.0)→\($0.1)" }.joined(separator: " ") }
  }

  @Test(
    "rows follow their keys through swaps, rings and chains made in one go",
    arguments: [
      Permutation(moves: [("a", "t"), ("b", "a"), ("t", "b")], expected: ["a": 2, "b": 1, "c": 3, "d": 4]),
      Permutation(
        moves: [("a", "t"), ("b", "a"), ("c", "b"), ("t", "c")], expected: ["a": 2, "b": 3, "c": 1, "d": 4]),
      Permutation(moves: [("a", "t"), ("b", "a"), ("c", "b")], expected: ["a": 2, "b": 3, "d": 4, "t": 1]),
      Permutation(moves: [("c", "z"), ("b", "c"), ("a", "b")], expected: ["b": 1, "c": 2, "d": 4, "z": 3]),
      Permutation(moves: [("a", "b"), ("c", "a")], expected: ["a": 3, "b": 1, "d": 4]),
      Permutation(moves: [("b", "a"), ("c", "b")], expected: ["a": 2, "b": 3, "d": 4]),
    ])
  func permutations(permutation: Permutation) async throws {
    let (world, one) = try await letters()
    for (from, to) in permutation.moves { try one.move("\(from).json", "\(to).json") }
    try await one.settle()
    let expected = Dictionary(uniqueKeysWithValues: permutation.expected.map { ("\($0.key).json", k($0.value)) })
    #expect(keys(one) == expected)
    #expect(Set(world.rows.keys) == Set(permutation.expected.values.map(key)))
    for (number, title) in [(1, "a"), (2, "b"), (3, "c"), (4, "d")] {
      #expect(world.rows[key(number)].map { $0["title"] == .string(title) } ?? true)
    }
    #expect(try one.isClear)
  }

  @Test("a copy of another row's text over a file is an edit of the file's own row")
  func copyOver() async throws {
    let (world, one) = try await letters()
    try one.copy("b.json", "a.json")
    try await one.settle()
    #expect(world.rows.count == 4)
    #expect(world.rows[key(1)]?["title"] == "b")
    #expect(keys(one)["a.json"] == k(1))
    #expect(keys(one)["b.json"] == k(2))
    #expect(try one.isClear)
  }

  @Test("a file moved out of the folder is a delete, and back in time none", arguments: [true, false])
  func outAndBack(isInTime: Bool) async throws {
    let (world, one) = try await letters()
    try one.files.person.rename("tasks/a.json", "a.json")
    _ = try await one.workspace.look(at: ["tasks/a.json"])
    one.advance(.seconds(isInTime ? 5 : 15))
    _ = try await one.workspace.tick()
    #expect(try one.queue.count == (isInTime ? 0 : 1))
    try one.files.person.rename("a.json", "tasks/a.json")
    try one.edit("a.json", ["notes": "edited outside"])
    try await one.settle()
    #expect(world.rows[key(1)]?["notes"] == "edited outside", "a delete that was not sent is taken back")
    #expect(keys(one)["a.json"] == k(1))
    #expect(world.rows.count == 4)
    #expect(try one.isClear)
  }

  @Test("a known file without its key that is moved to another row's old place keeps its row")
  func keylessToOldPlace() async throws {
    let (world, one) = try await letters()
    try one.write("new.json", #"{"title": "new"}"#)
    try await one.sync()
    try one.move("a.json", "t.json")
    try one.move("new.json", "a.json")
    try await one.settle()
    #expect(world.rows.count == 5)
    #expect(keys(one)["t.json"] == k(1))
    #expect(world.rows[key(1)]?["title"] == "a")
    one.advance(.seconds(60))
    try await one.settle()
    #expect(one.json("a.json")?["id"] == world.row(titled: "new")?["id"])
    #expect(try one.isClear)
  }

  @Test("a draft that takes the old place of a moved file is a row of its own")
  func draftAtOldPlace() async throws {
    let (world, one) = try await letters()
    try one.move("a.json", "t.json")
    try one.write("a.json", #"{"title": "new"}"#)
    try await one.settle()
    #expect(world.rows.count == 5)
    #expect(keys(one)["t.json"] == k(1))
    #expect(world.row(titled: "new") != nil)
    #expect(try one.isClear)
  }

  @Test("an empty file that is moved keeps its row and the title that its first name gave", arguments: [true, false])
  func emptyFileMoved(isOverKnown: Bool) async throws {
    let (world, one) = try await letters()
    try one.write("Milk.json", "")
    try await one.sync()
    if isOverKnown { try one.move("a.json", "t.json") }
    try one.move("Milk.json", isOverKnown ? "a.json" : "new.json")
    try await one.settle()
    #expect(world.rows.count == 5)
    #expect(world.row(titled: "Milk") != nil)
    #expect(world.row(titled: "a")?["id"] == k(1))
    one.advance(.seconds(60))
    try await one.settle()
    #expect(one.json(isOverKnown ? "a.json" : "new.json")?["title"] == "Milk")
    #expect(try one.isClear)
  }

  @Test("the key of a row that was deleted is a problem until it is taken out")
  func keyOfADeletedRow() async throws {
    let (world, one) = try await letters()
    let text = try #require(one.text("a.json"))
    try one.remove("a.json")
    try await one.settle()
    #expect(world.rows.count == 3)
    try one.write("a.json", text)
    try await one.settle()
    #expect(try one.problems.map(\.path) == ["tasks/a.json"])
    #expect(world.rows.count == 3)
    try one.rewrite("a.json", #"{"title": "a"}"#)
    try await one.settle()
    #expect(world.rows.count == 4)
    #expect(try one.isClear)
  }

  @Test("replicas keep the names their people chose")
  func namesPerReplica() async throws {
    let (world, one) = try await letters()
    let other = try world.replica()
    try await other.sync()
    try one.move("a.json", "mine.json")
    try other.move("a.json", "theirs.json")
    try other.edit("theirs.json", ["title": "new"])
    for replica in [one, other, one] { try await replica.settle() }
    #expect(one.json("mine.json")?["title"] == "new")
    #expect(other.json("theirs.json")?["title"] == "new")
    #expect(one.names.count == 4 && other.names.count == 4)
  }

  @Test("a file of the same name on two replicas is two rows with names of their own")
  func sameNameOnTwoReplicas() async throws {
    let world = try await TaskWorld.make()
    let (one, other) = (try world.replica(), try world.replica())
    for replica in [one, other] {
      try await replica.sync()
      try replica.write("x.json", #"{"title": "x"}"#)
    }
    for replica in [one, other, one, other] { try await replica.settle() }
    #expect(world.rows.count == 2)
    for replica in [one, other] {
      #expect(replica.names.count == 2)
      #expect(replica.names.contains("x.json"))
      #expect(replica.text("x.json") == #"{"title": "x"}"#)
    }
  }
}
