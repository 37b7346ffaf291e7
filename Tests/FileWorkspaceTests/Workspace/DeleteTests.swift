import LosslessJSON
import OfflineEngine
import StandInServer
import Testing

@testable import FileWorkspace

@Suite("Files that are gone")
struct DeleteTests {
  @Test("a new file that goes before its key was written into it stays gone, and its row with it")
  func beforeItsKey() async throws {
    let world = try await TaskWorld.make()
    let one = try world.replica()
    try await one.sync()
    try one.write("x.json", #"{"title": "x"}"#)
    try await one.sync()
    one.advance(.seconds(20))
    try one.remove("x.json")
    _ = try await one.workspace.look(at: ["tasks/x.json"])
    one.advance(.seconds(6))  // The key is due, the delete is not yet.
    _ = try await one.workspace.tick()
    #expect(one.names.isEmpty)
    one.advance(.seconds(6))
    _ = try await one.workspace.tick()
    try await one.settle()
    #expect(one.names.isEmpty)
    #expect(world.rows.isEmpty)
    #expect(try one.isClear)
  }

  private func tasks(_ count: Int) async throws -> (world: TaskWorld, one: Replica) {
    let world = try await TaskWorld.make((1...count).map { task($0, "Task \($0)") })
    let one = try world.replica()
    try await one.sync()
    return (world, one)
  }

  @Test("a file that goes in the moment in which it is written comes back, with a note, and the next removal counts")
  func whileWritten() async throws {
    let (world, one) = try await tasks(5)
    world.update(key(1), ["notes": "theirs"])
    _ = await one.exchange()
    _ = try await one.workspace.writeRows()
    try one.remove("task-1.json")  // Nothing has looked at what was written there.
    _ = try await one.workspace.look(at: ["tasks/task-1.json"])
    one.advance(.seconds(11))
    let report = try await one.workspace.tick()
    #expect(report.events.contains { $0.path == "tasks/task-1.json" && $0.detail.contains("comes back") })
    #expect(one.json("task-1.json")?["notes"] == "theirs")
    #expect(try one.queue.isEmpty && world.rows.count == 5)
    try await one.settle()
    try one.remove("task-1.json")
    try await one.settle()
    #expect(world.rows.count == 4)
  }

  @Test(
    "what status counts is there: held and missing files are not among the files, nor those of a folder that is gone")
  func counted() async throws {
    let (_, one) = try await tasks(30)
    func files() async throws -> Int { try await one.workspace.summary().collections.map(\.files).reduce(0, +) }
    #expect(try await files() == 30)
    for name in one.names.prefix(22) { try one.remove(name) }
    _ = try await one.workspace.scan()
    #expect(try await files() == 8)
    #expect(try await one.workspace.summary().held == 22)
    try one.files.person.rename("tasks", "elsewhere")
    #expect(try await files() == 0)
  }

  @Test("a delete that met a change is counted apart from edits that did")
  func countedDeletes() async throws {
    let (world, one) = try await tasks(5)
    world.update(key(1), ["notes": "theirs"])
    try one.remove("task-1.json")
    world.update(key(2), ["notes": "theirs"])
    try one.edit("task-2.json", ["notes": "mine"])
    try await one.sync()
    try await one.sync()
    let summary = try await one.workspace.summary()
    #expect(one.names.contains("task-1.deleted.json") && one.names.contains("task-2.mine.json"))
    #expect(summary.counts.conflicted == 2 && summary.conflictedDeletes == 1)
  }

  @Test(
    "a file that goes before the answer to its own edit was looked at is no conflict with that edit",
    arguments: [false, true])
  func beforeItsAnswer(othersEdit: Bool) async throws {
    let (world, one) = try await tasks(5)
    try one.edit("task-1.json", ["notes": "mine"])
    _ = try await one.workspace.look(at: ["tasks/task-1.json"])
    _ = await one.exchange()
    try one.remove("task-1.json")
    if othersEdit {
      world.update(key(1), ["notes": "theirs"])
      _ = await one.exchange()
    }
    _ = try await one.workspace.writeRows()
    for _ in 0..<5 {
      one.advance(.seconds(3))
      _ = try await one.workspace.tick()
    }
    try await one.settle()
    #expect((world.rows[key(1)] == nil) == !othersEdit)
    #expect(try one.conflicts.count == (othersEdit ? 1 : 0))
  }

  @Test("a removed file is a delete after its time, proven by two listings, and its text is in the trash")
  func removed() async throws {
    let (world, one) = try await tasks(5)
    try one.remove("task-1.json")
    _ = try await one.workspace.look(at: ["tasks/task-1.json"])
    for (seconds, queued) in [(0, 0), (3, 0), (6, 0), (2, 1)] {
      one.advance(.seconds(seconds))
      _ = try await one.workspace.tick()
      #expect(try one.queue.count == queued)
      let missing = try await one.workspace.summary().missing
      #expect(missing.map(\.path) == (queued == 0 ? ["tasks/task-1.json"] : []))
    }
    try await one.settle()
    #expect(world.rows[key(1)] == nil)
    #expect(world.rows.count == 4)
    #expect(one.trash.contains { $0.contains(key(1)) })
    #expect(try one.isClear)
  }

  @Test("a single sync looks again after two seconds and sends the delete")
  func singleSync() async throws {
    let (world, one) = try await tasks(5)
    try one.remove("task-1.json")
    #expect(try await one.sync().files.queued == 1)
    #expect(world.rows.count == 4)
    #expect(try await one.sync().isQuiet)
  }

  enum Accident: String, CaseIterable, CustomTestStringConvertible {
    case folderAway, markerAway, emptyFolder, unreadableStranger, git
    var testDescription: String { rawValue }
  }

  @Test("what looks like an accident deletes nothing, and is over by itself", arguments: Accident.allCases)
  func accidents(accident: Accident) async throws {
    let (world, one) = try await tasks(8)
    let person = one.files.person
    let text = try #require(person.bytes("tasks/task-1.json"))
    switch accident {
    case .folderAway: try person.rename("tasks", "elsewhere")
    case .markerAway:
      try person.remove("tasks/task-1.json")
      try person.rename(".tidemark", "gone")
    case .emptyFolder:
      try person.rename("tasks", "elsewhere")
      try person.createFolder("tasks")
    case .unreadableStranger:
      try one.move("task-1.json", "new.json")
      try one.write("new.json", "{")
    case .git:
      try person.createFolder(".git/rebase-merge")
      try person.remove("tasks/task-1.json")
    }
    for _ in 0..<3 {
      _ = try await one.workspace.scan()
      one.advance(.seconds(20))
      _ = try await one.workspace.tick()
    }
    _ = await one.exchange()
    #expect(world.rows.count == 8)
    #expect(try one.queue.isEmpty)
    switch accident {
    case .folderAway: try person.rename("elsewhere", "tasks")
    case .markerAway:
      try person.rename("gone", ".tidemark")
      try person.save("tasks/task-1.json", text)
    case .emptyFolder:
      try person.removeFolder("tasks")
      try person.rename("elsewhere", "tasks")
    case .unreadableStranger: try one.write("new.json", String(decoding: text, as: UTF8.self))
    case .git:
      try person.removeFolder(".git/rebase-merge")
      try person.save("tasks/task-1.json", text)
    }
    try await one.settle()
    #expect(world.rows.count == 8)
    #expect(one.names.count == 8)
    #expect(try one.isClear)
    #expect(try await one.workspace.summary().held == 0)
    #expect(await one.workspace.waits().isEmpty)
  }

  @Test(
    "many files missing at once are held",
    arguments: [(4, 3, true), (5, 3, true), (6, 3, false), (60, 19, false), (60, 20, true), (2, 2, false)])
  func brake(total: Int, missing: Int, isHeld: Bool) async throws {
    let (world, one) = try await tasks(total)
    let texts = try (1...missing).map { try #require(one.text("task-\($0).json")) }
    for number in 1...missing { try one.remove("task-\(number).json") }
    try await one.settle()
    #expect(world.rows.count == (isHeld ? total : total - missing))
    #expect(try await one.workspace.summary().held == (isHeld ? missing : 0))
    guard isHeld else { return }
    for number in 1...missing { try one.write("task-\(number).json", texts[number - 1]) }
    try await one.settle()
    #expect(try await one.workspace.summary().held == 0)
    #expect(world.rows.count == total)
    for number in 1...missing { try one.remove("task-\(number).json") }
    try await one.settle()
    try await one.sync(isConfirmed: true)
    #expect(world.rows.count == total - missing)
    try await one.settle()
    #expect(try one.isClear)
    #expect(one.names.count == total - missing)
  }

  enum Loss: CaseIterable { case files, folder, oneFile }

  @Test("what is missing is written again where a person asks for it, edits and all", arguments: Loss.allCases)
  func broughtBack(loss: Loss) async throws {
    let (world, one) = try await tasks(8)
    one.network.isConnected = false
    try one.rewrite("task-1.json", one.text("task-1.json")?.replacing("Task 1", with: "Edited") ?? "")
    try await one.sync()
    let paths = try (1...8).map { number in try #require(one.text("task-\(number).json")) }
    switch loss {
    case .files: for name in one.names { try one.remove(name) }
    case .folder: try one.files.person.rename("tasks", "elsewhere")
    case .oneFile: try one.remove("task-1.json")
    }
    _ = try await one.workspace.scan()
    if loss == .oneFile {
      let path = "tasks/task-1.json"
      #expect(try await one.workspace.restore(path, path: path).message == "\(path) is back, as its row says")
    } else {
      #expect(try await one.workspace.summary().held == 8)
      let change = try await one.workspace.restore("tasks", path: "tasks")
      #expect(change.message == "8 missing files of tasks written, as the rows say")
    }
    #expect(one.names.count == 8)
    #expect(one.json("task-1.json")?["title"] == "Edited")
    #expect(one.json("task-8.json") == (try JSONValue(parsing: paths[7])).objectValue)
    one.network.isConnected = true
    try await one.settle()
    one.advance(.seconds(60))
    try await one.settle()
    #expect(world.rows.count == 8)
    #expect(world.rows[key(1)]?["title"] == "Edited")
    #expect(try one.isClear)
    #expect(try await one.workspace.summary().held == 0)
    await #expect(throws: WorkspaceRequestError.self) { try await one.workspace.restore("tasks", path: "tasks") }
  }

  @Test("what cannot be written again now is told, and is written as soon as it can be")
  func broughtBackLater() async throws {
    let (world, one) = try await tasks(4)
    for name in one.names { try one.remove(name) }
    _ = try await one.workspace.scan()
    one.files.beforeEachOperation { [files = one.files] number, operation in
      if operation == "write" { files.plan(.error(errno: 28), atOperation: number) }  // ENOSPC
    }
    await #expect(throws: WorkspaceRequestError.self) { try await one.workspace.restore("tasks", path: "tasks") }
    #expect(one.names.isEmpty)
    one.files.beforeEachOperation(nil)
    try await one.settle()
    #expect(one.names.count == 4 && world.rows.count == 4)
  }

  @Test("the rest of a folder is held also beside many that are held already")
  func brakeBesideHeld() async throws {
    let (world, one) = try await tasks(8)
    for number in 1...5 { try one.remove("task-\(number).json") }
    try await one.settle()
    one.advance(.seconds(60))
    for number in 6...8 { try one.remove("task-\(number).json") }
    try await one.settle()
    #expect(world.rows.count == 8)
    #expect(try await one.workspace.summary().held == 8)
  }

  @Test("files missing one after another within the time are counted together")
  func brakeOneByOne() async throws {
    let (world, one) = try await tasks(30)
    for number in 1...20 {
      try one.remove("task-\(number).json")
      _ = try await one.workspace.look(at: ["tasks/task-\(number).json"])
      one.advance(.milliseconds(300))
    }
    one.advance(.seconds(60))
    _ = try await one.workspace.tick()
    #expect(try one.queue.isEmpty)
    #expect(try await one.workspace.summary().held == 20)
    #expect(world.rows.count == 30)
  }

  @Test("a file that nobody has seen since it was written is written again, not deleted")
  func neverSeen() async throws {
    let world = try await TaskWorld.make([task(1, "a"), task(2, "b"), task(3, "c")])
    let one = try world.replica()
    _ = try await one.workspace.start()
    _ = try await one.workspace.scan()
    _ = await one.exchange()
    _ = try await one.workspace.writeRows()
    #expect(one.names.count == 3)
    try one.remove("a.json")
    try await one.settle()
    #expect(world.rows.count == 3)
    #expect(one.names == ["a.json", "b.json", "c.json"])
    #expect(try one.isClear)
  }

  @Test("rows that vanish from the server in bulk are held, and their files stay; confirmed they go to the trash")
  func vanishedRows() async throws {
    let (world, one) = try await tasks(5)
    for number in 1...4 { world.delete(key(number)) }
    try await one.settle()
    #expect(one.names.count == 5)
    #expect(try await one.workspace.summary().held == 4)
    try await one.sync(isConfirmed: true)
    try await one.settle()
    #expect(one.names == ["task-5.json"])
    #expect(one.trash.count == 4)
    #expect(try await one.workspace.summary().held == 0)
  }

  @Test("a row that is gone takes its unchanged file to the trash and comes back under its name")
  func goneRow() async throws {
    let (world, one) = try await tasks(5)
    try one.move("task-1.json", "mine.json")
    try await one.settle()
    world.delete(key(1))
    try await one.settle()
    #expect(!one.names.contains("mine.json"))
    #expect(one.trash.contains { $0.contains(key(1)) })
    world.insert([task(1, "Task 1")])
    try await one.settle()
    #expect(one.json("mine.json")?["id"] == .string(key(1)))
    #expect(try one.isClear)
  }

  @Test("a delete that the server's policies do not allow brings the file back with a note")
  func notAllowed() async throws {
    let (world, one) = try await tasks(5)
    try one.remove("task-1.json")
    world.server.faults = [
      StandInFault(
        .answer(
          status: 403, contentType: "application/json",
          body: #"{"code":"42501","message":"permission denied","details":null,"hint":null}"#), method: "DELETE")
    ]
    try await one.settle()
    #expect(world.rows.count == 5)
    #expect(one.json("task-1.json")?["title"] == "Task 1")
    #expect(one.json("task-1.refused.json")?["$problem"]?["code"] == "42501")
    try one.remove("task-1.refused.json")
    try await one.settle()
    #expect(try one.isClear)
    #expect(one.names.count == 5)
  }

  @Test("made and removed before the first sync is nothing at all")
  func madeAndRemoved() async throws {
    let (world, one) = try await tasks(5)
    one.network.isConnected = false
    try one.write("x.json", #"{"title": "x"}"#)
    try await one.sync()
    try one.remove("x.json")
    one.advance(.seconds(20))
    try await one.sync()
    #expect(try one.queue.isEmpty)
    one.network.isConnected = true
    try await one.settle()
    #expect(world.rows.count == 5)
    #expect(one.names.count == 5)
    #expect(try one.isClear)
  }

  @Test("a file removed on both replicas is one delete and no trouble")
  func removedTwice() async throws {
    let (world, one) = try await tasks(5)
    let other = try world.replica()
    try await other.sync()
    for replica in [one, other] { try replica.remove("task-1.json") }
    for replica in [one, other, one] { try await replica.settle() }
    #expect(world.rows.count == 4)
    #expect(try one.isClear && other.isClear)
  }
}
