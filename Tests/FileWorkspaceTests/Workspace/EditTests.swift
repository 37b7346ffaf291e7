import LosslessJSON
import OfflineEngine
import StandInServer
import Synchronization
import Testing

@testable import FileWorkspace

@Suite("Edits of files and rows")
struct EditTests {
  private func two(_ rows: [JSONObject]) async throws -> (TaskWorld, Replica, Replica) {
    let world = try await TaskWorld.make(rows)
    let (one, other) = (try world.replica(), try world.replica())
    try await one.sync()
    try await other.sync()
    return (world, one, other)
  }

  @Test("edits of different columns on two replicas merge, whoever comes first", arguments: [true, false])
  func merge(isOneFirst: Bool) async throws {
    let (world, one, other) = try await two([task(1, "Milk", notes: "two")])
    try one.edit("milk.json", ["title": "Oat milk"])
    try other.edit("milk.json", ["notes": "three", "done": true])
    for replica in isOneFirst ? [one, other, one] : [other, one, other] { try await replica.sync() }
    for replica in [one, other] {
      #expect(replica.json("milk.json")?["title"] == "Oat milk")
      #expect(replica.json("milk.json")?["notes"] == "three")
      #expect(replica.json("milk.json")?["done"] == true)
      #expect(replica.names == ["milk.json"])
      #expect(try replica.isClear)
    }
    #expect(world.rows[key(1)]?["notes"] == "three")
  }

  @Test("an edit is queued in one transaction, and its file is read once")
  func cheapEdit() async throws {
    let (_, one, _) = try await two([task(1, "Milk", notes: "two")])
    try one.edit("milk.json", ["notes": "three"])
    let reads = Atomic(0)
    one.files.beforeEachOperation { _, operation in
      if operation == "read" { reads.add(1, ordering: .relaxed) }
    }
    one.commits.restart()
    #expect(try await one.workspace.look(at: ["tasks/milk.json"]).queued == 1)
    #expect(one.commits.commitCount == 1)
    #expect(reads.load(ordering: .relaxed) == 1)
  }

  @Test("the same change on two replicas is no conflict")
  func equalEdits() async throws {
    let (world, one, other) = try await two([task(1, "Milk")])
    for replica in [one, other] { try replica.edit("milk.json", ["title": "Oat milk"]) }
    for replica in [one, other, one] { try await replica.settle() }
    #expect(one.names == ["milk.json"] && other.names == ["milk.json"])
    #expect(try one.isClear && other.isClear)
    #expect(world.rows[key(1)]?["title"] == "Oat milk")
  }

  @Test("only the columns that a person changed are sent")
  func onlyChanged() async throws {
    let (world, one, _) = try await two([task(1, "Milk", notes: "two")])
    try one.rewrite(
      "milk.json", #"{"done":true, "id":"\#(key(1))", "notes":"two", "title":"Milk", "$tags":["a"]}"#)
    _ = one.network.takeWrites()
    try await one.sync()
    let writes = one.network.takeWrites()
    #expect(writes.count == 1)
    #expect(writes.first?.hasSuffix(#" {"done":true}"#) == true, "\(writes)")
    #expect(world.rows[key(1)]?["done"] == true)
    #expect(try await one.sync().isQuiet)
  }

  @Test("formatting, key order, a byte-order mark and line ends are no change, and stay")
  func formatting() async throws {
    let (world, one, other) = try await two([task(1, "Milk", notes: "two")])
    let text = "\u{FEFF}{\r\n\t\"notes\" : \"two\",\r\n\t\"title\": \"Mi\\u006ck\", \"id\": \"\(key(1))\"\r\n}\r\n"
    try one.rewrite("milk.json", text)
    #expect(try await one.sync().isQuiet)
    #expect(one.text("milk.json") == text)
    try other.edit("milk.json", ["notes": "three"])
    try await other.sync()
    try await one.sync()
    #expect(one.text("milk.json")?.hasPrefix("\u{FEFF}{\r\n\t\"notes\" : \"three\",\r\n") == true)
    #expect(one.text("milk.json")?.contains(#""title": "Mi\u006ck""#) == true)
    #expect(try await one.sync().isQuiet)
    _ = world
  }

  @Test("touching and rewriting the same text queues nothing and writes nothing")
  func touching() async throws {
    let (_, one, _) = try await two([task(1, "Milk"), task(2, "Bread")])
    try one.rewrite("milk.json", try #require(one.text("milk.json")))
    try one.write("bread.json", try #require(one.text("bread.json")))
    _ = one.network.takeWrites()
    #expect(try await one.sync().isQuiet)
    #expect(one.network.takeWrites().isEmpty)
  }

  @Test("a hundred saves without a network are one write")
  func coalescing() async throws {
    let (world, one, _) = try await two([task(1, "Milk", notes: "two")])
    one.network.isConnected = false
    for number in 1...20 {
      try one.edit("milk.json", ["title": .string("Milk \(number)")])
      try await one.sync()
    }
    #expect(try one.queue.count == 1)
    one.network.isConnected = true
    _ = one.network.takeWrites()
    try await one.sync()
    #expect(one.network.takeWrites().count == 1)
    #expect(world.rows[key(1)]?["title"] == "Milk 20")
    #expect(try one.isClear)
  }

  // MARK: Older texts

  /// A file whose notes were two and are three, and its text of before, as an editor may still hold it.
  private func oldBuffer() async throws -> (world: TaskWorld, one: Replica, buffer: String) {
    let (world, one, other) = try await two([task(1, "Milk", notes: "two")])
    let buffer = try #require(one.text("milk.json"))
    try other.edit("milk.json", ["notes": "three"])
    try await other.sync()
    try await one.sync()
    return (world, one, buffer)
  }

  @Test("a save from an old editor buffer changes only what was typed into it")
  func saveFromOldBuffer() async throws {
    let (world, one, buffer) = try await oldBuffer()
    #expect(one.json("milk.json")?["notes"] == "three")
    try one.rewrite("milk.json", buffer.replacing("\"done\": false", with: "\"done\": true"))
    try await one.settle()
    #expect(world.rows[key(1)]?["notes"] == "three")
    #expect(world.rows[key(1)]?["done"] == true)
    #expect(one.json("milk.json")?["notes"] == "three")
    #expect(one.trash.contains { $0.contains("\"two\"") })
    #expect(try one.isClear)
  }

  @Test("a save from an old buffer is told of once, and not while the file has a problem")
  func oldBufferIsToldOnce() async throws {
    let (_, one, buffer) = try await oldBuffer()
    let ticked = buffer.replacing("\"done\": false", with: "\"done\": true")
    let isTold = { (result: SyncResult) in
      result.files.events.filter { $0.detail.hasPrefix("saved from an older text") }
    }
    try one.rewrite("milk.json", ticked.replacing(key(1), with: key(9)))
    for _ in 0..<2 { #expect(isTold(try await one.sync()).isEmpty) }
    #expect(try one.problems.count == 1)
    try one.rewrite("milk.json", ticked)
    #expect(isTold(try await one.sync()).count == 1)
    #expect(isTold(try await one.sync()).isEmpty)
    #expect(try one.problems.isEmpty)
  }

  @Test("a save that equals an older text everywhere puts it back")
  func puttingBack() async throws {
    let (world, one, buffer) = try await oldBuffer()
    try one.rewrite("milk.json", buffer)
    try await one.settle()
    #expect(world.rows[key(1)]?["notes"] == "two")
    #expect(try one.isClear)
  }

  @Test("a save from an old buffer never folds into a write that saw more")
  func oldBufferBehindQueuedWrite() async throws {
    let (world, one, buffer) = try await oldBuffer()
    one.network.isConnected = false
    try one.edit("milk.json", ["done": true])
    try await one.sync()
    // The old buffer shows "two": what is typed over it is no answer to "three".
    try one.rewrite("milk.json", buffer.replacing("\"two\"", with: "\"four\"").replacing("Milk", with: "Oat milk"))
    try await one.sync()
    one.network.isConnected = true
    try await one.settle()
    #expect(world.rows[key(1)]?["notes"] == "three")
    #expect(world.rows[key(1)]?["done"] == true)
    #expect(one.json("milk.mine.json")?["notes"] == "four")
    try one.remove("milk.mine.json")
    try await one.settle()
    #expect(try one.isClear)
  }

  @Test("a file too fresh to be sure of is read again until its numbers are certain, and an edit is found all the same")
  func readAgain() async throws {
    let (_, one, _) = try await two([task(1, "Milk", notes: "two")])
    let stamp = try #require(try one.files.status("tasks/milk.json")).stamp
    let known = { try one.client.read { try Mirror($0).knownFiles("tasks") }[PathKey("tasks/milk.json")] }
    #expect(try known()?.stamp == stamp)
    #expect(try await one.sync().isQuiet)
    one.advance(.seconds(5))
    #expect(try await one.sync().isQuiet)
    #expect(try known()?.isCertain == true)
    #expect(try known()?.stamp == stamp)
    try one.edit("milk.json", ["notes": "three"])
    _ = try await one.workspace.scan()
    #expect(try one.queue.count == 1)
  }

  @Test("a change of the server waits while an editor has the file open, also into the next run")
  func editorMarker() async throws {
    let (world, one, _) = try await two([task(1, "Milk", notes: "two")])
    try one.write(".milk.json.swp", "")
    world.update(key(1), ["notes": "three"])
    #expect(try await one.sync().files.filesWritten == 0)
    #expect(one.json("milk.json")?["notes"] == "two")
    #expect(await one.workspace.waits().count == 1)
    try one.restart()
    try await one.sync()
    #expect(one.json("milk.json")?["notes"] == "two")
    try one.remove(".milk.json.swp")
    try await one.sync()
    #expect(one.json("milk.json")?["notes"] == "three")
    #expect(try await one.sync().isQuiet)
  }

  @Test("what an editor with an open descriptor writes into a file that was replaced is taken as its edit")
  func lateText() async throws {
    let (world, one, _) = try await two([task(1, "Milk", notes: "two")])
    let buffer = try #require(one.text("milk.json"))
    let writer = try one.files.person.open("tasks/milk.json")
    world.update(key(1), ["notes": "three"])
    try await one.sync()
    writer.write(Array(buffer.replacing("Milk", with: "Oat milk").utf8))
    writer.close()
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Oat milk")
    #expect(world.rows[key(1)]?["notes"] == "three")
    #expect(one.json("milk.json")?["title"] == "Oat milk")
  }

  @Test("edits at the path and late texts in turn are one person's, and no row that keeps changing back")
  func lateTextsInTurn() async throws {
    let (world, one, _) = try await two([task(1, "Milk", notes: "two")])
    func pass(_ names: [String] = []) async throws {
      one.advance(.milliseconds(500))
      _ = try await one.watch(names)
    }
    for number in 1...2 * ChangeBacks.roundsMax {
      let buffer = try #require(one.text("milk.json"))
      let title = try #require(one.json("milk.json")?["title"]?.stringValue)
      let writer = try one.files.person.open("tasks/milk.json")
      world.update(key(1), ["notes": .string("theirs \(number)")])
      try await pass()
      writer.write(Array(buffer.replacing(title, with: "late \(number)").utf8))
      writer.close()
      _ = try await one.workspace.tick(isLast: true)
      try await pass()
      #expect(one.json("milk.json")?["title"] == .string("late \(number)"))
      try one.edit("milk.json", ["title": .string("Milk \(number)")])
      try await pass(["milk.json"])
    }
    #expect(world.rows[key(1)]?["title"] == .string("Milk \(2 * ChangeBacks.roundsMax)"))
    #expect(try one.isClear)
  }

  @Test("an old text written anew into a file that was replaced turns nothing back")
  func lateTextUnchanged() async throws {
    let (world, one, _) = try await two([task(1, "Milk", notes: "two")])
    let buffer = try #require(one.text("milk.json"))
    let writer = try one.files.person.open("tasks/milk.json")
    world.update(key(1), ["notes": "three"])
    try await one.sync()
    writer.write(Array((buffer + "\n").utf8))
    writer.close()
    try await one.settle()
    #expect(world.rows[key(1)]?["notes"] == "three")
    #expect(one.json("milk.json")?["notes"] == "three")
  }

  @Test("a late text is of the row whose file it was, whatever lies at its name by now")
  func lateTextOfMovedFile() async throws {
    let (world, one, _) = try await two([task(1, "Milk", notes: "two"), task(2, "Bread", notes: "white")])
    let buffer = try #require(one.text("milk.json"))
    let writer = try one.files.person.open("tasks/milk.json")
    world.update(key(1), ["notes": "three"])
    try await one.sync()
    try one.files.person.rename("tasks/milk.json", "tasks/t.json")
    try one.files.person.rename("tasks/bread.json", "tasks/milk.json")
    writer.write(Array(buffer.replacing("Milk", with: "Oat milk").utf8))
    writer.close()
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Oat milk")
    #expect(world.rows[key(2)]?["title"] == "Bread")
    #expect(one.json("milk.json")?["id"] == .string(key(2)))
  }

  @Test("a late text does not turn back what was saved at its path since")
  func lateTextBehindSave() async throws {
    let (world, one, _) = try await two([task(1, "Milk", notes: "two")])
    let buffer = try #require(one.text("milk.json"))
    let writer = try one.files.person.open("tasks/milk.json")
    world.update(key(1), ["done": true])
    try await one.sync()
    one.network.isConnected = false
    try one.edit("milk.json", ["title": "Oat milk"])
    try await one.sync()
    writer.write(Array(buffer.replacing("two", with: "three").utf8))
    writer.close()
    try await one.sync()
    one.network.isConnected = true
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Oat milk")
    #expect(world.rows[key(1)]?["notes"] == "three")
    #expect(world.rows[key(1)]?["done"] == true)
  }

  @Test("a late text meets what the file showed since in the same column as a conflict")
  func lateTextOverUnseen() async throws {
    let (world, one, _) = try await two([task(1, "Milk", notes: "two")])
    let buffer = try #require(one.text("milk.json"))
    let writer = try one.files.person.open("tasks/milk.json")
    world.update(key(1), ["notes": "three"])
    try await one.sync()
    writer.write(Array(buffer.replacing("two", with: "four").utf8))
    writer.close()
    try await one.settle()
    #expect(world.rows[key(1)]?["notes"] == "three")
    #expect(one.json("milk.json")?["notes"] == "three")
    #expect(one.json("milk.mine.json")?["notes"] == "four")
  }

  @Test("an edit goes by the version that the answer to the one before made, also where nobody has looked at that yet")
  func editBehindUnseenAnswer() async throws {
    let (world, one, _) = try await two([task(1, "Milk", notes: "two")])
    for title in ["Oat milk", "Soy milk"] {
      try one.edit("milk.json", ["title": .string(title)])
      _ = try await one.workspace.look(at: ["tasks/milk.json"])
      _ = await one.client.syncPendingMutations()
    }
    try one.edit("milk.json", ["title": "Rice milk"])
    _ = try await one.workspace.look(at: ["tasks/milk.json"])
    let version = try #require(world.rows[key(1)]?["updated_at"]?.stringValue)
    #expect(try one.queue.map { $0.write.base?.version } == [version])
  }

  @Test("what nobody has seen is not written over: a later edit behind a write in doubt")
  func editBehindWriteInDoubt() async throws {
    let (world, one, other) = try await two([task(1, "Milk", notes: "two")])
    try one.edit("milk.json", ["title": "Oat milk"])
    world.server.faults = [StandInFault(.unavailable(retryAfter: 1), method: "PATCH")]
    try await one.sync()
    try other.edit("milk.json", ["title": "Soy milk"])
    try await other.sync()
    // The pull succeeds, the write is still in the queue.
    _ = try await one.client.pull("tasks")
    _ = try await one.workspace.writeRows()
    try one.edit("milk.json", ["title": "Rice milk"])
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Soy milk")
    #expect(one.json("milk.mine.json")?["title"] == "Rice milk")
    #expect(one.json("milk.json")?["title"] == "Soy milk")
  }

  @Test("a server that has asked to be left alone is asked nothing that nobody waits for")
  func patience() async throws {
    let (world, one, _) = try await two([task(1, "Milk", notes: "two")])
    let client = one.client
    try one.edit("milk.json", ["title": "Oat milk"])
    world.server.faults = [StandInFault(.unavailable(retryAfter: 60), method: "PATCH")]
    try await one.sync()
    let count = world.server.requests.count
    let refused = await UserEngine.patiently { await client.syncPendingMutations() }
    guard case .unavailable(_, .some)? = refused.stoppedBy else {
      Issue.record("\(String(describing: refused.stoppedBy))")
      return
    }
    #expect(world.server.requests.count == count)
    one.advance(.seconds(60))
    #expect(await UserEngine.patiently { await client.syncPendingMutations() }.synced == 1)
    #expect(world.rows[key(1)]?["title"] == "Oat milk")
  }

  // MARK: Files that cannot be read

  @Test(
    "a file that cannot be read is a problem with its place; nothing is queued, and it is over when it reads again",
    arguments: [
      (#"{"title": "Milk""#, 1), (#"{"title": 3}"#, 1), ("", nil), ("   \n", nil), ("\0\0\0\0", 1), ("[]", 1),
      ("{\n  \"tilte\": \"Milk\"\n}", 2), (#"{"title": null}"#, 1),
    ] as [(String, Int?)])
  func unreadable(text: String, line: Int?) async throws {
    let (world, one, other) = try await two([task(1, "Milk", notes: "two")])
    let good = try #require(one.text("milk.json"))
    try one.write("milk.json", text)
    let result = try await one.sync()
    #expect(result.files.queued == 0 && result.files.filesWritten == 0)
    #expect(try one.problems.map(\.path) == ["tasks/milk.json"])
    #expect(try one.problems.first?.line == line)
    try other.edit("milk.json", ["notes": "three"])
    try await other.sync()
    #expect(try await one.sync().files.filesWritten == 0, "the server's change waits")
    #expect(one.text("milk.json") == text)
    try one.restart()
    try one.write("milk.json", good.replacing("Milk", with: "Oat milk"))
    try await one.settle()
    #expect(try one.isClear)
    #expect(world.rows[key(1)]?["title"] == "Oat milk")
    #expect(world.rows[key(1)]?["notes"] == "three")
    #expect(one.json("milk.json")?["notes"] == "three")
  }

  @Test("the key of nobody in a known file is a problem, never a delete and an insert")
  func foreignKey() async throws {
    let (world, one, _) = try await two([task(1, "Milk")])
    try one.edit("milk.json", ["id": .string(key(99))])
    try await one.settle()
    #expect(try one.problems.map(\.path) == ["tasks/milk.json"])
    #expect(world.rows.keys.sorted() == [key(1)])
    #expect(try one.queue.isEmpty)
    try one.edit("milk.json", ["id": .string(key(1))])
    try await one.settle()
    #expect(try one.isClear)
  }

  @Test("a link or folder under a row's name is left alone, and said")
  func notRegular() async throws {
    let (world, one, _) = try await two([task(1, "Milk")])
    try one.files.person.createLink("tasks/link.json")
    try one.files.person.createFolder("tasks/folder.json")
    try one.files.person.createLink("tasks/.#milk.json.lock")
    try await one.sync()
    #expect(try one.problems.map(\.path) == ["tasks/folder.json", "tasks/link.json"])
    #expect(world.rows.count == 1)
  }

  @Test("a state that was lost is rebuilt: equal files are remembered, different ones stand beside the row")
  func lostState() async throws {
    let (world, one, _) = try await two([task(1, "Milk"), task(2, "Bread", notes: "two"), task(3, "Salt")])
    let new = try world.replica()
    for name in one.names {
      try new.files.person.createFolder("tasks")
      try new.write(name, one.text(name) ?? "")
    }
    try new.edit("bread.json", ["notes": "three"])
    world.update(key(3), ["notes": "fine"])
    try await new.settle()
    #expect(world.rows.count == 3)
    #expect(world.rows[key(2)]?["notes"] == "two")
    #expect(new.json("bread.json")?["notes"] == "two")
    #expect(new.json("bread.mine.json")?["notes"] == "three")
    #expect(new.json("salt.mine.json")?["notes"] == .null)
    #expect(new.names == ["bread.json", "bread.mine.json", "milk.json", "salt.json", "salt.mine.json"])
  }

  @Test("a file that cannot be read when the state was lost is its row's again once it can, or makes room for it")
  func lostStateAndUnreadableFile() async throws {
    let (world, one, _) = try await two([task(1, "Milk", notes: "two"), task(2, "Bread", notes: "two")])
    let new = try world.replica()
    try new.files.person.createFolder("tasks")
    for name in one.names {
      let text = try #require(one.text(name))
      try new.write(name, String(text.prefix(text.count - 3)))
    }
    try await new.settle()
    #expect(new.names.filter { $0.hasSuffix(".json") } == ["bread.json", "milk.json"])
    #expect(try new.problems.count == 2)
    try new.write("milk.json", try #require(one.text("milk.json")))
    try new.remove("bread.json")
    try await new.settle()
    #expect(world.rows.keys.sorted() == [key(1), key(2)])
    #expect(new.names == ["bread.json", "milk.json"])
    #expect(new.json("bread.json")?["id"] == .string(key(2)))
    #expect(try new.isClear)
  }

  // MARK: git

  @Test("while git works nothing is queued, sent or written; afterwards its result counts", arguments: [true, false])
  func git(isSameRun: Bool) async throws {
    let (world, one, _) = try await two((1...6).map { task($0, "Task \($0)") })
    try one.files.person.createFolder(".git")
    try one.files.person.save(".git/index.lock", [])
    let text = try #require(one.text("task-1.json"))
    for number in 1...6 { try one.remove("task-\(number).json") }
    world.update(key(6), ["notes": "new"])
    let during = try await one.sync()
    #expect(during.isQuiet)
    #expect(await one.workspace.waits().first?.contains("git") == true)
    for number in 2...6 {
      try one.write(
        "task-\(number).json", text.replacing(key(1), with: key(number)).replacing("Task 1", with: "Task \(number)"))
    }
    try one.write("task-1.json", text.replacing("Task 1", with: "Task one"))
    try one.files.person.remove(".git/index.lock")
    if !isSameRun { try one.restart() }
    try await one.settle()
    #expect(world.rows.count == 6)
    #expect(world.rows[key(1)]?["title"] == "Task one")
    #expect(one.json("task-6.json")?["notes"] == "new")
    #expect(try one.isClear)
  }
}
