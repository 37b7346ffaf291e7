import Testing

@testable import FileWorkspace

@Suite("Writing a file back")
struct WriteBackTests {
  static let abilities: [(String, InMemoryFileSystem.Abilities)] = [
    ("everything", .init()), ("no exchange", poorer { $0.canExchange = false }),
    (
      "no exchange, links instead of a careful rename",
      poorer {
        $0.canExchange = false
        $0.canRenameNoReplace = false
      }
    ), ("links instead of a careful rename", poorer { $0.canRenameNoReplace = false }),
    ("the folder on another file system", poorer { $0.foldersApart = ["tasks"] }),
    (
      "the folder on another, poorer file system",
      poorer {
        $0.foldersApart = ["tasks"]
        $0.canExchange = false
      }
    ),
  ]

  static func poorer(_ change: (inout InMemoryFileSystem.Abilities) -> Void) -> InMemoryFileSystem.Abilities {
    var abilities = InMemoryFileSystem.Abilities()
    change(&abilities)
    return abilities
  }

  @Test("a file that says what was compared gets the new text, and the old one is kept aside", arguments: abilities)
  func replaces(name: String, abilities: InMemoryFileSystem.Abilities) throws {
    let world = try WriteBackWorld(abilities)
    let outcome = try #require(world.writeBack().apply([world.item()]).first)
    guard case .written(let file) = outcome else { return #expect(Bool(false), "\(outcome)") }
    #expect(world.text == WriteBackWorld.new)
    #expect(file.hash == ContentHash(of: WriteBackWorld.new))
    #expect(try world.files.status(WriteBackWorld.path)?.stamp == file.status.stamp)
    #expect(!file.splitHardLink)
    let kept = try #require(try world.journal.replacedFiles().first)
    #expect(world.files.person.bytes(kept.path) == WriteBackWorld.old)
    #expect(kept.origin == WriteBackWorld.path)
    #expect(kept.context == "row 1")
    #expect(try world.journal.pendingIntents().isEmpty)
    #expect(try world.replacedFiles.lateTexts().isEmpty)
    #expect(world.files.person.paths().count == 2, "nothing is left over: \(world.files.person.paths())")
  }

  @Test("a new file is made", arguments: abilities)
  func creates(name: String, abilities: InMemoryFileSystem.Abilities) throws {
    let world = try WriteBackWorld(abilities, holdsOldText: false)
    let outcomes = world.writeBack().apply([world.item(on: nil)])
    #expect(outcomes.map(\.word) == ["written"])
    #expect(world.text == WriteBackWorld.new)
    #expect(try world.files.status(WriteBackWorld.path)?.links == 1)
    #expect(world.files.person.paths() == [WriteBackWorld.path])
  }

  @Test("a removed file goes to the trash with the reason", arguments: abilities)
  func removes(name: String, abilities: InMemoryFileSystem.Abilities) throws {
    let world = try WriteBackWorld(abilities)
    let outcome = try #require(world.writeBack().apply([world.item(.trash(reason: "gone on the server"))]).first)
    guard case .removed(let entry) = outcome else { return #expect(Bool(false), "\(outcome)") }
    #expect(world.text == nil)
    #expect(world.files.person.bytes(entry.path) == WriteBackWorld.old)
    #expect(entry.path == ".tidemark/trash/20251009T085320Z-a.json")
    let trash = try Trash(files: world.files, now: world.now).entries()
    #expect(trash == [entry])
    #expect(trash.first?.reason == "gone on the server")
    #expect(trash.first?.origin == WriteBackWorld.path)
  }

  @Test("a file that says something else is left alone", arguments: abilities)
  func differs(name: String, abilities: InMemoryFileSystem.Abilities) throws {
    let world = try WriteBackWorld(abilities)
    try world.files.person.save(WriteBackWorld.path, WriteBackWorld.saved)
    for change in [WriteBackChange.write(WriteBackWorld.new), .trash(reason: "gone")] {
      let outcome = try #require(world.writeBack().apply([world.item(change)]).first)
      guard case .newerSave(.file(let hash, _)) = outcome else { return #expect(Bool(false), "\(outcome)") }
      #expect(hash == ContentHash(of: WriteBackWorld.saved))
    }
    #expect(world.writeBack().apply([world.item(on: nil)]).map(\.word) == ["exists"])
    #expect(world.text == WriteBackWorld.saved)
    #expect(world.files.person.paths() == [WriteBackWorld.path])
    #expect(world.journal.state.withLock { $0.recordCount } == 0)
  }

  @Test("a file that is gone is not written again")
  func vanished() throws {
    let world = try WriteBackWorld(holdsOldText: false)
    #expect(world.writeBack().apply([world.item()]) == [.newerSave(.absent)])
    #expect(world.writeBack().apply([world.item(.trash(reason: ""))]) == [.newerSave(.absent)])
    #expect(world.files.person.paths() == [])
  }

  @Test("links, folders and files of others are left alone")
  func notOurs() throws {
    let world = try WriteBackWorld()
    try world.files.person.setOwner(WriteBackWorld.path, 4711)
    #expect(
      world.writeBack().apply([world.item()]) == [.failed(.otherOwner(path: WriteBackWorld.path, owner: 4711))])
    try world.files.person.remove(WriteBackWorld.path)
    try world.files.person.createLink(WriteBackWorld.path)
    #expect(world.writeBack().apply([world.item()]) == [.newerSave(.other(.link))])
    try world.files.person.remove(WriteBackWorld.path)
    try world.files.person.createFolder(WriteBackWorld.path)
    #expect(world.writeBack().apply([world.item()]) == [.newerSave(.other(.folder))])
  }

  @Test("mode is kept, and a split hard link is told")
  func look() throws {
    let world = try WriteBackWorld()
    try world.files.person.setMode(WriteBackWorld.path, 0o600)
    try world.files.person.link(WriteBackWorld.path, "tasks/second.json")
    let outcome = try #require(world.writeBack().apply([world.item()]).first)
    guard case .written(let file) = outcome else { return #expect(Bool(false), "\(outcome)") }
    #expect(file.status.mode == 0o600)
    #expect(file.splitHardLink)
    #expect(world.files.person.bytes("tasks/second.json") == WriteBackWorld.old)
  }

  @Test("without the workspace's marker nothing is written, and it is not made again")
  func noMarker() throws {
    let world = try WriteBackWorld()
    try world.files.person.removeFolder(StateFolder.root)
    #expect(world.writeBack().apply([world.item()]).map(\.word) == ["failed"])
    #expect(world.text == WriteBackWorld.old)
    #expect(try world.files.status(StateFolder.root) == nil)
  }

  @Test("without a folder for it no file is made")
  func noFolder() throws {
    let world = try WriteBackWorld()
    let item = WriteBackItem(path: "photos/a.json", expected: .absent, change: .write([]))
    #expect(world.writeBack().apply([item]).map(\.word) == ["failed"])
    #expect(try world.files.status("photos") == nil)
  }

  @Test("many files share the flushes, and each gets its own outcome")
  func batches() throws {
    let world = try WriteBackWorld()
    try world.files.person.save("tasks/changed.json", WriteBackWorld.saved)
    var items = (1...40).map {
      WriteBackItem(path: "tasks/\($0).json", expected: .absent, change: .write(Array("\($0)".utf8)))
    }
    items.append(world.item())
    items.append(
      WriteBackItem(
        path: "tasks/changed.json", expected: .content(ContentHash(of: WriteBackWorld.old)), change: .write([])))
    let outcomes = world.writeBack().apply(items)
    #expect(outcomes.map(\.word) == Array(repeating: "written", count: 41) + ["newerSave"])
    #expect(world.journal.state.withLock { $0.recordCount } == 1)
    #expect(world.files.person.bytes("tasks/40.json") == Array("40".utf8))
  }

  @Test("a refused record leaves everything as it was")
  func refusedRecord() throws {
    let world = try WriteBackWorld()
    world.journal.change { $0.failsRecord = true }
    #expect(world.writeBack().apply([world.item()]).map(\.word) == ["failed"])
    #expect(world.files.person.paths() == [WriteBackWorld.path])
    #expect(world.text == WriteBackWorld.old)
  }

  @Test("a refused completion is settled later")
  func refusedCompletion() throws {
    let world = try WriteBackWorld()
    world.journal.change { $0.failsComplete = true }
    #expect(world.writeBack().apply([world.item()]).map(\.word) == ["unsettled"])
    world.journal.change { $0.failsComplete = false }
    let settled = world.writeBack().settle(try world.journal.pendingIntents())
    #expect(settled.map(\.outcome.word) == ["written"])
    #expect(try world.journal.pendingIntents().isEmpty)
    #expect(try world.journal.replacedFiles().map(\.hash) == [ContentHash(of: WriteBackWorld.old)])
  }

  @Test("a writer that had the old file open is noticed, and the file stays until it is closed")
  func lateWriter() throws {
    let world = try WriteBackWorld()
    let writer = try world.files.person.open(WriteBackWorld.path)
    #expect(world.writeBack().apply([world.item()]).map(\.word) == ["written"])
    #expect(try world.replacedFiles.lateTexts().isEmpty)

    writer.write([])
    #expect(try world.replacedFiles.lateTexts().isEmpty, "an editor that has cut the file is about to fill it")
    writer.write(WriteBackWorld.saved)
    let late = try #require(try world.replacedFiles.lateTexts().first)
    #expect(late.bytes == WriteBackWorld.saved)
    #expect(late.replaced.origin == WriteBackWorld.path)
    #expect(late.replaced.context == "row 1")

    let start = world.now()
    let tenMinutes = start + ReplacedFiles.staysFor
    #expect(try world.replacedFiles.sweep(now: tenMinutes) == SweepReport(removed: 0, kept: 1, late: 0))
    writer.close()
    #expect(try world.replacedFiles.sweep(now: tenMinutes - 1) == SweepReport())
    #expect(try world.replacedFiles.sweep(now: tenMinutes) == SweepReport(removed: 0, kept: 0, late: 1))
    try world.replacedFiles.acknowledge(late)
    #expect(try world.replacedFiles.lateTexts().isEmpty)
    #expect(try world.replacedFiles.sweep(now: tenMinutes) == SweepReport(removed: 1, kept: 0, late: 0))
    #expect(world.files.person.paths() == [WriteBackWorld.path])
    #expect(try world.journal.replacedFiles().isEmpty)
  }

  @Test("of many replaced files only the named ones are looked at")
  func namedOnes() throws {
    let world = try WriteBackWorld()
    let paths = (0..<100).map { "\(StateFolder.replaced)/\($0).json" }
    try world.files.person.createFolder(StateFolder.replaced)
    for path in paths {
      try world.files.person.save(path, WriteBackWorld.saved)
      try world.journal.updateReplaced([
        ReplacedFile(
          path: path, origin: WriteBackWorld.path, hash: ContentHash(of: WriteBackWorld.old), stamp: nil, since: 0,
          context: "")
      ])
    }
    world.files.restart()
    let late = try world.replacedFiles.lateTexts(at: [paths[7], "\(StateFolder.replaced)/none.json"])
    #expect(late.map(\.replaced.path) == [paths[7]])
    #expect(world.files.operationCount <= 3, "one file is looked at")
    #expect(try world.replacedFiles.lateTexts().count == paths.count)
  }

  @Test("where nobody can tell who has a file open it stays for a day")
  func noLeases() throws {
    let world = try WriteBackWorld(Self.poorer { $0.canLease = false })
    #expect(world.writeBack().apply([world.item()]).map(\.word) == ["written"])
    let start = world.now()
    #expect(try world.replacedFiles.sweep(now: start + ReplacedFiles.staysFor).kept == 1)
    #expect(try world.replacedFiles.sweep(now: start + ReplacedFiles.staysUnknownFor).removed == 1)
  }

  @Test("files that nothing knows of go to the trash, never away")
  func strays() throws {
    let world = try WriteBackWorld()
    #expect(world.writeBack().apply([world.item()]).map(\.word) == ["written"])
    try world.files.person.save(".tidemark/tmp/x.json", WriteBackWorld.saved)
    try world.files.person.save(".tidemark/replaced/y.json", Array("y".utf8))
    try world.files.person.save(".tidemark/tmp/empty", [])
    let rescued = try world.replacedFiles.rescueStrays(folders: ["tasks"])
    #expect(rescued.compactMap { world.files.person.bytes($0.path) } == [WriteBackWorld.saved, Array("y".utf8)])
    #expect(try world.replacedFiles.rescueStrays(folders: ["tasks"]).isEmpty, "once is enough")
    let writer = try world.files.person.open(".tidemark/tmp/x.json")
    let later = world.now() + ReplacedFiles.staysFor
    #expect(try world.replacedFiles.sweep(now: later).removed == 3)
    #expect(world.files.person.paths(below: StateFolder.temporary) == [".tidemark/tmp/x.json"])
    writer.write(Array("late".utf8))
    #expect(try world.replacedFiles.lateTexts().map(\.bytes) == [Array("late".utf8)])
  }

  @Test("of files that nothing knows of, those whose text stands elsewhere need no copy in the trash; all are swept")
  func knownStrays() throws {
    let world = try WriteBackWorld()
    _ = try world.writeBack().places(of: "tasks")
    for number in 0..<300 { try world.files.person.save(".tidemark/tmp/\(number).json", WriteBackWorld.new) }
    try world.files.person.save(".tidemark/tmp/x.json", WriteBackWorld.saved)
    let rescued = try world.replacedFiles.rescueStrays(folders: ["tasks"]) { $0 == WriteBackWorld.new }
    #expect(rescued.compactMap { world.files.person.bytes($0.path) } == [WriteBackWorld.saved])
    let writer = try world.files.person.open(".tidemark/tmp/7.json")
    writer.write(Array("late".utf8))
    #expect(try world.replacedFiles.lateTexts().map(\.bytes) == [Array("late".utf8)])
    let later = world.now() + ReplacedFiles.staysFor
    #expect(try world.replacedFiles.sweep(now: later).removed == 300)
  }

  @Test("two texts of one name at one time both stay in the trash")
  func trashNames() throws {
    let world = try WriteBackWorld()
    let trash = Trash(files: world.files, now: world.now)
    let items = ["one", "two"].map { TrashItem(origin: "tasks/a.json", bytes: Array($0.utf8), reason: $0) }
    let entries = try trash.keep(items)
    #expect(
      entries.map(\.path) == [".tidemark/trash/20251009T085320Z-a.json", ".tidemark/trash/20251009T085320Z.2-a.json"])
    #expect(Set(try trash.entries().map(\.reason)) == ["one", "two"])
    try world.files.person.remove(entries[0].path + ".meta")
    #expect(try trash.entries().count == 2)
  }
}

@Suite("Time in names")
struct TimeTextTests {
  static let known: [(Int64, String)] = [
    (0, "19700101T000000Z"), (-1, "19691231T235959Z"), (951_782_400_000, "20000229T000000Z"),
    (1_709_251_199_999, "20240229T235959Z"), (4_102_444_800_000, "21000101T000000Z"),
    (4_107_542_400_000, "21000301T000000Z"), (1_791_378_027_486, "20261007T130027Z"),
  ]

  @Test("is UTC to the second", arguments: known)
  func stamps(milliseconds: Int64, text: String) { #expect(TimeText.stamp(milliseconds) == text) }
}
