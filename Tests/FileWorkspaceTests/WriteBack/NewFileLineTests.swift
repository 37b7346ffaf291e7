import Randomness
import Testing

@testable import FileWorkspace

@Suite("New files of several batches at once")
struct NewFileLineTests {
  private static let batches = [["a", "b"], ["c", "d", "e"], ["f"], ["g", "h"]]
  private static let names = batches.flatMap(\.self)

  private static func path(_ name: String) -> String { "tasks/\(name).json" }

  private static func text(_ name: String) -> [UInt8] { Array(#"{"title": "the new \#(name)"}"#.utf8) }

  private static func work(_ name: String) -> FileWork {
    FileWork(item: WriteBackItem(path: path(name), expected: .absent, change: .write(text(name)), context: name))
  }

  /// Sends the files that are not there through a line, as a process does that has just begun.
  private static func write(_ world: WriteBackWorld, _ batches: [[String]]) -> [NewFileLine.Ended] {
    var line = NewFileLine(world.writeBack())
    return batches.flatMap { line.begin($0.map(work)) } + line.finish()
  }

  private static func operations() throws -> Int {
    let world = try WriteBackWorld(holdsOldText: false)
    let count = Counter()
    world.files.beforeEachOperation { number, _ in count.number = number }
    _ = write(world, batches)
    return count.number
  }

  private final class Counter: @unchecked Sendable {
    var number = 0
  }

  @Test("each comes to its end in its turn, with its outcome")
  func order() throws {
    let world = try WriteBackWorld(holdsOldText: false)
    try world.files.person.save(Self.path("d"), WriteBackWorld.saved)
    let ended = Self.write(world, Self.batches)
    #expect(ended.map { $0.work.map(\.item.context) } == Self.batches)
    #expect(
      ended.map { $0.outcomes.map(\.word) } == [
        ["written", "written"], ["written", "exists", "written"], ["written"], ["written", "written"],
      ])
    for name in Self.names {
      #expect(world.files.person.bytes(Self.path(name)) == (name == "d" ? WriteBackWorld.saved : Self.text(name)))
    }
    #expect(try world.journal.pendingIntents().isEmpty)
  }

  @Test("a journal that takes no plan leaves no text behind, and the batches around it go on")
  func refusedPlan() throws {
    let world = try WriteBackWorld(holdsOldText: false)
    var line = NewFileLine(world.writeBack())
    var ended = line.begin(["a"].map(Self.work))
    world.journal.change { $0.failsRecord = true }
    ended += line.begin(["b"].map(Self.work))
    world.journal.change { $0.failsRecord = false }
    ended += line.finish()
    #expect(ended.map { $0.outcomes.map(\.word) } == [["failed"], ["written"]])
    #expect(world.files.person.bytes(Self.path("a")) == nil)
    #expect(!world.files.person.paths().contains { $0.hasPrefix(StateFolder.temporary + "/") })
  }

  @Test("a journal that fails between two batches leaves the first to be settled, and gives the second up")
  func refusedBetween() throws {
    let world = try WriteBackWorld(holdsOldText: false)
    var line = NewFileLine(world.writeBack())
    var ended = line.begin(["a"].map(Self.work)) + line.begin(["b"].map(Self.work))
    world.journal.change { $0.failsRecord = true }
    ended += line.begin(["c"].map(Self.work))
    world.journal.change { $0.failsRecord = false }
    ended += line.finish()
    #expect(ended.map { $0.outcomes.map(\.word) } == [["unsettled"], ["failed"], ["written"]])
    #expect(world.files.person.bytes(Self.path("b")) == nil)
    let settled = world.writeBack().settle(try world.journal.pendingIntents())
    #expect(settled.map(\.outcome.word) == ["written"])
    #expect(world.files.person.bytes(Self.path("a")) == Self.text("a"))
    #expect(try world.journal.pendingIntents().isEmpty)
  }

  @Test("the program may die at any moment of it, and the next one ends it", arguments: Death.allCases)
  func dies(death: Death) throws {
    let count = try Self.operations()
    #expect(count > 40)
    for dying in 1...count {
      for (fault, isSaving) in [
        (InMemoryFileSystem.Fault.stop, false), (.stopAfter, false), (.stopAfter, true),
      ] {
        let world = try WriteBackWorld(holdsOldText: false)
        world.files.plan(fault, atOperation: dying)
        _ = Self.write(world, Self.batches)
        switch death {
        case .kill: world.restart()
        case .powerLossKeepingLittle: world.files.crash { _ in 0 }
        case .powerLossKeepingMuch: world.files.crash { $0 - 1 }
        case .powerLossMixed:
          var random = SeededRandom(seed: UInt64(dying))
          world.files.crash { random.number(below: $0) }
        }
        // A person makes a file of their own where one was to be.
        if isSaving, world.files.person.bytes(Self.path("e")) == nil {
          try world.files.person.saveDurably(Self.path("e"), WriteBackWorld.saved)
        }
        _ = world.writeBack().settle(try world.journal.pendingIntents())
        try world.replacedFiles.rescueStrays(folders: ["tasks"])
        let comment = "\(fault) at \(dying) of \(count), \(death), \(isSaving ? "with" : "without") a save"
        for name in Self.names {
          let text = world.files.person.bytes(Self.path(name))
          let allowed: [[UInt8]?] =
            name == "e" && isSaving ? [WriteBackWorld.saved, Self.text(name)] : [nil, Self.text(name)]
          #expect(allowed.contains(text), "\(comment): \(name) is neither absent nor whole")
        }
        #expect(try world.journal.pendingIntents().isEmpty, "\(comment): still pending")
        let known = Set(try world.journal.replacedFiles().map(\.path))
        let temporary = world.files.person.paths().filter { $0.hasPrefix(StateFolder.temporary + "/") }
        #expect(temporary.allSatisfy(known.contains), "\(comment): \(temporary) not all known")
        // What is missing is written by the process that comes next.
        let missing = Self.names.filter { world.files.person.bytes(Self.path($0)) == nil }
        let ended = Self.write(world, [missing])
        #expect(ended.flatMap(\.outcomes).allSatisfy { $0.word == "written" }, "\(comment): the next process")
      }
    }
  }

  @Test("on a real disk the batches go on beside each other")
  func realDisk() throws {
    let folder = try TemporaryFolder()
    let files = try LiveFileSystem(root: folder.path)
    try files.createFolder(StateFolder.root, isPrivate: true)
    try files.createFolder("tasks", isPrivate: false)
    var line = NewFileLine(WriteBack(files: files, journal: MemoryJournal(), now: { 0 }))
    let batches = (0..<7).map { batch in (0..<40).map { "file-\(batch)-\($0)" } }
    let ended = batches.flatMap { line.begin($0.map(Self.work)) } + line.finish()
    #expect(ended.map { $0.work.map(\.item.context) } == batches)
    #expect(ended.flatMap(\.outcomes).allSatisfy { $0.word == "written" })
    for name in batches.flatMap(\.self) {
      #expect(try files.read(Self.path(name), bytesMax: 1_000).bytes == Self.text(name))
    }
    #expect(try files.names(in: StateFolder.temporary, prefix: "").isEmpty)
  }
}
