import Foundation
import Synchronization
import Testing

@testable import FileWorkspace

/// The folder as an exchange in a script needs it.
struct LiveFileSystemForTests {
  let files: LiveFileSystem

  init(_ folder: TemporaryFolder) throws { files = try LiveFileSystem(root: folder.path) }

  func exchange(_ one: String, _ other: String) -> Int32 {
    do {
      try files.exchange(one, other)
      return 0
    } catch {
      return -1
    }
  }
}

/// A real workspace with a running watcher, read one fence at a time.
///
/// A fence is a file that is written after what is to be seen: its own event comes after all the others, so nothing
/// waits for a time.
private final class WatchedWorld {
  let folder: TemporaryFolder
  let files: LiveFileSystem
  let watcher: InotifyWatcher
  var events: AsyncStream<WatchEvent>.AsyncIterator
  private var fences = 0

  init(
    _ folders: [WatchedFolder] = [WatchedFolder("tasks"), WatchedFolder("fences")],
    beforeReading: (@Sendable () -> Void)? = nil, prepare: (TemporaryFolder) throws -> Void = { _ in }
  ) throws {
    folder = try TemporaryFolder()
    for name in [".tidemark", "tasks", "fences"] { try folder.createFolder(name) }
    try folder.save("tasks/t.json", Array("old".utf8))
    try folder.save("other", Array("new".utf8))
    try prepare(folder)
    files = try LiveFileSystem(root: folder.path)
    watcher = InotifyWatcher(files: files, beforeReading: beforeReading)
    events = try watcher.start(folders).makeAsyncIterator()
  }

  deinit { watcher.stop() }

  /// Everything that was told since the last fence.
  func eventsUntilFence() async throws -> [WatchEvent] {
    fences += 1
    let fence = "fences/\(fences)"
    try folder.save(fence, [])
    var seen: [WatchEvent] = []
    while let event = await events.next() {
      if event == .changed(fence, .finished) { return seen }
      if case .changed(fence, _) = event { continue }
      seen.append(event)
    }
    return seen
  }

  func text(_ path: String) -> String { String(decoding: folder.bytes(path) ?? [], as: UTF8.self) }
}

@Suite("Watching a real folder", .serialized, .timeLimit(.minutes(5)))
struct InotifyWatcherTests {
  @Test("the first word is that all watches are proved")
  func ready() async throws {
    let world = try WatchedWorld()
    #expect(await world.events.next() == .ready)
    #expect(try await world.eventsUntilFence() == [])
  }

  @Test("there is one watcher a process, and the next one starts clean")
  func onlyOne() async throws {
    do {
      let world = try WatchedWorld()
      #expect(throws: WatchError.alreadyWatching) {
        try InotifyWatcher(files: world.files).start([WatchedFolder("tasks")])
      }
      // Left unread on purpose: the library has buffered them.
      for number in 0..<200 { try world.folder.save("tasks/\(number).json", []) }
      world.watcher.stop()
      while await world.events.next() != nil {}
    }
    let next = try WatchedWorld()
    #expect(await next.events.next() == .ready)
    #expect(try await next.eventsUntilFence() == [])
  }

  @Test("ending the loop ends the watching")
  func cancelled() async throws {
    let world = try WatchedWorld()
    let watcher = world.watcher
    let stream = world.events
    let reader = Task {
      var stream = stream
      while await stream.next() != nil {}
    }
    reader.cancel()
    await reader.value
    watcher.stop()
    let next = try WatchedWorld()
    #expect(await next.events.next() == .ready)
  }

  @Test("without the marker nothing starts, and the watcher is free again")
  func noMarker() async throws {
    let folder = try TemporaryFolder()
    let watcher = InotifyWatcher(files: try LiveFileSystem(root: folder.path))
    #expect(throws: WatchError.files(.absent(".tidemark/probe"))) { try watcher.start([]) }
    let next = try WatchedWorld()
    #expect(await next.events.next() == .ready)
  }

  @Test("every way of saving is seen, and settles into one look at the new text", arguments: SaveScript.saves.indices)
  func saves(index: Int) async throws {
    let script = SaveScript.saves[index]
    // The pauses are played on the clock of `Settle` alone: the events tell no time.
    for pause in [0, 1, 20, 200, 2000].map(Duration.milliseconds) {
      let world = try WatchedWorld()
      let player = ScriptPlayer(in: world.folder)
      var settle = Settle()
      var now = Duration.seconds(1)
      var looks: [String] = []
      func settleUntil(_ end: Duration) {
        while let due = settle.nextDue, due <= end {
          let settled = settle.due(at: due) { world.files.settleSample($0) }
          if settled.paths.contains("tasks/t.json") { looks.append(world.text("tasks/t.json")) }
        }
      }
      for step in script.steps {
        try player.play(step)
        for event in try await world.eventsUntilFence() { settle.note(event, at: now) }
        now += pause
        settleUntil(now)
      }
      settleUntil(now + .seconds(60))
      // A close is told when the last copy of a descriptor is gone: a program being started has one for a moment.
      while looks.isEmpty {
        for event in try await world.eventsUntilFence() { settle.note(event, at: now) }
        settleUntil(now + .seconds(60))
      }
      let comment = Comment(rawValue: "\(script.name) with \(pause): \(looks)")
      #expect(looks.last == "new", comment)
      #expect(settle.nextDue == nil, comment)
      if pause <= .milliseconds(20) { #expect(looks == ["new"], comment) }
      // Whatever the pause, nobody is sent to look while the writer is at work.
      #expect(looks.allSatisfy { ["new", "old", ""].contains($0) }, comment)
    }
  }

  @Test("a memory map, a mode and a time are reasons to look")
  func quietChanges() async throws {
    let world = try WatchedWorld()
    _ = try await world.eventsUntilFence()
    let player = ScriptPlayer(in: world.folder)
    try player.play(.touch("tasks/t.json"))
    #expect(try await world.eventsUntilFence().contains(.changed("tasks/t.json", .touched)))
    try player.play(.chmod("tasks/t.json", 0o600))
    #expect(try await world.eventsUntilFence() == [.changed("tasks/t.json", .touched)])
    let descriptor = open(world.folder.full("tasks/t.json"), O_RDWR | O_CLOEXEC)
    let map = mmap(nil, 3, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    map?.storeBytes(of: UInt8(ascii: "x"), as: UInt8.self)
    munmap(map, 3)
    close(descriptor)
    #expect(try await world.eventsUntilFence() == [.changed("tasks/t.json", .finished)])
    #expect(world.text("tasks/t.json") == "xld")
  }

  @Test("a collection's folder that is removed and made anew is watched again")
  func remadeFolder() async throws {
    let world = try WatchedWorld()
    _ = try await world.eventsUntilFence()
    let player = ScriptPlayer(in: world.folder)
    for _ in 1...3 {
      for name in try FileManager.default.contentsOfDirectory(atPath: world.folder.full("tasks")) {
        try player.play(.unlink("tasks/\(name)"))
      }
      try player.play(.removeFolder("tasks"))
      #expect(try await world.eventsUntilFence().last == .lostWatch("tasks", .removed))
      try player.play(.makeFolder("tasks"))
      #expect(try await world.eventsUntilFence() == [.folderChanged("tasks")])
      try world.folder.save("tasks/a.json", [1])
      #expect(try await world.eventsUntilFence().contains(.changed("tasks/a.json", .finished)))
    }
    try player.play(.rename("tasks", "elsewhere"))
    #expect(try await world.eventsUntilFence() == [.lostWatch("tasks", .movedAway)])
    try world.folder.save("elsewhere/a.json", [2])
    #expect(try await world.eventsUntilFence() == [])
    try player.play(.rename("elsewhere", "tasks"))
    #expect(try await world.eventsUntilFence() == [.folderChanged("tasks")])
    try world.folder.save("tasks/a.json", [3])
    #expect(try await world.eventsUntilFence().contains(.changed("tasks/a.json", .finished)))
  }

  @Test("folders in a recursive one are watched as they come, move and go")
  func recursiveFolders() async throws {
    let folders = [WatchedFolder("photos", isRecursive: true), WatchedFolder("fences")]
    let world = try WatchedWorld(folders, prepare: { try $0.createFolder("photos/old/deep") })
    _ = try await world.eventsUntilFence()
    let player = ScriptPlayer(in: world.folder)

    try world.folder.save("photos/old/deep/a.jpg", [1])
    #expect(try await world.eventsUntilFence().contains(.changed("photos/old/deep/a.jpg", .finished)))

    try world.folder.createFolder("photos/a/b/c")
    var told = try await world.eventsUntilFence()
    #expect(told.contains(.folderChanged("photos/a")))
    // Depending on who was first, the folders inside were found by listing or told by the kernel.
    #expect(told.contains(.folderChanged("photos/a/b/c")))
    try world.folder.save("photos/a/b/c/x.jpg", [1])
    #expect(try await world.eventsUntilFence().contains(.changed("photos/a/b/c/x.jpg", .finished)))

    try player.play(.rename("photos/a", "photos/z"))
    told = try await world.eventsUntilFence()
    #expect(told.contains(.changed("photos/a", .gone)) && told.contains(.folderChanged("photos/z/b/c")))
    try world.folder.save("photos/z/b/c/y.jpg", [1])
    #expect(try await world.eventsUntilFence().contains(.changed("photos/z/b/c/y.jpg", .finished)))

    try player.play(.rename("photos/z", "outside"))
    _ = try await world.eventsUntilFence()
    try world.folder.save("outside/b/c/y.jpg", [2])
    #expect(try await world.eventsUntilFence() == [])

    try player.play(.rename("outside", "photos/back"))
    #expect(try await world.eventsUntilFence().contains(.folderChanged("photos/back/b/c")))
    try world.folder.save("photos/back/b/c/y.jpg", [3])
    #expect(try await world.eventsUntilFence().contains(.changed("photos/back/b/c/y.jpg", .finished)))
  }

  @Test("hidden folders and repositories are never watched")
  func notWatched() async throws {
    let folders = [WatchedFolder("photos", isRecursive: true), WatchedFolder("fences")]
    let world = try WatchedWorld(
      folders,
      prepare: { folder in
        try folder.createFolder("photos/.hidden")
        try folder.createFolder("photos/clone/.git")
      })
    _ = try await world.eventsUntilFence()
    try world.folder.createFolder("photos/.another")
    try world.folder.save("photos/.hidden/a.jpg", [])
    try world.folder.save("photos/clone/a.jpg", [])
    try world.folder.save("photos/clone/.git/index", [])
    _ = try await world.eventsUntilFence()
    try world.folder.save("photos/.another/a.jpg", [])
    #expect(try await world.eventsUntilFence() == [])
  }

  @Test("a change of the settings is seen, the program's own files are not")
  func settingsFile() async throws {
    let world = try WatchedWorld()
    _ = try await world.eventsUntilFence()
    try world.folder.save("tidemark.json", [1])
    #expect(try await world.eventsUntilFence().contains(.changed("tidemark.json", .finished)))
    try world.folder.save(".tidemark/status.json", [1])
    #expect(try await world.eventsUntilFence() == [])
  }

  @Test("names that are not UTF-8 make their folder be listed")
  func unreadableNames() async throws {
    let world = try WatchedWorld()
    _ = try await world.eventsUntilFence()
    let path: [CChar] = Array(world.folder.full("tasks/a").utf8CString.dropLast()) + [-1, 0]
    let file = try #require(fopen(path, "w"))
    fclose(file)
    #expect(try await world.eventsUntilFence().contains(.folderChanged("tasks")))
  }

  @Test("an overflow is told, and folders that came unseen are watched afterwards")
  func overflow() async throws {
    let limit =
      Int(
        try String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
          .trimmingCharacters(in: .whitespacesAndNewlines)) ?? 16_384
    guard limit <= 200_000 else { return }  // So long a queue cannot be filled in a test.
    let gate = DispatchSemaphore(value: 1)
    let world = try WatchedWorld(beforeReading: {
      gate.wait()
      gate.signal()
    })
    _ = try await world.eventsUntilFence()
    gate.wait()  // The reader is held up from its next wait on.
    try world.folder.save("tasks/held.json", [])
    let player = ScriptPlayer(in: world.folder)
    // Two files in turn: the kernel joins equal neighbours. The library may take 2,048 off the queue before it is held.
    for _ in 0..<(limit / 2 + 2000) {
      try player.play(.touch("tasks/t.json"))
      try player.play(.touch("tasks/held.json"))
    }
    for name in ["t.json", "held.json"] { try player.play(.unlink("tasks/\(name)")) }
    try player.play(.removeFolder("tasks"))
    try player.play(.makeFolder("tasks"))
    gate.signal()
    var sawOverflow = false
    while !sawOverflow, let event = await world.events.next() { sawOverflow = event == .overflow }
    #expect(sawOverflow)
    try world.folder.save("tasks/new.json", [1])
    #expect(try await world.eventsUntilFence().contains(.changed("tasks/new.json", .finished)))
  }

  @Test("a reader that falls behind is told that it missed something")
  func slowReader() async throws {
    let world = try WatchedWorld()
    let player = ScriptPlayer(in: world.folder)
    try world.folder.save("fences/f", [])
    for _ in 0..<40_000 {
      try player.play(.touch("tasks/t.json"))
      try player.play(.touch("fences/f"))
    }
    // Two events each, more than the reader's queue holds, unless the kernel's overflowed before; both are told.
    var sawOverflow = false
    while !sawOverflow, let event = await world.events.next() { sawOverflow = event == .overflow }
    #expect(sawOverflow)
  }
}
