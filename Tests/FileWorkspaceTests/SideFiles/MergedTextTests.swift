import LosslessJSON
import OfflineEngine
import StandInServer
import Testing

@testable import FileWorkspace

@Suite("Conflicts settled with a whole file")
struct MergedTextTests {
  /// A replica of one row whose title it and the server changed.
  private func conflict(mine: JSONObject = ["title": "Mine"]) async throws -> (world: TaskWorld, one: Replica) {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "two")])
    let one = try world.replica()
    try await one.sync()
    try one.edit("milk.json", mine)
    world.update(key(1), ["title": "Theirs"])
    try await one.sync()
    return (world, one)
  }

  private func resolve(_ one: Replica, _ text: String, entries: [Int64]? = nil) async throws -> WorkspaceChange {
    try await one.workspace.resolve(.path("tasks/milk.json"), with: MergedText(text, name: "m.json", entries: entries))
  }

  @Test("only the columns that differ from theirs are sent, guarded by the version that the conflict saw")
  func sent() async throws {
    let (world, one) = try await conflict()
    let version = try #require(one.conflicts.first?.serverVersion)
    let change = try await resolve(one, #"{"$n": [1], "title": "Both", "notes": "two"}"#)
    #expect(change.message.hasSuffix("settled: the merged text is kept"))
    let write = try #require(one.queue.first?.write)
    #expect(write.values == ["title": "Both"])
    #expect(write.base?.version == version)
    #expect(one.text("milk.json")?.hasPrefix(#"{"$n": [1], "id": "\#(key(1))", "title": "Both""#) ?? false)
    #expect(one.names == ["milk.json"])
    #expect(one.trash.contains { $0.contains("Mine") })
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Both")
    #expect(try one.isClear)
    #expect(try await one.sync().isQuiet)
  }

  @Test("a text that says what the server says sends nothing")
  func theirs() async throws {
    let (world, one) = try await conflict()
    #expect(
      try await resolve(one, #"{"title": "Theirs"}"#).message.hasSuffix("settled: it equals the server's version"))
    #expect(try one.queue.isEmpty)
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Theirs")
    #expect(one.names == ["milk.json"])
    #expect(try one.isClear)
  }

  @Test("a column that somebody changed once more is a conflict again; others are merged")
  func movedOn() async throws {
    let (world, one) = try await conflict()
    world.update(key(1), ["title": "Theirs again"])
    _ = try await resolve(one, #"{"title": "Both", "notes": "three"}"#)
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Theirs again")
    #expect(try one.conflicts.map(\.conflictingColumns) == [["title"]])
    #expect(one.json("milk.mine.json")?["title"] == "Both")

    let (world2, two) = try await conflict()
    world2.update(key(1), ["notes": "four"])
    _ = try await resolve(two, #"{"title": "Both"}"#)
    try await two.settle()
    #expect(world2.rows[key(1)]?["title"] == "Both")
    #expect(world2.rows[key(1)]?["notes"] == "four")
    #expect(try two.isClear)
  }

  @Test("over an edit of the file that still waits, the merged text has the last word")
  func waitingEdit() async throws {
    let (world, one) = try await conflict()
    try one.edit("milk.json", ["done": true, "notes": "edited"])
    _ = try await resolve(one, #"{"title": "Both", "done": false}"#)
    #expect(one.json("milk.json")?["done"] == false)
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Both")
    #expect(world.rows[key(1)]?["done"] == false)
    #expect(world.rows[key(1)]?["notes"] == "edited")
    #expect(try one.isClear)
  }

  @Test("a text of a conflict that has changed is refused, and so is one of another row or with mistakes")
  func refused() async throws {
    let (_, one) = try await conflict()
    let before = (one.text("milk.json"), one.text("milk.mine.json"))
    for (text, entries, sentence) in [
      (#"{"title": "x"}"#, [99], "has changed since you began"),
      (#"{"id": "\#(key(2))"}"#, nil, "m.json:1:8: this is the key of another row"),
      (#"{"title": null}"#, nil, "m.json:1:11: null in 'title'"), ("", nil, "m.json:1:1: the text is empty"),
      ("{\n<<<<<<< mine\n}", nil, "m.json:2:1: a conflict marker stands here"),
    ] as [(String, [Int64]?, String)] {
      let error = await #expect(throws: WorkspaceRequestError.self) { try await resolve(one, text, entries: entries) }
      #expect(error?.description.contains(sentence) ?? false, "\(String(describing: error))")
    }
    #expect(try one.conflicts.count == 1)
    #expect(try one.queue.isEmpty)
    #expect(one.text("milk.json") == before.0)
    #expect(one.text("milk.mine.json") == before.1)
  }

  @Test("a process that dies while it settles has settled everything or nothing", arguments: [false, true])
  func dying(isAfter: Bool) async throws {
    var number = 1
    while true {
      let (world, one) = try await conflict(mine: ["title": "Mine", "notes": "mine"])
      one.files.restart()
      one.files.plan(isAfter ? .stopAfter : .stop, atOperation: number)
      let change = try? await resolve(one, #"{"title": "Both", "notes": "both"}"#)
      guard one.files.isStopped else {
        #expect(change != nil)
        break
      }
      try one.restart()
      try await one.settle()
      let isOpen = try !one.conflicts.isEmpty
      #expect(world.rows[key(1)]?["title"] == (isOpen ? "Theirs" : "Both"), "operation \(number)")
      #expect(one.names == (isOpen ? ["milk.json", "milk.mine.json"] : ["milk.json"]), "operation \(number)")
      #expect(one.json("milk.json")?["title"] == world.rows[key(1)]?["title"])
      #expect(isOpen || one.trash.contains { $0.contains("Mine") }, "operation \(number)")
      number += 1
    }
    #expect(number > 5)
  }

  @Test("a draft has what only one side changed, what is disputed in three versions, and everybody's own members")
  func draft() async throws {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "one\ntwo\nthree")])
    let one = try world.replica()
    try await one.sync()
    try one.rewrite(
      "milk.json", #"{"$mine": 1, "title": "Mine", "notes": "1\ntwo\nthree", "id": "\#(key(1))", "done": false}"#)
    world.update(key(1), ["title": "Theirs", "notes": "one\ntwo\n3", "done": true])
    try await one.sync()
    let later = try #require(one.text("milk.json")).replacing(#"{"$mine": 1,"#, with: #"{"$mine": 1, "$later": 2,"#)
    try one.rewrite("milk.json", later)
    let draft = try one.client.read { transaction in
      try ConflictDraft.read(.path("tasks/milk.mine.json"), transaction, one.settings, one.files)
    }
    #expect(draft.hasMarkers && draft.path == "tasks/milk.json")
    let text = String(decoding: draft.merged, as: UTF8.self)
    for part in [
      #""$mine": 1"#, #""$later": 2"#, #""notes": "1\ntwo\n3""#, #""done": true"#, "<<<<<<< mine\n",
      #""title": "Milk""#,
    ] { #expect(text.contains(part), "\(text)") }
    #expect(text.components(separatedBy: "<<<<<<< ").count == 2)
  }

  @Test("what is shown as mine is what the side file says now")
  func shownAsEdited() async throws {
    let (_, one) = try await conflict()
    let columns = { try one.client.read { try ConflictEntry.all($0, one.settings, one.files) }.first?.columns ?? [] }
    #expect(try columns().map(\.name) == ["title"])
    try one.edit("milk.mine.json", ["title": "Mine again", "notes": "three"])
    #expect(try columns().map(\.name) == ["title", "notes"])
    #expect(try columns().map(\.mine) == ["Mine again", "three"])
    #expect(try columns().map(\.base) == ["Milk", "two"])
    #expect(try columns().map(\.isDisputed) == [true, false])
    try one.edit("milk.mine.json", ["title": "Theirs"])
    #expect(try columns().map(\.isDisputed) == [false, false])
    try one.write("milk.mine.json", "{")
    #expect(try columns().map(\.mine) == ["Mine"])
  }
}
