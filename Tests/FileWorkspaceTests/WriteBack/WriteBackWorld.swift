import Synchronization

@testable import FileWorkspace

/// One file of a workspace in memory, a write-back of it, and whatever a person does meanwhile.
final class WriteBackWorld: Sendable {
  static let path = "tasks/a.json"
  static let old = Array(#"{"title": "old"}"#.utf8)
  static let new = Array(#"{"title": "new from the server"}"#.utf8)
  static let saved = Array(#"{"title": "saved meanwhile", "by": "a person"}"#.utf8)

  let files: InMemoryFileSystem
  let journal: MemoryJournal
  let time = Mutex<Int64>(1_760_000_000_000)

  init(_ abilities: InMemoryFileSystem.Abilities = .init(), holdsOldText: Bool = true) throws {
    files = InMemoryFileSystem(abilities)
    let files = files
    journal = MemoryJournal(isDead: { files.isStopped })
    try files.person.createFolder(StateFolder.root)
    try files.person.createFolder("tasks")
    if holdsOldText { try files.person.saveDurably(Self.path, Self.old) }
    try files.makeNamesDurable(["", "tasks"])
    files.restart()
  }

  var now: @Sendable () -> Int64 { { self.time.withLock { $0 } } }

  /// A write-back that has already tried what the folder allows; operations are counted from here on.
  func warmWriteBack() throws -> WriteBack {
    let writeBack = writeBack()
    _ = try writeBack.places(of: "tasks")
    files.restart()
    return writeBack
  }

  /// A write-back as a newly started process has it.
  func writeBack() -> WriteBack { WriteBack(files: files, journal: journal, now: now) }

  var replacedFiles: ReplacedFiles { ReplacedFiles(files: files, journal: journal, now: now) }

  var text: [UInt8]? { files.person.bytes(Self.path) }

  func item(_ change: WriteBackChange = .write(WriteBackWorld.new), on text: [UInt8]? = WriteBackWorld.old)
    -> WriteBackItem
  {
    WriteBackItem(
      path: Self.path, expected: text.map { .content(ContentHash(of: $0)) } ?? .absent, change: change, context: "row 1"
    )
  }

  /// Every text that a person could still find: at a path, in the trash, or reported as a late save.
  func textsWithinReach() throws -> [[UInt8]] {
    let visible = files.person.paths(below: "tasks").filter { !$0.contains(StateFolder.insideCollection) }
    let trash = files.person.paths(below: StateFolder.trash)
    let late = try replacedFiles.lateTexts().map(\.bytes)
    return (visible + trash).compactMap(files.person.bytes) + late
  }

  /// Starts the program again as after a kill.
  func restart() { files.restart() }
}

extension WriteBackOutcome {
  /// The name of the case, for tables.
  var word: String {
    switch self {
    case .written: "written"
    case .removed: "removed"
    case .newerSave: "newerSave"
    case .exists: "exists"
    case .failed: "failed"
    case .unsettled: "unsettled"
    }
  }
}
