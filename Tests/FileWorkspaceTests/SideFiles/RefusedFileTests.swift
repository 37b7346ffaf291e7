import LosslessJSON
import OfflineEngine
import StandInServer
import Testing

@testable import FileWorkspace

@Suite("Side files of refused writes")
struct RefusedFileTests {
  /// A row whose title was set to what the server's check refuses.
  private func refusedUpdate() async throws -> (world: TaskWorld, one: Replica) {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "two")])
    let one = try world.replica()
    try await one.sync()
    try one.edit("milk.json", ["title": "  "])
    try await one.settle()
    return (world, one)
  }

  @Test("a refused update leaves the row's file as the server has it, and mine beside it with the answer")
  func refused() async throws {
    let (world, one) = try await refusedUpdate()
    #expect(one.names == ["milk.json", "milk.refused.json"])
    #expect(one.json("milk.json")?["title"] == "Milk")
    #expect(one.json("milk.refused.json")?["title"] == "  ")
    #expect(one.json("milk.refused.json")?["notes"] == "two")
    #expect(one.json("milk.refused.json")?["$problem"]?["code"] == "23514")
    #expect(world.rows[key(1)]?["title"] == "Milk")
    #expect(try await one.sync().isQuiet)
  }

  @Test(
    "fixed and renamed over the file it is tried again, and the server's answer leaves the file",
    arguments: [true, false])
  func fixed(isSavedInPlace: Bool) async throws {
    let (world, one) = try await refusedUpdate()
    world.update(key(1), ["notes": "three"])
    try await one.settle()
    let text = try #require(one.text("milk.refused.json")).replacing("\"  \"", with: "\"Oat milk\"")
    if isSavedInPlace { try one.write("milk.refused.json", text) } else { try one.rewrite("milk.refused.json", text) }
    try one.move("milk.refused.json", "milk.json")
    try await one.settle()
    #expect(world.rows[key(1)]?["title"] == "Oat milk")
    #expect(world.rows[key(1)]?["notes"] == "three", "a column that nobody touched is not turned back")
    #expect(one.json("milk.json")?.names == ["id", "title", "notes", "done"])
    #expect(one.names == ["milk.json"])
    #expect(try one.isClear)
  }

  @Test("deleted it is dismissed")
  func dismissed() async throws {
    let (world, one) = try await refusedUpdate()
    try one.remove("milk.refused.json")
    try await one.settle()
    #expect(one.names == ["milk.json"])
    #expect(try one.isClear)
    #expect(world.rows[key(1)]?["title"] == "Milk")
    #expect(one.trash.contains { $0.contains("\"  \"") })
  }

  @Test("a refused insert leaves the file as it was typed; saving it tries again")
  func refusedInsert() async throws {
    let world = try await TaskWorld.make()
    let one = try world.replica()
    try await one.sync()
    let text = #"{"title": " ", "notes": "mine"}"#
    try one.write("a.json", text)
    try await one.settle()
    #expect(one.names == ["a.json", "a.refused.json"])
    #expect(one.text("a.json") == text)
    #expect(one.json("a.refused.json")?["$problem"]?["code"] == "23514")
    #expect(try await one.sync().isQuiet)
    try one.rewrite("a.json", #"{"title": "Milk", "notes": "mine"}"#)
    try await one.settle()
    #expect(world.row(titled: "Milk")?["notes"] == "mine")
    #expect(one.names == ["a.json"])
    #expect(try one.isClear)
    one.advance(.seconds(60))
    try await one.settle()
    #expect(world.rows.count == 1)
    #expect(one.json("a.json")?["id"] == world.row(titled: "Milk")?["id"])
  }

  @Test("a refused insert whose note is deleted is dismissed; the file stays and its next save makes the row")
  func refusedInsertDismissed() async throws {
    let world = try await TaskWorld.make()
    let one = try world.replica()
    try await one.sync()
    try one.write("a.json", #"{"title": " "}"#)
    try await one.settle()
    try one.remove("a.refused.json")
    try await one.settle()
    #expect(one.names == ["a.json"])
    #expect(try one.isClear)
    try one.rewrite("a.json", #"{"title": "Milk"}"#)
    try await one.settle()
    #expect(world.row(titled: "Milk") != nil)
    #expect(world.rows.count == 1)
  }

  @Test("a refused insert whose file is removed is dismissed with its note")
  func refusedInsertRemoved() async throws {
    let world = try await TaskWorld.make([task(1, "Bread")])
    let one = try world.replica()
    try await one.sync()
    try one.write("a.json", #"{"title": " "}"#)
    try await one.settle()
    try one.remove("a.json")
    one.advance(.seconds(20))
    try await one.settle()
    #expect(one.names == ["bread.json"])
    #expect(try one.isClear)
    #expect(world.rows.count == 1)
  }

  @Test("a refused insert with an edit queued behind it keeps the file as typed, and its save tries again")
  func refusedInsertWithEdit() async throws {
    let world = try await TaskWorld.make()
    let one = try world.replica()
    try await one.sync()
    try one.write("a.json", #"{"title": " "}"#)
    world.server.faults = [StandInFault(.unavailable(retryAfter: 1), method: "POST")]
    try await one.sync()
    try one.rewrite("a.json", #"{"title": " ", "notes": "mine"}"#)
    try await one.settle()
    #expect(one.json("a.json")?["notes"] == "mine")
    #expect(one.names.contains("a.refused.json"))
    #expect(try one.queue.isEmpty)
    try one.rewrite("a.json", #"{"title": "Milk", "notes": "mine"}"#)
    try await one.settle()
    #expect(world.rows.count == 1)
    #expect(world.row(titled: "Milk")?["notes"] == "mine")
    #expect(one.json("a.json")?["title"] == "Milk")
  }
}
