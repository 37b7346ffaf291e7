import LosslessJSON
import OfflineEngine
import Randomness
import StandInServer
import Testing

@testable import FileWorkspace

@Suite("A process that dies during a sync")
struct CrashTests {
  /// A workspace with changes on both sides: edits, conflicts, a new file, a copy, a move, a delete, rows come and gone.
  private func busyWorld(_ server: StandIn, _ clock: VirtualClock, number: Int) async throws -> FinalCheck {
    let words = SavedWords()
    var ids = SeededRandom(seed: UInt64(number))
    var rows: [JSONObject] = []
    for _ in 1...9 {
      let row: JSONObject = [
        "id": .string(ids.uuid()), "title": .string(words.new()), "notes": .string(words.new()),
      ]
      words.save(JSONValue.object(row).serialized(), over: nil)
      rows.append(row)
    }
    let world = try await TaskWorld(server: server, clock, number: number + 1, rows)
    let person = PersonAtWork(try world.replica(), words)
    let replica = person.replica
    try await replica.sync()
    try await replica.sync()
    func name(_ number: Int) -> String { "w\(number * 2 - 1)w.json" }
    func edit(_ number: Int, _ column: String) throws {
      let before = replica.text(name(number))
      try replica.edit(name(number), [column: .string(words.new())])
      words.save(replica.text(name(number)) ?? "", over: before)
    }
    func change(_ number: Int, _ column: String) {
      let id = rows[number - 1]["id"]?.stringValue ?? ""
      words.save("", over: world.rows[id]?[column]?.stringValue)
      let word = words.new()
      words.save(word, over: nil)
      world.update(id, [column: .string(word)])
    }
    try edit(1, "title")
    change(2, "notes")
    try edit(3, "title")
    change(3, "notes")
    try edit(4, "notes")
    change(4, "notes")
    words.save("", over: replica.text(name(5)))
    try replica.remove(name(5))
    words.save("", over: replica.text(name(6)))
    world.delete(rows[5]["id"]?.stringValue ?? "")
    try edit(7, "title")
    world.delete(rows[6]["id"]?.stringValue ?? "")
    try replica.move(name(8), "moved.json")
    words.copy(replica.text(name(9)) ?? "")
    try replica.copy(name(9), "copy.json")
    let word = words.new()
    words.save(word, over: nil)
    try replica.write("new.json", #"{"title": "\#(word)"}"#)
    for file in ["copy.json", "new.json"] {
      try replica.files.person.saveDurably("tasks/\(file)", Array((replica.text(file) ?? "").utf8))
    }
    replica.files.restart()
    return FinalCheck(world: world, people: [person], words: words)
  }

  enum Death: String, CaseIterable, CustomTestStringConvertible {
    case kill, killAfter, powerLoss, powerLossKeepingNames
    var testDescription: String { rawValue }
  }

  @Test("what it had made ready of the server's rows is no news for a person, but for what differs from them")
  func textsMadeReady() async throws {
    let world = try await TaskWorld.make([task(1, "Milk", notes: "two"), task(2, "Bread")])
    let one = try world.replica()
    try await one.sync()
    let ready = try #require(one.text("milk.json"))
    try one.files.person.save("\(StateFolder.temporary)/milk.json-1", Array(ready.utf8))
    let typed = ready.replacing("two", with: "three")
    try one.files.person.save("\(StateFolder.temporary)/milk.json-2", Array(typed.utf8))
    try one.restart()
    let result = try await one.sync()
    #expect(one.trash == [typed])
    #expect(result.files.events.count == 1)
    #expect(try await one.sync().isQuiet)
  }

  @Test("at any file operation loses nothing, and the next runs bring everything in step", arguments: Death.allCases)
  func atAnyFileOperation(death: Death) async throws {
    let clock = VirtualClock()
    let server = try TaskWorld.project(clock)
    let step = max(1, 24 / testEffort)
    var number = 1 + (Death.allCases.firstIndex(of: death) ?? 0) * step / 4
    while true {
      let check = try await busyWorld(server, clock, number: number)
      let replica = check.people[0].replica
      replica.files.plan(death == .killAfter ? .stopAfter : .stop, atOperation: number)
      _ = try? await replica.sync()
      guard replica.files.isStopped else { break }
      var choice = SeededRandom(seed: UInt64(number))
      switch death {
      case .kill, .killAfter: break
      case .powerLoss: replica.files.crash { Int.random(in: 0..<$0, using: &choice) }
      case .powerLossKeepingNames: replica.files.crash { $0 - 1 }
      }
      try await expectAllWell(check, "\(death) at file operation \(number)")
      number += step
    }
    #expect(number > 100, "the sync has that many operations at least")
  }

  @Test("at any commit loses nothing, and the next runs bring everything in step")
  func atAnyCommit() async throws {
    let step = max(1, 4 / testEffort)
    let clock = VirtualClock()
    let server = try TaskWorld.project(clock)
    var number = 0
    while true {
      let check = try await busyWorld(server, clock, number: number)
      let replica = check.people[0].replica
      replica.commits.plan(last: number)
      _ = try? await replica.sync()
      guard replica.files.isStopped else { break }
      try await expectAllWell(check, "death after commit \(number)")
      number += step
    }
    #expect(number > 20)
  }

  @Test(
    "a disk that fails or is full for a while loses nothing, and the work goes on by itself",
    arguments: [5, 28] as [Int32])
  func failingOperations(code: Int32) async throws {
    let clock = VirtualClock()
    let server = try TaskWorld.project(clock)
    for number in stride(from: 1, to: 200, by: max(4, 24 / testEffort)) {
      let check = try await busyWorld(server, clock, number: number)
      let replica = check.people[0].replica
      for failing in number..<(number + 4) { replica.files.plan(.error(errno: code), atOperation: failing) }
      _ = try? await replica.sync()
      try await expectAllWell(check, "error \(code) at file operation \(number)")
    }
  }

  private func expectAllWell(_ check: FinalCheck, _ what: String) async throws {
    let replica = check.people[0].replica
    try replica.restart()
    for _ in 0..<6 {
      check.world.clock.advance(.seconds(40))
      _ = replica.network.takeWrites()
      if try await replica.sync().isQuiet { break }
    }
    var complaints = check.complaints()
    complaints += replica.network.takeWrites().map { "a write although nothing changed: \($0)" }
    #expect(complaints.isEmpty, "\(what)")
    #expect(try replica.problems.isEmpty, "\(what)")
  }
}
