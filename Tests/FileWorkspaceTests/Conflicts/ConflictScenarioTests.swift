import LosslessJSON
import OfflineEngine
import Randomness
import StandInServer
import Testing

@testable import FileWorkspace

@Suite("Scenarios of conflicts")
struct ConflictScenarioTests {
  /// Every order of the numbers below `count`.
  private static func orders(_ count: Int) -> [[Int]] {
    count == 0
      ? [[]]
      : orders(count - 1).flatMap { order in
        (0...order.count).map { place in
          var next = order
          next.insert(count - 1, at: place)
          return next
        }
      }
  }

  @Test("the same change made by three is no conflict, and is one change", arguments: [true, false])
  func identical(isDashboardFirst: Bool) async throws {
    let world = try await TaskWorld.make([task(1, "Milk")])
    let replicas = [try world.replica(), try world.replica()]
    for replica in replicas {
      try await replica.sync()
      replica.network.isConnected = false
      try replica.edit("milk.json", ["title": "Oat milk"])
      try await replica.sync()
      replica.network.isConnected = true
    }
    if isDashboardFirst { world.update(key(1), ["title": "Oat milk"]) }
    try await replicas[0].settle()
    let version = world.rows[key(1)]?["updated_at"]
    if !isDashboardFirst { world.update(key(1), ["title": "Oat milk"]) }
    try await replicas[1].settle()
    try await replicas[0].settle()
    if isDashboardFirst { #expect(world.rows[key(1)]?["updated_at"] == version, "nothing is written a second time") }
    for replica in replicas {
      #expect(replica.names == ["milk.json"])
      #expect(replica.json("milk.json")?["title"] == "Oat milk")
      #expect(try replica.isClear)
    }
    #expect(replicas[0].text("milk.json") == replicas[1].text("milk.json"))
  }

  @Test(
    "title, notes and another title, in every order: the notes merge, one title stands and the other lies beside its file",
    arguments: orders(3))
  func columns(order: [Int]) async throws {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "before")])
    let replicas = try (0..<3).map { _ in try world.replica() }
    for replica in replicas {
      try await replica.sync()
      replica.network.isConnected = false
    }
    let edits: [JSONObject] = [["title": "From A"], ["notes": "From B"], ["title": "From C"]]
    for (replica, edit) in zip(replicas, edits) {
      try replica.edit("milk.json", edit)
      try await replica.sync()
    }
    for number in order {
      replicas[number].network.isConnected = true
      try await replicas[number].settle()
    }
    for replica in replicas { try await replica.settle() }
    let first: JSONValue = order.firstIndex(of: 0)! < order.firstIndex(of: 2)! ? "From A" : "From C"
    #expect(world.rows[key(1)]?["title"] == first)
    #expect(world.rows[key(1)]?["notes"] == "From B")
    for (number, replica) in replicas.enumerated() {
      let isLoser = number != 1 && edits[number]["title"] != first
      #expect(replica.names == (isLoser ? ["milk.json", "milk.mine.json"] : ["milk.json"]))
      #expect(replica.json("milk.json")?["title"] == first)
      #expect(replica.json("milk.json")?["notes"] == "From B")
      if isLoser { #expect(replica.json("milk.mine.json")?["title"] == edits[number]["title"]) }
      #expect(try replica.conflicts.count == (isLoser ? 1 : 0))
      #expect(try replica.queue.isEmpty)
      #expect(try replica.problems.isEmpty)
    }
  }

  /// A server that changes the notes all the time, and saves of new titles by name and in place, at every point of the
  /// program's work with files.
  @Test("saves made while a new version is being written are never written over", arguments: 0..<4)
  func savesDuringWriteBack(seed: Int) async throws {
    var random = SeededRandom(seed: UInt64(seed))
    let world = try await TaskWorld.make([task(1, "Milk", notes: "0")])
    let one = try world.replica()
    try await one.sync()
    let person = Saver(one)
    for round in 1...(25 * testEffort) {
      world.update(key(1), ["notes": .string("\(round)")])
      let due = Int.random(in: 1...40, using: &random)
      let isByName = Bool.random(using: &random)
      let start = one.files.operationCount
      one.files.beforeEachOperation { number, _ in
        if number == start + due { person.save(isByName: isByName) }
      }
      _ = await one.exchange()
      _ = try await one.workspace.writeRows()
      one.files.beforeEachOperation(nil)
      one.advance(.milliseconds(30))
      _ = try await one.workspace.look(at: ["tasks/milk.json"])
      _ = try await one.workspace.tick()
    }
    for _ in 0..<3 {
      one.advance(.seconds(30))
      try await one.settle()
    }
    let reached = [
      one.trash, one.names.compactMap(one.text), world.rows.values.map { JSONValue.object($0).serialized() },
    ]
    .flatMap(\.self)
    for title in person.unseen {
      #expect(reached.contains { $0.contains("\"\(title)\"") }, "\(title) is lost")
    }
    #expect(person.count > 5)
    #expect(one.json("milk.json")?["title"] == world.rows[key(1)]?["title"])
    #expect(one.json("milk.json")?["notes"] == world.rows[key(1)]?["notes"])
  }
}

/// A script that saves a new title into the file as it stands.
private final class Saver: @unchecked Sendable {
  private let replica: Replica
  private(set) var count = 0
  /// The titles that no later save had before its eyes.
  private(set) var unseen: Set<String> = []

  init(_ replica: Replica) { self.replica = replica }

  func save(isByName: Bool) {
    guard let bytes = replica.files.person.bytes("tasks/milk.json"),
      let document = try? JSONDocument(parsing: bytes)
    else { return }
    count += 1
    if let seen = document.value["title"]?.stringValue { unseen.remove(seen) }
    let title = "title \(count)"
    unseen.insert(title)
    let text = document.setting("title", to: .string(title)).bytes
    if isByName {
      try? replica.files.person.saveByRename("tasks/milk.json", text)
    } else {
      try? replica.files.person.save("tasks/milk.json", text)
    }
  }
}
