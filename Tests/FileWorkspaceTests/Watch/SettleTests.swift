import Testing

@testable import FileWorkspace

@Suite("Settling")
struct SettleTests {
  /// A file as a look shows it at some time.
  static func file(_ size: Int64, _ isOpen: OpenElsewhere = .no) -> SettleSample {
    SettleSample(size: size, modified: FileTime(nanoseconds: size), isOpen: isOpen)
  }

  static func at(_ milliseconds: Int) -> Duration { .milliseconds(milliseconds) }

  @Test("a path is ready after 50 ms of quiet, once, however many events there were")
  func quiet() {
    var settle = Settle()
    #expect(settle.nextDue == nil)
    settle.note(.changed("tasks/a.json", .finished), at: Self.at(0))
    settle.note(.changed("tasks/a.json", .touched), at: Self.at(40))
    #expect(settle.nextDue == Self.at(90))
    #expect(settle.due(at: Self.at(89)) { _ in Self.file(1) }.isEmpty)
    #expect(settle.due(at: Self.at(90)) { _ in Self.file(1) }.paths == ["tasks/a.json"])
    #expect(settle.nextDue == nil)
  }

  @Test("a path that is gone is handed out too, since the events decide nothing")
  func gone() {
    var settle = Settle()
    settle.note(.changed("tasks/a.json", .finished), at: Self.at(0))
    settle.note(.changed("tasks/a.json", .gone), at: Self.at(1))
    #expect(settle.due(at: Self.at(51)) { _ in nil }.paths == ["tasks/a.json"])
  }

  @Test("a file that somebody writes is waited for, but not for ever")
  func open() {
    var settle = Settle()
    settle.note(.changed("a", .finished), at: Self.at(0))
    var now = Duration.zero
    while let due = settle.nextDue, due < Self.at(29_999) {
      now = due
      #expect(settle.due(at: now) { _ in Self.file(1, .yes) }.isEmpty)
    }
    #expect(settle.due(at: Self.at(30_100)) { _ in Self.file(1, .yes) }.paths == ["a"])
  }

  @Test("a file that was only made is ready when nobody has it open")
  func made() {
    var settle = Settle()
    settle.note(.changed("a", .made), at: Self.at(0))
    #expect(settle.due(at: Self.at(50)) { _ in Self.file(1, .yes) }.isEmpty)
    #expect(settle.due(at: Self.at(1050)) { _ in Self.file(1, .no) }.paths == ["a"])
  }

  @Test("where nobody can tell who has it open, two equal looks must do")
  func unknown() {
    var settle = Settle()
    settle.note(.changed("a", .made), at: Self.at(0))
    #expect(settle.due(at: Self.at(50)) { _ in Self.file(1, .unknown) }.isEmpty)
    #expect(settle.due(at: Self.at(1050)) { _ in Self.file(2, .unknown) }.isEmpty)
    #expect(settle.due(at: Self.at(2050)) { _ in Self.file(2, .unknown) }.paths == ["a"])
    settle.note(.changed("a", .made), at: Self.at(3000))
    #expect(settle.due(at: Self.at(3050)) { _ in Self.file(2, .unknown) }.isEmpty)
    settle.note(.changed("a", .finished), at: Self.at(3060))
    #expect(settle.due(at: Self.at(3110)) { _ in Self.file(2, .unknown) }.paths == ["a"])
  }

  @Test("a large file that grows from one close to the next is looked at only when it rests")
  func growing() {
    var settle = Settle()
    var looks: [Int64] = []
    var size: Int64 = 0
    var now = Duration.zero
    // Forty blocks of half a megabyte, closed and opened again between them, 200 ms apart.
    for _ in 1...40 {
      size += 500_000
      settle.note(.changed("a.jpg", .finished), at: now)
      now += Self.at(200)
      while let due = settle.nextDue, due <= now {
        if !settle.due(at: due, look: { _ in Self.file(size) }).paths.isEmpty { looks.append(size) }
      }
    }
    while let due = settle.nextDue {
      if !settle.due(at: due, look: { _ in Self.file(size) }).paths.isEmpty { looks.append(size) }
    }
    #expect(looks == [500_000, 20_000_000])
  }

  @Test("a row saved twice within a second is not waited for")
  func smallGrowth() {
    var settle = Settle()
    settle.note(.changed("a.json", .finished), at: Self.at(0))
    #expect(settle.due(at: Self.at(50)) { _ in Self.file(100) }.paths == ["a.json"])
    settle.note(.changed("a.json", .finished), at: Self.at(300))
    #expect(settle.due(at: Self.at(350)) { _ in Self.file(200) }.paths == ["a.json"])
  }

  static let scans: [WatchEvent] = [.ready, .overflow, .lostWatch("tasks", .removed)]

  @Test("start, overflow and a lost watch ask for a scan at once", arguments: scans)
  func scan(event: WatchEvent) {
    var settle = Settle()
    settle.note(.changed("a", .made), at: Self.at(0))
    settle.note(event, at: Self.at(10))
    let settled = settle.due(at: Self.at(10)) { _ in nil }
    #expect(settled.everything)
    #expect(settled.paths.isEmpty)
    #expect(settle.nextDue == Self.at(50))
  }

  @Test("paths come in the order in which they first changed, folders once")
  func order() {
    var settle = Settle()
    for name in ["c", "a", "b", "c"] { settle.note(.changed(name, .finished), at: Self.at(0)) }
    for _ in 1...3 { settle.note(.folderChanged("tasks"), at: Self.at(0)) }
    let settled = settle.due(at: Self.at(60)) { _ in Self.file(1) }
    #expect(settled.paths == ["c", "a", "b"])
    #expect(settled.folders == ["tasks"])
  }
}

@Suite("Watching by looking")
struct PollingWatcherTests {
  @Test("tells what appeared, changed and went between two looks")
  func differences() async throws {
    let files = InMemoryFileSystem()
    try files.person.createFolder("tasks")
    try files.person.createFolder("photos/kitchen")
    try files.person.createFolder("photos/.hidden")
    for name in ["same", "edited", "gone"] { try files.person.save("tasks/\(name).json", [1]) }
    let person = files.person
    let pauses = Pauses([
      {
        try person.save("tasks/edited.json", [2])
        try person.remove("tasks/gone.json")
        try person.save("tasks/new.json", [1])
        try person.save("photos/kitchen/a.jpg", [1])
        try person.save("photos/.hidden/b.jpg", [1])
      },
      {},
      { try person.rename("tasks", "elsewhere") },
      {},
      { try person.rename("elsewhere", "tasks") },
    ])
    let watcher = PollingWatcher(files: files, interval: .seconds(5)) { try await pauses.next($0) }
    let folders = [WatchedFolder("tasks"), WatchedFolder("photos", isRecursive: true)]
    var seen: [WatchEvent] = []
    for await event in try watcher.start(folders) { seen.append(event) }
    #expect(
      seen == [
        .ready, .changed("tasks/edited.json", .made), .changed("tasks/new.json", .made),
        .changed("tasks/gone.json", .gone), .changed("photos/kitchen/a.jpg", .made), .lostWatch("tasks", .removed),
        .folderChanged("tasks"),
      ])
    #expect(await pauses.lengths == Array(repeating: .seconds(5), count: 6))
  }

  @Test("a folder that is missing from the start is told, and stopping ends the sequence")
  func missing() async throws {
    let files = InMemoryFileSystem()
    let watcher = PollingWatcher(files: files, interval: .seconds(5)) { _ in }
    var events = try watcher.start([WatchedFolder("tasks")]).makeAsyncIterator()
    #expect(await events.next() == .ready)
    #expect(await events.next() == .lostWatch("tasks", .removed))
    try files.person.createFolder("tasks")
    #expect(await events.next() == .folderChanged("tasks"))
    watcher.stop()
    #expect(await events.next() == nil)
  }
}

/// A clock whose pauses are filled with what a person does meanwhile, and which ends after the last.
private actor Pauses {
  private var acts: [@Sendable () throws -> Void]
  private(set) var lengths: [Duration] = []

  init(_ acts: [@Sendable () throws -> Void]) { self.acts = acts }

  func next(_ length: Duration) throws {
    lengths.append(length)
    if acts.isEmpty { throw CancellationError() }
    try acts.removeFirst()()
  }
}
