import LosslessJSON
import OfflineEngine
import Testing

@testable import FileWorkspace

@Suite("Undoing what a sync did to the files")
struct UndoTests {
  private func two(_ rows: [JSONObject]) async throws -> (TaskWorld, Replica, Replica) {
    let world = try await TaskWorld.make(rows)
    let (one, other) = (try world.replica(), try world.replica())
    try await one.sync()
    try await other.sync()
    return (world, one, other)
  }

  private func fates(_ undone: UndoReport) -> [String: UndoReport.Fate] {
    Dictionary(uniqueKeysWithValues: undone.files.map { (WorkspacePath.name(of: $0.path), $0.fate) })
  }

  private func settle(_ replicas: Replica...) async throws {
    for _ in 0..<3 { for replica in replicas { try await replica.settle() } }
  }

  @Test("the files of the last sync say again what they said, byte for byte, and so do both replicas' rows")
  func putBack() async throws {
    let (world, one, other) = try await two([task(1, "Milk", notes: "two"), task(2, "Bread"), task(3, "Jam")])
    let text = "{ \"notes\":\"two\",\n\t\"title\": \"Mi\\u006ck\", \"id\": \"\(key(1))\", \"$tag\": 1 }"
    try one.rewrite("milk.json", text)
    try await one.sync()
    let before = (milk: one.json("milk.json"), bread: one.text("bread.json"), jam: one.text("jam.json"))
    try other.edit("milk.json", ["title": "Oat milk", "notes": "three"])
    try other.edit("bread.json", ["done": true])
    try await other.sync()
    try await one.sync()
    #expect(one.json("milk.json")?["title"] == "Oat milk")

    let undone = try await one.workspace.undo()
    #expect(fates(undone) == ["milk.json": .putBack, "bread.json": .putBack])
    #expect(one.text("milk.json") == text)
    #expect(one.text("bread.json") == before.bread)
    #expect(try one.queue.count == 2)
    try await settle(one, other)
    for replica in [one, other] {
      #expect(replica.json("milk.json")?["title"] == "Milk")
      #expect(replica.json("milk.json")?["notes"] == "two")
      #expect(replica.json("bread.json")?["done"] == false)
      #expect(try replica.isClear)
    }
    #expect(one.text("jam.json") == before.jam)
    #expect(world.rows[key(1)]?["title"] == "Milk")
    // What the others wrote lost its place: it is in the trash.
    #expect(one.trash.contains { $0.contains("Oat milk") })
    #expect(try await one.sync().isQuiet)
  }

  @Test("a file that was edited since is left alone and named, and its former text goes to the trash")
  func editedSince() async throws {
    let (world, one, other) = try await two([task(1, "Milk", notes: "two"), task(2, "Bread")])
    try other.edit("milk.json", ["title": "Oat milk"])
    try other.edit("bread.json", ["title": "Rye"])
    try await other.sync()
    try await one.sync()
    try one.edit("milk.json", ["notes": "three"])
    let undone = try await one.workspace.undo()
    #expect(fates(undone) == ["milk.json": .left, "bread.json": .putBack])
    try await settle(one, other)
    for replica in [one, other] {
      #expect(replica.json("milk.json")?["title"] == "Oat milk")
      #expect(replica.json("milk.json")?["notes"] == "three")
      #expect(replica.json("bread.json")?["title"] == "Bread")
      #expect(try replica.isClear)
    }
    #expect(one.trash.contains { $0.contains(#""title": "Milk""#) })
    #expect(world.rows.count == 2)
  }

  @Test("every further undo goes one sync further back, and then there is nothing left")
  func furtherBack() async throws {
    let (_, one, other) = try await two([task(1, "zero")])
    for title in ["one", "two", "three"] {
      try other.edit("zero.json", ["title": .string(title)])
      try await other.sync()
      try await one.sync()
    }
    for title in ["two", "one", "zero"] {
      let undone = try await one.workspace.undo()
      #expect(fates(undone) == ["zero.json": .putBack])
      #expect(one.json("zero.json")?["title"] == .string(title))
      // Syncs in between that bring nothing do not count.
      try await one.sync()
    }
    #expect(fates(try await one.workspace.undo()) == ["zero.json": .stays])
    #expect(try await one.workspace.undo().at == nil)
    try await settle(one, other)
    #expect(other.json("zero.json")?["title"] == "zero")
  }

  @Test("an undo is an edit of the newest version, even where an older text is more like it")
  func newestVersion() async throws {
    let (world, one, other) = try await two([task(1, "Milk", notes: "two")])
    // The file says less than its row, and what a sync put into it is to go again.
    try one.rewrite("milk.json", #"{"id": "\#(key(1))", "title": "Milk"}"#)
    try await one.sync()
    try other.edit("milk.json", ["notes": "three"])
    try await other.sync()
    try await one.sync()
    #expect(one.json("milk.json")?["notes"] == "three")
    try other.edit("milk.json", ["title": "Oat milk", "done": true])
    try await other.sync()
    try await one.sync()
    _ = try await one.workspace.undo()
    #expect(one.json("milk.json") == ["id": .string(key(1)), "title": "Milk", "notes": "three", "done": false])
    _ = try await one.workspace.undo()
    #expect(one.json("milk.json")?["notes"] == "two")
    try await settle(one, other)
    #expect(world.rows[key(1)]?["notes"] == "two")
    #expect(world.rows[key(1)]?["title"] == "Milk")
    #expect(world.rows[key(1)]?["done"] == false)
  }

  @Test("a restored text is an edit of the newest version, even where an older text is more like it")
  func restoreIsDeliberate() async throws {
    let (world, one, other) = try await two([task(1, "Milk", notes: "two")])
    try await one.workspace.keep([
      TrashItem(
        origin: "tasks/milk.json", bytes: Array(#"{"id": "\#(key(1))", "title": "Mine", "notes": "two"}"#.utf8),
        reason: "")
    ])
    try other.edit("milk.json", ["title": "Oat milk", "notes": "three"])
    try await other.sync()
    try await one.sync()
    _ = try await one.workspace.restore("tasks/milk.json", path: nil)
    try await settle(one, other)
    #expect(world.rows[key(1)]?["title"] == "Mine")
    #expect(world.rows[key(1)]?["notes"] == "two")
  }

  @Test("a change that others make before the undo is sent meets it as a conflict, and nothing is lost")
  func meetsChange() async throws {
    let (_, one, other) = try await two([task(1, "Milk", notes: "two")])
    try other.edit("milk.json", ["title": "Oat milk"])
    try await other.sync()
    try await one.sync()
    _ = try await one.workspace.undo()
    try other.edit("milk.json", ["title": "Soy milk"])
    try await other.sync()
    try await one.sync()
    #expect(one.json("milk.json")?["title"] == "Soy milk")
    #expect(one.json("milk.mine.json")?["title"] == "Milk")
  }

  @Test("a file that a sync removed comes back as a new row, and one that came new stays")
  func removedAndAdded() async throws {
    let (world, one, other) = try await two([task(1, "Milk", notes: "two"), task(2, "Bread"), task(3, "Jam")])
    try other.remove("milk.json")
    try other.write("new.json", #"{"title": "New"}"#)
    try await other.sync()
    try await one.sync()
    #expect(one.names == ["bread.json", "jam.json", "new.json"])
    let undone = try await one.workspace.undo()
    #expect(fates(undone) == ["milk.json": .restored, "new.json": .stays])
    try await settle(one, other)
    for replica in [one, other] {
      #expect(replica.names == ["bread.json", "jam.json", "milk.json", "new.json"])
      #expect(replica.json("milk.json")?["notes"] == "two")
      #expect(try replica.isClear)
    }
    #expect(world.rows.count == 4)
    #expect(world.rows[key(1)] == nil)
  }

  @Test("with --added the files that came new go, and so do their rows, once their absence is proven")
  func added() async throws {
    let (world, one, other) = try await two([task(1, "Milk"), task(2, "Bread"), task(3, "Jam"), task(4, "Tea")])
    try other.edit("milk.json", ["title": "Oat milk"])
    try other.write("new.json", #"{"title": "New"}"#)
    try other.write("own.json", #"{"title": "Own"}"#)
    try await other.sync()
    try await one.sync()
    try one.edit("own.json", ["notes": "mine"])
    // First without it: those that stay can still go.
    #expect(fates(try await one.workspace.undo()) == ["milk.json": .putBack, "new.json": .stays, "own.json": .stays])
    let undone = try await one.workspace.undo(isAddedToo: true)
    #expect(fates(undone) == ["new.json": .removed, "own.json": .left])
    try await settle(one, other)
    for replica in [one, other] {
      #expect(replica.names == ["bread.json", "jam.json", "milk.json", "own.json", "tea.json"])
      #expect(replica.json("own.json")?["notes"] == "mine")
      #expect(try replica.isClear)
    }
    #expect(world.row(titled: "New") == nil)
    #expect(one.trash.contains { $0.contains("New") })
  }

  @Test("with --added the brake holds what goes in large numbers")
  func addedInLargeNumbers() async throws {
    let world = try await TaskWorld.make((1...6).map { task($0, "t\($0)") })
    let one = try world.replica()
    try await one.sync()
    let undone = try await one.workspace.undo(isAddedToo: true)
    #expect(undone.files.allSatisfy { $0.fate == .removed } && undone.files.count == 6)
    try await one.sync()
    #expect(world.rows.count == 6)
    #expect(try await one.workspace.summary().held == 6)
  }

  @Test("an editor that has the file open keeps it and the sync, until it is closed")
  func editor() async throws {
    let (_, one, other) = try await two([task(1, "Milk"), task(2, "Bread")])
    for name in ["milk.json", "bread.json"] { try other.edit(name, ["notes": "theirs"]) }
    try await other.sync()
    try await one.sync()
    try one.write(".milk.json.swp", "")
    #expect(fates(try await one.workspace.undo()) == ["milk.json": .waits, "bread.json": .putBack])
    try one.remove(".milk.json.swp")
    #expect(fates(try await one.workspace.undo()) == ["milk.json": .putBack])
    try await settle(one, other)
    #expect(other.json("milk.json")?["notes"] == .null)
    #expect(other.json("bread.json")?["notes"] == .null)
  }

  @Test("while git is at work nothing is undone, and afterwards all of it")
  func git() async throws {
    let (_, one, other) = try await two([task(1, "Milk")])
    try other.edit("milk.json", ["title": "Oat milk"])
    try await other.sync()
    try await one.sync()
    try one.files.person.createFolder(".git")
    try one.files.person.save(".git/index.lock", [])
    await #expect(throws: WorkspaceRequestError.self) { _ = try await one.workspace.undo() }
    #expect(one.json("milk.json")?["title"] == "Oat milk")
    try one.files.person.remove(".git/index.lock")
    #expect(fates(try await one.workspace.undo()) == ["milk.json": .putBack])
  }

  @Test("a file that was renamed since is found under its new name")
  func renamed() async throws {
    let (_, one, other) = try await two([task(1, "Milk")])
    try other.edit("milk.json", ["title": "Oat milk"])
    try await other.sync()
    try await one.sync()
    try one.move("milk.json", "drink.json")
    #expect(fates(try await one.workspace.undo()) == ["drink.json": .putBack])
    try await settle(one, other)
    #expect(other.json("milk.json")?["title"] == "Milk")
    #expect(one.names == ["drink.json"])
  }

  @Test("what a command of the person's wrote is no sync's doing")
  func commandsDoNotCount() async throws {
    let (_, one, _) = try await two([task(1, "Milk")])
    try one.edit("milk.json", ["title": "Mine"])
    _ = try await one.workspace.scan()
    _ = try await one.workspace.discard(.path("tasks/milk.json"))
    #expect(one.json("milk.json")?["title"] == "Milk")
    #expect(fates(try await one.workspace.undo()) == ["milk.json": .stays])
    #expect(one.json("milk.json")?["title"] == "Milk")
  }

  @Test("a key or a column that only the server sets, written into a file, is nothing to undo")
  func keysDoNotCount() async throws {
    let world = try await TaskWorld.make()
    let one = try world.replica(TaskWorld.columns + ["updated_at timestamp read-only"])
    try await one.sync()
    try one.write("milk.json", #"{"title": "Milk"}"#)
    try await one.sync()
    one.advance(.seconds(60))
    try await one.sync()
    try await one.sync()
    #expect(one.json("milk.json")?["id"] != nil)
    world.update(try #require(one.json("milk.json")?["id"]?.stringValue), ["title": "Milk"])
    try await one.sync()
    #expect(try await one.workspace.undo().at == nil)
  }

  @Test("where a file shows what only the server sets, several undos still go back one by one")
  func readOnlyColumns() async throws {
    let world = try await TaskWorld.make([task(1, "zero")])
    let one = try world.replica(TaskWorld.columns + ["updated_at timestamp read-only"])
    try await one.sync()
    for title in ["one", "two"] {
      world.update(key(1), ["title": .string(title)])
      try await one.sync()
    }
    for title in ["one", "zero"] {
      #expect(fates(try await one.workspace.undo()) == ["zero.json": .putBack])
      try await one.sync()
      try await one.sync()
      #expect(world.rows[key(1)]?["title"] == .string(title))
      #expect(one.json("zero.json")?["updated_at"] == world.rows[key(1)]?["updated_at"])
    }
  }

  @Test("a kill at any operation of a sync loses nothing of what an undo needs")
  func kills() async throws {
    for operation in stride(from: 1, to: 60, by: max(1, 4 / testEffort)) {
      let (world, one, other) = try await two([task(1, "Milk"), task(2, "Bread"), task(3, "Jam"), task(4, "Tea")])
      try other.edit("milk.json", ["title": "Oat milk"])
      try other.remove("bread.json")
      try await other.sync()
      one.files.plan(.stop, atOperation: one.files.operationCount + operation)
      _ = try? await one.sync()
      try one.restart()
      try await one.settle()
      // Both may belong to one sync, or to two.
      for _ in 0..<4 { _ = try await one.workspace.undo() }
      try await settle(one, other)
      #expect(Set(world.rows.values.map { $0["title"] }) == ["Milk", "Bread", "Jam", "Tea"], "operation \(operation)")
      #expect(try one.isClear && other.isClear)
    }
  }

  @Test("what a dry run says is what the undo does, and it changes nothing", arguments: [false, true])
  func dryRun(isAddedToo: Bool) async throws {
    let (_, one, other) = try await two([task(1, "Milk"), task(2, "Bread"), task(3, "Jam"), task(4, "Tea")])
    try other.edit("milk.json", ["title": "Oat milk"])
    try other.edit("jam.json", ["title": "Jelly"])
    try other.remove("bread.json")
    try other.write("new.json", #"{"title": "New"}"#)
    try await other.sync()
    try await one.sync()
    try one.edit("jam.json", ["notes": "mine"])
    let before = one.names.map(one.text)
    let plan = try one.client.read {
      try UndoReport.plan($0, one.settings, files: one.files, isAddedToo: isAddedToo)
    }
    #expect(one.names.map(one.text) == before)
    #expect(fates(plan) == fates(try await one.workspace.undo(isAddedToo: isAddedToo)))
    #expect(Set(fates(plan).values) == [.putBack, .left, .restored, isAddedToo ? .removed : .stays])
  }

  @Test("the last ten syncs are kept, and none older than the trash keeps texts")
  func bounds() async throws {
    let world = try await TaskWorld.make([task(1, "0")])
    let one = try world.replica()
    try await one.sync()
    for number in 1...12 {
      world.update(key(1), ["title": .string("\(number)")])
      try await one.sync()
    }
    var undone = 0
    while try await one.workspace.undo().at != nil { undone += 1 }
    #expect(undone == 10)
    #expect(one.json("0.json")?["title"] == "2")

    try await one.settle()
    world.update(key(1), ["title": "old"])
    try await one.sync()
    one.advance(.seconds(31 * 86_400))
    world.update(key(1), ["title": "new"])
    try await one.sync()
    #expect(try await one.workspace.undo().at != nil)
    #expect(one.json("0.json")?["title"] == "old")
    #expect(try await one.workspace.undo().at == nil)
  }
}
