import LosslessJSON
import OfflineEngine
import Testing

@testable import FileWorkspace

@Suite("New files")
struct NewFileTests {
  struct Draft: CustomTestStringConvertible {
    var name: String
    var text: String
    var title: String
    var key: String?
    var testDescription: String { "\(name): \(text)" }
  }

  @Test("a key that cannot be written for a while is a problem told once, and is written later")
  func keyNotWritten() async throws {
    let world = try await TaskWorld.make()
    let replica = try world.replica()
    try await replica.sync()
    try replica.write("a.json", #"{"title": "Milk"}"#)
    try await replica.sync()
    try replica.files.person.setOwner("tasks/a.json", 4711)
    replica.advance(.seconds(40))
    var events: [WorkspaceEvent] = []
    for _ in 0..<5 {
      events += try await replica.workspace.tick().events
      let next = try #require(try await replica.workspace.nextTick())
      #expect(next > replica.client.now + .seconds(1), "it is not tried again and again")
      replica.advance(to: next)
    }
    #expect(events.map(\.kind).filter { $0 != .note } == [.problem])
    try replica.files.person.setOwner("tasks/a.json", replica.files.user)
    replica.advance(.seconds(40))
    _ = try await replica.workspace.tick()
    #expect(replica.json("a.json")?["id"] != nil)
    #expect(try replica.isClear)
  }

  @Test(
    "a new file is one row, whatever of it was typed",
    arguments: [
      Draft(name: "a.json", text: #"{"title": "Milk"}"#, title: "Milk"),
      Draft(
        name: "a.json", text: #"{"id": "\#(key(5))", "title": "Milk"}"#, title: "Milk", key: key(5)),
      Draft(name: "Call the plumber.json", text: "", title: "Call the plumber"),
      Draft(name: "Blank.json", text: " \n", title: "Blank"),
      Draft(name: "a.json", text: #"{"id": null, "title": "Milk", "$mine": 1}"#, title: "Milk"),
    ])
  func newFile(draft: Draft) async throws {
    let world = try await TaskWorld.make()
    let replica = try world.replica()
    try await replica.sync()
    try replica.write(draft.name, draft.text)
    let result = try await replica.sync()
    #expect(result.files.queued == 1)
    #expect(world.rows.count == 1)
    let row = try #require(world.row(titled: draft.title))
    if let key = draft.key { #expect(row["id"] == .string(key)) }
    #expect(replica.text(draft.name) == draft.text, "what was typed stays as it was typed")
    #expect(replica.names == [draft.name])
    #expect(try await replica.sync().isQuiet)
    #expect(try replica.isClear)
  }

  @Test("the key is written into a new file after half a minute, and no editor notices")
  func keyAfterHalfAMinute() async throws {
    let world = try await TaskWorld.make()
    let replica = try world.replica()
    try await replica.sync()
    try replica.write("a.json", #"{"title": "Milk"}"#)
    try await replica.sync()
    #expect(replica.json("a.json")?["id"] == nil)
    try replica.write(".a.json.swp", "")
    world.clock.advance(.seconds(31))
    #expect(try await replica.sync().files.filesWritten == 0, "an editor has the file open")
    try replica.remove(".a.json.swp")
    world.clock.advance(.seconds(31))
    #expect(try await replica.sync().files.filesWritten == 1)
    let row = try #require(world.row(titled: "Milk"))
    #expect(replica.json("a.json")?["id"] == row["id"])
    #expect(replica.json("a.json")?["title"] == "Milk")
    #expect(try await replica.sync().isQuiet)
    #expect(world.rows.count == 1)
  }

  @Test("the key waits for half a minute of quiet after the last save")
  func keyAfterQuiet() async throws {
    let world = try await TaskWorld.make()
    let replica = try world.replica()
    try await replica.sync()
    try replica.write("a.json", #"{"title": "Milk"}"#)
    try await replica.sync()
    world.clock.advance(.seconds(20))
    try replica.rewrite("a.json", #"{"title": "Oat milk"}"#)
    try await replica.sync()
    world.clock.advance(.seconds(10))
    #expect(try await replica.sync().files.filesWritten == 0)
    world.clock.advance(.seconds(30))
    #expect(try await replica.sync().files.filesWritten == 1)
    #expect(world.row(titled: "Oat milk")?["id"] == replica.json("a.json")?["id"])
    #expect(world.rows.count == 1)
  }

  @Test("a file without its key keeps its row when it is moved", arguments: [true, false])
  func moveWithoutKey(isEdited: Bool) async throws {
    let world = try await TaskWorld.make()
    let replica = try world.replica()
    try await replica.sync()
    try replica.write("a.json", #"{"title": "Milk"}"#)
    try await replica.sync()
    let id = world.row(titled: "Milk")?["id"]
    try replica.move("a.json", "b.json")
    if isEdited { try replica.write("b.json", #"{"title": "Oat milk"}"#) }
    try await replica.settle()
    #expect(world.rows.count == 1)
    #expect(world.row(titled: isEdited ? "Oat milk" : "Milk")?["id"] == id)
    #expect(replica.names == ["b.json"])
    world.clock.advance(.seconds(31))
    try await replica.settle()
    #expect(replica.json("b.json")?["id"] == id)
  }

  @Test("a column that the server fills in does not rewrite the file")
  func defaults() async throws {
    let world = try await TaskWorld.make()
    let replica = try world.replica()
    try await replica.sync()
    try replica.write("a.json", #"{"id": "\#(key(5))", "title": "Milk"}"#)
    #expect(try await replica.sync().files.filesWritten == 0)
    world.clock.advance(.seconds(60))
    #expect(try await replica.sync().files.filesWritten == 0)
    #expect(replica.text("a.json") == #"{"id": "\#(key(5))", "title": "Milk"}"#)
    world.update(key(5), ["done": true])
    #expect(try await replica.sync().files.filesWritten == 1)
    #expect(replica.json("a.json")?["done"] == true)
    #expect(replica.json("a.json")?["notes"] == .null, "with the next real write-back what was absent is added")
  }

  @Test("members that are absent say nothing, and only null clears a column")
  func absentMembers() async throws {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "two")])
    let replica = try world.replica()
    try await replica.sync()
    try replica.rewrite("milk.json", #"{"id": "\#(key(1))", "title": "Oat milk"}"#)
    try await replica.settle()
    #expect(world.rows[key(1)]?["notes"] == "two")
    #expect(replica.json("milk.json")?["notes"] == nil)
    try replica.rewrite("milk.json", #"{"id": "\#(key(1))", "title": "Oat milk", "notes": null}"#)
    try await replica.settle()
    #expect(world.rows[key(1)]?["notes"] == .null)
  }

  @Test("a draft without a key that is moved over a known file is an edit of its row")
  func draftOverKnown() async throws {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "two"), task(2, "Bread")])
    let replica = try world.replica()
    try await replica.sync()
    try replica.files.person.save("draft.json", Array(#"{"title": "Oat milk"}"#.utf8))
    try replica.files.person.rename("draft.json", "tasks/milk.json")
    try await replica.settle()
    #expect(world.rows.count == 2)
    #expect(world.rows[key(1)]?["title"] == "Oat milk")
    #expect(world.rows[key(1)]?["notes"] == "two")
    #expect(replica.names == ["bread.json", "milk.json"])
    #expect(try replica.isClear)
  }

  @Test("a copy is a row of its own, under a key of its own")
  func copies() async throws {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "two")])
    let replica = try world.replica()
    try await replica.sync()
    try replica.copy("milk.json", "again.json")
    try await replica.settle()
    #expect(world.rows.count == 2)
    #expect(world.rows[key(1)]?["title"] == "Milk")
    let id = try #require(replica.json("again.json")?["id"]?.stringValue)
    #expect(id != key(1))
    #expect(world.rows[id]?["notes"] == "two")
    #expect(replica.json("milk.json")?["id"] == .string(key(1)))
    #expect(try replica.isClear)
  }

  @Test("a text that lay beside its file for a while under a name of its own, and is moved over it then, is its save")
  func slowTemporaryFile() async throws {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "two"), task(2, "Bread")])
    let replica = try world.replica()
    try await replica.sync()
    let text = try #require(replica.text("milk.json"))
    try replica.write("tmpx7_k2q1.json", text.replacing("Milk", with: "Oat milk"))
    try await replica.settle()
    #expect(world.rows.count == 3)
    try replica.files.person.rename("tasks/tmpx7_k2q1.json", "tasks/milk.json")
    try await replica.settle()
    #expect(world.rows.keys.sorted() == [key(1), key(2)])
    #expect(world.rows[key(1)]?["title"] == "Oat milk")
    #expect(world.rows[key(1)]?["notes"] == "two")
    #expect(replica.names == ["bread.json", "milk.json"])
    #expect(replica.json("milk.json")?["id"] == .string(key(1)))
    #expect(try replica.isClear)
  }

  @Test("so it is where the text has no key, also over a file that has none yet", arguments: [true, false])
  func slowTemporaryFileWithoutKey(isYoung: Bool) async throws {
    let world = try await TaskWorld.make(isYoung ? [] : [task(1, "Milk", notes: "two")])
    let replica = try world.replica()
    try await replica.sync()
    if isYoung { try replica.write("milk.json", #"{"title": "Milk", "notes": "two"}"#) }
    try await replica.settle()
    let id = try #require(world.rows.keys.first)
    try replica.write("tmpx7_k2q1.json", #"{"title": "Oat milk"}"#)
    try await replica.sync()
    #expect(world.rows.count == 2)
    try replica.files.person.rename("tasks/tmpx7_k2q1.json", "tasks/milk.json")
    for _ in 0..<2 { _ = try await replica.workspace.look(at: ["tasks/milk.json", "tasks/tmpx7_k2q1.json"]) }
    try await replica.settle()
    #expect(Array(world.rows.keys) == [id])
    #expect(world.rows[id]?["title"] == "Oat milk")
    #expect(world.rows[id]?["notes"] == "two")
    #expect(replica.names == ["milk.json"])
    replica.advance(Workspace.keyDelay)
    try await replica.settle()
    #expect(replica.json("milk.json")?["id"] == .string(id))
    #expect(try replica.isClear)
  }

  @Test("a copy that is moved over its original much later takes its place")
  func lateMoveOverOriginal() async throws {
    let world = try await TaskWorld.make([task(1, "Milk")])
    let replica = try world.replica()
    try await replica.sync()
    try replica.copy("milk.json", "again.json")
    try await replica.settle()
    let own = try #require(replica.json("again.json")?["id"]?.stringValue)
    replica.advance(RecentRows.window)
    try replica.files.person.rename("tasks/again.json", "tasks/milk.json")
    try await replica.settle()
    #expect(Array(world.rows.keys) == [own])
    #expect(replica.json("milk.json")?["id"] == .string(own))
  }

  @Test("a copy that is put back with its original's key gets its own again")
  func copyPutBack() async throws {
    let world = try await TaskWorld.make([task(1, "Milk")])
    let one = try world.replica()
    try await one.sync()
    let text = try #require(one.text("milk.json"))
    try one.write("copy.json", text)
    try await one.settle()
    let own = try #require(one.json("copy.json")?["id"])
    #expect(own != .string(key(1)))
    try one.write("copy.json", text)
    try await one.settle()
    #expect(one.json("copy.json")?["id"] == own)
    try one.remove("milk.json")
    try await one.settle()
    #expect(world.rows.count == 1)
    #expect(one.json("copy.json")?["id"] == own)
  }

  @Test("a copy whose original is removed at once is a rename; removed later, a row of its own")
  func copyThenRemove() async throws {
    let world = try await TaskWorld.make([task(1, "Milk"), task(2, "Bread")])
    let replica = try world.replica()
    try await replica.sync()
    try replica.copy("milk.json", "again.json")
    try replica.remove("milk.json")
    try await replica.settle()
    #expect(world.rows.keys.sorted() == [key(1), key(2)])
    #expect(replica.json("again.json")?["id"] == .string(key(1)))
    try replica.copy("again.json", "third.json")
    try await replica.sync()
    try replica.remove("again.json")
    try await replica.settle()
    #expect(world.rows.count == 2)
    #expect(world.rows[key(1)] == nil)
    #expect(replica.names == ["bread.json", "third.json"])
    #expect(try replica.isClear)
  }

  @Test("of two new files with one key the older is the row and the other its copy")
  func twoNewFilesOfOneKey() async throws {
    let world = try await TaskWorld.make()
    let replica = try world.replica()
    try await replica.sync()
    try replica.write("z.json", #"{"id": "\#(key(5))", "title": "Milk"}"#)
    try replica.copy("z.json", "a.json")
    try await replica.settle()
    #expect(world.rows.count == 2)
    #expect(replica.json("z.json")?["id"] == .string(key(5)))
    #expect(replica.json("a.json")?["id"] != .string(key(5)))
  }

  @Test("a thousand files added at once are a thousand rows, once")
  func thousandFiles() async throws {
    let world = try await TaskWorld.make()
    let replica = try world.replica()
    try await replica.sync()
    for number in 1...1000 { try replica.write("\(number).json", #"{"title": "Task \#(number)"}"#) }
    let result = try await replica.sync()
    #expect(result.files.queued == 1000)
    #expect(result.replay.synced == 1000)
    #expect(world.rows.count == 1000)
    #expect(try await replica.sync().isQuiet)
    #expect(Set(world.rows.values.compactMap { $0["title"]?.stringValue }).count == 1000)
  }

  @Test("a thousand rows are a thousand files after one sync")
  func thousandRows() async throws {
    let world = try await TaskWorld.make((1...1000).map { task($0, "Task \($0)") })
    let replica = try world.replica()
    #expect(try await replica.sync().files.filesWritten == 1000)
    #expect(replica.names.count == 1000)
    _ = replica.network.takeWrites()
    #expect(try await replica.sync().isQuiet)
    #expect(replica.network.takeWrites().isEmpty)
  }

  @Test("a title in several files, or one that differs in case only, gives names that no file system takes for one")
  func collidingTitles() async throws {
    let world = try await TaskWorld.make([
      task(1, "Milk"), task(2, "MILK"), task(3, "milk "), task(4, "Straße"), task(5, "STRASSE"),
    ])
    let (one, other) = (try world.replica(), try world.replica())
    try await one.sync()
    try await other.sync()
    #expect(one.names == other.names)
    #expect(Set(one.names.map(FileNames.folded)).count == 5)
    #expect(one.names.contains("milk.json"))
  }

  @Test(
    "a title from the server never becomes a path outside the folder",
    arguments: [
      "..", "../x", "/etc/x", "a/b", "a\u{1}b", ".git/hooks/post-checkout", ".tidemark/state.sqlite", "CON", "...",
      "   x   ", String(repeating: "long ", count: 60), "x.mine", "#x", "a.json", "~", "\u{202E}x", "🙂",
    ])
  func hostileTitles(title: String) async throws {
    let world = try await TaskWorld.make([task(1, title)])
    let replica = try world.replica()
    try await replica.sync()
    let name = try #require(replica.names.first)
    #expect(FileNames.isSafe(name) && FileNames.isRowFile(name) && name.utf8.count <= FileNames.bytesMax)
    #expect(replica.files.person.paths().filter { !$0.hasPrefix(".tidemark/") } == ["tasks/\(name)"])
    #expect(replica.json(name)?["title"] == .string(title))
    try replica.edit(name, ["notes": "seen"])
    try await replica.settle()
    #expect(world.rows[key(1)]?["notes"] == "seen")
    #expect(world.rows[key(1)]?["title"] == .string(title))
  }

  @Test("what the server alone sets is not taken from a copy")
  func readOnlyColumns() async throws {
    let world = try await TaskWorld.make([task(1, "Milk")])
    let replica = try world.replica(
      TaskWorld.columns + [["name": "created_at", "type": "timestamp", "readOnly": true]])
    try await replica.sync()
    try replica.copy("milk.json", "again.json")
    world.clock.advance(.seconds(100))
    try await replica.settle()
    #expect(world.rows.count == 2)
    let id = try #require(replica.json("again.json")?["id"]?.stringValue)
    #expect(world.rows[id]?["created_at"] != world.rows[key(1)]?["created_at"])
    #expect(replica.json("again.json")?["created_at"] == world.rows[id]?["created_at"])
    try replica.edit("again.json", ["created_at": "2020-01-01T00:00:00+00:00"])
    try await replica.sync()
    #expect(try replica.problems.map(\.path) == ["tasks/again.json"])
    #expect(try replica.queue.isEmpty)
  }

  @Test("an edit saved between the server's answer and the look at it meets only what its maker made")
  func editBehindTheAnswer() async throws {
    let world = try await TaskWorld.make()
    let replica = try world.replica()
    try await replica.sync()
    try replica.write("milk.json", "{\"title\": \"Milk\"}")
    _ = try await replica.workspace.scan()
    _ = await replica.exchange()
    // The row is made, its notes are null by the server's default, and the file has not been looked at since.
    try replica.write("milk.json", "{\"title\": \"Milk\", \"notes\": \"two cartons\", \"done\": true}")
    _ = try await replica.workspace.scan()
    try await replica.settle()
    #expect(replica.names == ["milk.json"])
    #expect(try replica.isClear)
    #expect(world.row(titled: "Milk")?["notes"] == "two cartons")
    #expect(world.row(titled: "Milk")?["done"] == true)
  }

  @Test("another's change of a column that the new file never showed is not passed over")
  func changeBehindTheAnswer() async throws {
    let world = try await TaskWorld.make()
    let replica = try world.replica()
    try await replica.sync()
    try replica.write("milk.json", "{\"title\": \"Milk\"}")
    _ = try await replica.workspace.scan()
    _ = await replica.exchange()
    let id = try #require(world.row(titled: "Milk")?["id"]?.stringValue)
    world.update(id, ["notes": "theirs"])
    try replica.write("milk.json", "{\"title\": \"Milk\", \"notes\": \"mine\"}")
    _ = try await replica.workspace.scan()
    try await replica.settle()
    #expect(replica.json("milk.json")?["notes"] == "theirs")
    #expect(replica.json("milk.mine.json")?["notes"] == "mine")
    #expect(world.row(titled: "Milk")?["notes"] == "theirs")
  }
}
