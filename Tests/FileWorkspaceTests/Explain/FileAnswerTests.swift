import LosslessJSON
import OfflineEngine
import Testing

@testable import FileWorkspace

@Suite("Why a file is as it is") struct FileAnswerTests {
  private func why(_ one: Replica, _ path: String) throws -> FileAnswer {
    try one.client.read { transaction in
      try FileAnswer(about: path, transaction, one.settings, files: one.files, now: one.client.now)
    }
  }

  private func tasks(_ count: Int = 3) async throws -> (world: TaskWorld, one: Replica) {
    let world = try await TaskWorld.make((1...count).map { task($0, "Task \($0)") })
    let one = try world.replica()
    try await one.settle()
    return (world, one)
  }

  @Test("a file in step waits for nothing, and shows base and server at one version")
  func inStep() async throws {
    let (_, one) = try await tasks()
    let answer = try why(one, "tasks/task-1.json")
    #expect(answer.isRowFile && !answer.needsPerson)
    #expect(answer.key == key(1))
    #expect(answer.baseVersion != nil && answer.baseVersion == answer.serverVersion)
    #expect(answer.waits.isEmpty && answer.entries.isEmpty && answer.edited.isEmpty)
  }

  @Test(
    "what is no row's file says why",
    arguments: [
      ("tasks/.task-1.json.swp", "left alone"), ("tasks/notes.md", ".json"), ("tasks", "the folder of table tasks"),
      ("elsewhere/a.json", "not in a collection's folder"), ("", "the workspace"),
      (".tidemark/tmp/a.json", "Tidemark's own"), ("tidemark.json", "settings"), ("tasks/link.json", "a symbolic link"),
      ("tasks/inner", "only files directly in there"), ("tasks/none.mine.json", "nothing is known of it"),
      ("tasks/none.problem.txt", "cannot be read"),
    ])
  func noRow(path: String, said: String) async throws {
    let (_, one) = try await tasks(1)
    try one.files.person.createLink("tasks/link.json")
    try one.files.person.createFolder("tasks/inner")
    let answer = try why(one, path)
    #expect(!answer.isRowFile)
    #expect(answer.what.contains(said), "\(answer.what)")
  }

  @Test("a new file is to be looked at, then queued, then waits for its key to be written")
  func new() async throws {
    let (_, one) = try await tasks()
    try one.write("new.json", #"{"title": "New"}"#)
    #expect(try why(one, "tasks/new.json").waits.map(\.reason) == ["the next look at the files, which queues it"])
    _ = try await one.workspace.look(at: ["tasks/new.json"])
    let answer = try why(one, "tasks/new.json")
    #expect(answer.entries.map(\.operation) == ["INSERT"])
    #expect(answer.entries.first?.list == "queued")
    #expect(answer.baseVersion == nil)
    #expect(answer.row == "the server has not shown it yet")
    let due = try #require(answer.keyDueAt)
    #expect(due - one.client.now <= .seconds(30))
  }

  @Test("an edit shows its columns, before it is queued and after, and no values")
  func edited() async throws {
    let (_, one) = try await tasks()
    try one.edit("task-1.json", ["notes": "private"])
    let before = try why(one, "tasks/task-1.json")
    #expect(before.edited == ["notes"] && before.entries.isEmpty)
    _ = try await one.workspace.look(at: ["tasks/task-1.json"])
    let after = try why(one, "tasks/task-1.json")
    #expect(after.edited.isEmpty)
    #expect(after.entries.map(\.columns) == [["notes"]])
    #expect(!JSONValue.object(after.json).serialized().contains("private"))
  }

  @Test("a missing file says when its row is deleted; many at once, that a person must confirm")
  func missing() async throws {
    let (_, one) = try await tasks(9)
    try one.remove("task-1.json")
    _ = try await one.workspace.scan()
    let wait = try #require(try why(one, "tasks/task-1.json").waits.first { $0.until != nil })
    #expect(wait.reason.contains("deleted unless it comes back"))
    let until = try #require(wait.until)
    #expect(until - one.client.now <= one.settings.deleteAfter && until > one.client.now)
    for number in 2...7 { try one.remove("task-\(number).json") }
    _ = try await one.workspace.scan()
    #expect(try why(one, "tasks/task-2.json").waits.contains { $0.reason.contains("tidemark confirm") })
  }

  @Test("a file that cannot be read, and one that an editor has open, say so")
  func problems() async throws {
    let (_, one) = try await tasks()
    try one.write("task-1.json", #"{"title": 12}"#)
    _ = try await one.workspace.look(at: ["tasks/task-1.json"])
    let broken = try why(one, "tasks/task-1.json")
    #expect(broken.needsPerson)
    #expect(broken.problem?.line == 1)
    try one.write(".task-2.json.swp", "")
    #expect(try why(one, "tasks/task-2.json").waits.contains { $0.reason.contains(".task-2.json.swp") })
  }

  @Test("a refused write and its side file answer for one another")
  func refused() async throws {
    let (_, one) = try await tasks()
    try one.edit("task-1.json", ["title": "  "])
    try await one.settle()
    let answer = try why(one, "tasks/task-1.json")
    #expect(answer.needsPerson)
    #expect(answer.entries.map(\.list) == ["rejected"])
    #expect(answer.entries.first?.message?.contains("23514") == true)
    #expect(answer.sideFiles == ["tasks/task-1.refused.json"])
    let side = try why(one, "tasks/task-1.refused.json")
    #expect(!side.isRowFile && side.what.contains("the server refused"))
    #expect(side.key == key(1))
  }

  @Test("a file that was moved away says where its row's file lies")
  func moved() async throws {
    let (_, one) = try await tasks()
    try one.move("task-1.json", "other.json")
    try await one.settle()
    #expect(try why(one, "tasks/other.json").key == key(1))
    #expect(try why(one, "tasks/task-1.json").what.contains("nothing lies there"))
  }
}
