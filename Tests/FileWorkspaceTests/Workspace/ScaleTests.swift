import LosslessJSON
import OfflineEngine
import Synchronization
import Testing

@testable import FileWorkspace

@Suite("Many files, much time, and programs that never tire")
struct ScaleTests {
  @Test("SCALE-1: in an hour in which nothing happens no file is read, and the next save is queued at once")
  func idle() async throws {
    let count = 500 * testEffort
    let world = try await TaskWorld.make((1...count).map { task($0, "task \($0)") })
    let replica = try world.replica()
    try await replica.settle()
    let name = try #require(replica.names.first)
    replica.advance(.seconds(60))
    _ = try await replica.workspace.tick()
    let reads = Atomic(0)
    replica.files.beforeEachOperation { _, operation in
      if operation == "read" { reads.add(1, ordering: .relaxed) }
    }
    let end = replica.client.now + .seconds(3_600)
    var ticks = 0
    while let due = try await replica.workspace.nextTick(), due < end {
      replica.advance(to: due)
      let report = try await replica.workspace.tick()
      #expect(report.queued == 0 && report.filesWritten == 0)
      ticks += 1
    }
    #expect(reads.load(ordering: .relaxed) == 0)
    #expect(ticks <= 60)
    replica.advance(to: end)
    // A scan looks at names and numbers alone.
    #expect(try await replica.workspace.scan().queued == 0)
    #expect(reads.load(ordering: .relaxed) == 0)
    try replica.edit(name, ["notes": "woken"])
    #expect(try await replica.workspace.look(at: ["tasks/\(name)"]).queued == 1)
    #expect((1...2).contains(reads.load(ordering: .relaxed)))
  }

  @Test("however many files were replaced lately, they are looked at each minute, and a named one at once")
  func replacedFiles() async throws {
    let count = 200 * testEffort
    let world = try await TaskWorld.make((1...count).map { task($0, "task \($0)", notes: "one") })
    let replica = try world.replica()
    try await replica.settle()
    let open = try ["task-1.json", "task-2.json"].map { name in
      (text: try #require(replica.text(name)), writer: try replica.files.person.open("tasks/\(name)"))
    }
    for number in 1...count { world.update(key(number), ["notes": "two"]) }
    try await replica.sync()
    let replaced = replica.files.person.paths(below: StateFolder.replaced)
    #expect(replaced.count == count)
    let before = replica.files.operationCount
    _ = try await replica.workspace.tick()
    #expect(replica.files.operationCount - before < 10)

    open[0].writer.write(Array(open[0].text.replacing("task 1", with: "first").utf8))
    open[0].writer.close()
    let path = try #require(replaced.first { $0.contains("task-1.json") })
    #expect(try await replica.workspace.look(at: [path]).queued == 1)
    // One that no event tells of.
    open[1].writer.write(Array(open[1].text.replacing("task 2", with: "second").utf8))
    open[1].writer.close()
    #expect(try await replica.workspace.tick().queued == 0)
    let due = try #require(try await replica.workspace.nextTick())
    replica.advance(to: due)
    #expect(try await replica.workspace.tick().queued == 1)
    try await replica.settle()
    #expect(world.row(titled: "first") != nil && world.row(titled: "second") != nil)
  }

  @Test("SCALE-3: a row that two replicas' formatters keep changing back is held, and all others go on")
  func changesBack() async throws {
    let world = try await TaskWorld.make([task(1, "Quarrel"), task(2, "other")])
    let (a, b) = (try world.replica(), try world.replica())
    try await a.settle()
    try await b.settle()
    let name = "quarrel.json"
    let formats: [(replica: Replica, format: (String) -> String)] = [
      (a, { $0.uppercased() }), (b, { $0.lowercased() }),
    ]
    var sent: [Int] = []
    for _ in 0..<50 {
      var count = 0
      for (replica, format) in formats {
        let title = replica.json(name)?["title"]?.stringValue ?? ""
        if title != format(title) { try replica.edit(name, ["title": .string(format(title))]) }
        count += try await replica.watch([name]).replay.synced
      }
      sent.append(count)
    }
    #expect(sent.reduce(0, +) <= 4 * ChangeBacks.roundsMax)
    #expect(sent.suffix(10) == Array(repeating: 0, count: 10)[...])
    let problems = try a.problems + b.problems
    #expect(problems.contains { $0.path == "tasks/\(name)" && $0.message.hasPrefix("keeps changing back: 'title'") })
    // Nothing else is held up.
    try a.edit("other.json", ["notes": "goes on"])
    #expect(try await a.watch(["other.json"]).replay.synced == 1)
    _ = try await b.watch([])
    #expect(b.json("other.json")?["notes"] == "goes on")
    // A minute later a save counts again.
    a.advance(ChangeBacks.window + .seconds(1))
    try a.edit(name, ["title": "Peace"])
    #expect(try await a.watch([name]).replay.synced == 1)
    #expect(try a.problems.isEmpty)
  }

  @Test("SCALE-3: a server that rounds against a formatter that puts the digits back comes to rest")
  func rounds() {
    var backs = ChangeBacks()
    var held = 0
    for second in 0..<60 {
      let edit = RowEdit(
        path: PathKey("tasks/a.json"), columns: ["price": 1.005], base: ["price": 1.01],
        at: WallTime(nanoseconds: Int64(second) * 1_000_000_000))
      if backs.holds(edit) { held += 1 }
      backs.note(edit)
    }
    #expect(held == 60 - 1 - ChangeBacks.roundsMax)
  }

  @Test("a person who goes on typing, or changes what nobody else touches, is never held")
  func typing() {
    var backs = ChangeBacks()
    for second in 0..<60 {
      let at = WallTime(nanoseconds: Int64(second) * 1_000_000_000)
      let path = PathKey("tasks/a.json")
      // Others change the title at the same pace, and are seen to.
      let edit = RowEdit(
        path: path, columns: ["notes": .string("\(second)")],
        base: ["notes": .string("\(second - 1)"), "title": .string("theirs \(second)")], at: at)
      #expect(!backs.holds(edit))
      backs.note(edit)
    }
  }

  @Test("SCALE-4: files moved and removed during a long first pull stay where the person put them")
  func movedMeanwhile() async throws {
    let count = 1_500 * testEffort
    let world = try await TaskWorld.make((1...count).map { task($0, "task \($0)") })
    let replica = try world.replica()
    _ = try await replica.workspace.start()
    _ = try await replica.workspace.scan()
    let (news, continuation) = AsyncStream.makeStream(of: Void.self)
    let client = replica.client
    async let pulled = { () async throws -> PullReport in
      defer { continuation.finish() }
      return try await client.pull("tasks", hasChanged: { continuation.yield() })
    }()
    var moved: [(from: String, to: String)] = []
    var removed: [String] = []
    for await _ in news {
      _ = try await replica.workspace.writeRows()
      try await replica.workspace.seeWrittenFiles()
      guard moved.isEmpty else { continue }
      let names = replica.names
      #expect(names.count >= 503)
      moved = names.prefix(500).map { ($0, "mine-\($0)") }
      removed = Array(names.dropFirst(500).prefix(3))
      for (from, to) in moved { try replica.move(from, to) }
      for name in removed { try replica.remove(name) }
      _ = try await replica.workspace.look(
        at: (moved.flatMap { [$0.from, $0.to] } + removed).map { "tasks/\($0)" })
    }
    #expect(try await pulled.changed == count)
    try await replica.settle()
    let names = Set(replica.names)
    #expect(names.count == count - 3)
    #expect(moved.count == 500 && moved.allSatisfy { names.contains($0.to) && !names.contains($0.from) })
    #expect(removed.allSatisfy { !names.contains($0) })
    #expect(try replica.isClear)
    let other = try world.replica()
    try await other.settle()
    #expect(other.names.count == count - 3)
  }
}
