import LosslessJSON
import Testing

@testable import FileWorkspace

@Suite("Notes beside files that cannot be read") struct ProblemNoteTests {
  /// A watched workspace that has just met a file which cannot be read.
  private func broken(_ text: String = "{\n  \"title\": 1\n}\n") async throws -> Replica {
    let one = try (try await TaskWorld.make()).replica()
    try await one.sync()
    try one.write("a.json", text)
    _ = try await one.workspace.look(at: ["tasks/a.json"])
    return one
  }

  private func tick(_ one: Replica) async throws {
    one.advance(to: try #require(try await one.workspace.nextTick()))
    _ = try await one.workspace.tick()
  }

  @Test("a note comes after two seconds and goes when the file is right")
  func comesAndGoes() async throws {
    let one = try await broken()
    _ = try await one.workspace.tick()
    #expect(one.names == ["a.json"])
    one.advance(.seconds(2))
    try await tick(one)
    #expect(one.names == ["a.json", "a.problem.txt"])
    #expect(
      one.text("a.problem.txt") == """
        tasks/a.json:2:12: found a number in 'title'; expected a text in double quotes

              "title": 1
                       ^

        This note goes away by itself when the file is right again.

        """)
    #expect(try one.queue.isEmpty)
    try one.rewrite("a.json", "{\"title\": \"Milk\"}")
    _ = try await one.workspace.look(at: ["tasks/a.json"])
    try await tick(one)
    #expect(one.names == ["a.json"])
    #expect(try one.problems.isEmpty)
  }

  @Test("a file that is wrong for a moment is not told of; one that stays so is, once")
  func momentary() async throws {
    let one = try (try await TaskWorld.make()).replica()
    try await one.sync()
    try one.write("a.json", "{\"title\": \"Milk\"}")
    try await one.sync()
    func told(_ report: WorkspaceReport) -> [String] {
      report.events.filter { $0.kind == .problem || $0.kind == .solved }.map { "\($0.kind) \($0.path)" }
    }
    let text = one.text("a.json")
    try one.rewrite("a.json", "")
    #expect(try await told(one.workspace.look(at: ["tasks/a.json"])).isEmpty)
    #expect(try one.problems.map(\.path) == ["tasks/a.json"])
    try one.rewrite("a.json", try #require(text))
    #expect(try await told(one.workspace.look(at: ["tasks/a.json"])).isEmpty)
    #expect(try await told(one.workspace.tick()).isEmpty)
    #expect(try one.problems.isEmpty)

    try one.rewrite("a.json", "{")
    #expect(try await told(one.workspace.look(at: ["tasks/a.json"])).isEmpty)
    one.advance(to: try #require(try await one.workspace.nextTick()))
    #expect(try await told(one.workspace.tick()) == ["problem tasks/a.json"])
    one.advance(.seconds(60))
    #expect(try await told(one.workspace.tick()).isEmpty)
    try one.rewrite("a.json", try #require(text))
    #expect(try await told(one.workspace.look(at: ["tasks/a.json"])) == ["solved tasks/a.json"])
  }

  @Test("who asks for a sync beside the watcher is told of a problem at once")
  func toldWhenAsked() async throws {
    let one = try await broken()
    #expect(try await one.workspace.tellProblems().events.map(\.kind) == [.problem])
    #expect(try await one.workspace.tellProblems().events.isEmpty)
  }

  @Test("a file that a copy tool marks as not whole is held back until it is whole, new or known")
  func unfinishedCopy() async throws {
    let one = try (try await TaskWorld.make()).replica()
    try await one.sync()
    try one.write("known.json", "{\"title\": \"Milk\"}")
    try await one.sync()
    for name in ["known.json", "new.json"] {
      try one.write(name, "{\"title\": \"Mi\"}")
      try one.files.person.setModified("tasks/\(name)", FileTime(nanoseconds: 0))
    }
    _ = try await one.workspace.scan()
    #expect(try one.queue.isEmpty)
    #expect(try one.problems.count == 2)
    #expect(try one.problems.allSatisfy { $0.message.contains("still being copied") })
    for name in ["known.json", "new.json"] { try one.write(name, "{\"title\": \"Milk and bread\"}") }
    _ = try await one.workspace.scan()
    #expect(try one.queue.count == 2)
    #expect(try one.problems.isEmpty)
  }

  @Test("a time in 1970 alone makes no copy of a file that says what it said")
  func oldTime() async throws {
    let one = try (try await TaskWorld.make()).replica()
    try await one.sync()
    try one.write("known.json", "{\"title\": \"Milk\"}")
    try await one.sync()
    try one.files.person.setModified("tasks/known.json", FileTime(nanoseconds: 0))
    _ = try await one.workspace.scan()
    #expect(try one.queue.isEmpty && one.problems.isEmpty)
  }

  @Test("a problem that is over within the two seconds leaves no trace")
  func soonOver() async throws {
    let one = try await broken()
    one.advance(.seconds(1))
    try one.rewrite("a.json", "{\"title\": \"Milk\"}")
    _ = try await one.workspace.look(at: ["tasks/a.json"])
    one.advance(.seconds(5))
    _ = try await one.workspace.tick()
    #expect(one.names == ["a.json"])
    #expect(one.trash.isEmpty)
  }

  @Test("a note changes with its problem, and goes with its file")
  func changes() async throws {
    let one = try await broken()
    _ = try await one.workspace.writeProblemNotes(isAtOnce: true)
    try one.rewrite("a.json", "{\"title\": \"Milk\", \"colour\": 1}")
    _ = try await one.workspace.look(at: ["tasks/a.json"])
    one.advance(.seconds(3))
    try await tick(one)
    #expect(one.text("a.problem.txt")?.contains("unknown member") == true)
    try one.remove("a.json")
    _ = try await one.workspace.look(at: ["tasks/a.json"])
    try await tick(one)
    #expect(one.names.isEmpty)
  }

  @Test("a note of an earlier run goes, and a person's file of that name stays")
  func earlierRun() async throws {
    let one = try await broken()
    _ = try await one.workspace.writeProblemNotes(isAtOnce: true)
    try one.restart()
    try one.rewrite("a.json", "{\"title\": \"Milk\"}")
    try one.write("b.problem.txt", "my own notes\n")
    try await one.settle()
    #expect(one.names == ["a.json", "b.problem.txt"])
    try one.write("b.json", "{")
    _ = try await one.workspace.look(at: ["tasks/b.json"])
    _ = try await one.workspace.writeProblemNotes(isAtOnce: true)
    #expect(one.text("b.problem.txt") == "my own notes\n")
  }
}
