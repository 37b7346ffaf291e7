import Synchronization

/// A watcher for file systems that report nothing: lists the folders from time to time.
///
/// It reads no file. It starts no task: the looking happens while its reader waits for the next event.
public final class PollingWatcher: Watcher {
  private let files: any FileSystem
  private let interval: Duration
  private let sleep: @Sendable (Duration) async throws -> Void
  private let state = Mutex(State())

  private struct State {
    var folders: [WatchedFolder] = []
    /// Stamps by path for each watched folder; nil for one that could not be listed.
    var seen: [PathKey: [PathKey: FileStamp]?] = [:]
    var waiting: [WatchEvent] = []
    var hasStarted = false
    var isStopped = false
  }

  /// Makes a watcher.
  ///
  /// - Parameters:
  ///   - files: The workspace's files.
  ///   - interval: The pause between two listings.
  ///   - sleep: Waits; throws when the wait is cancelled, which ends the sequence.
  public init(
    files: any FileSystem, interval: Duration, sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.files = files
    self.interval = interval
    self.sleep = sleep
  }

  /// Starts watching; to be called once.
  public func start(_ folders: [WatchedFolder]) throws(WatchError) -> AsyncStream<WatchEvent> {
    state.withLock { $0.folders = folders }
    return AsyncStream { await self.next() }
  }

  /// Ends the sequence at the end of the current pause.
  public func stop() { state.withLock { $0.isStopped = true } }

  private func next() async -> WatchEvent? {
    while true {
      let (event, hasStarted, isStopped) = state.withLock { state in
        (state.waiting.isEmpty ? nil : state.waiting.removeFirst(), state.hasStarted, state.isStopped)
      }
      if isStopped { return nil }
      if let event { return event }
      if !hasStarted {
        lookAtAll(isFirst: true)
        continue
      }
      do {
        try await sleep(interval)
      } catch {
        return nil
      }
      lookAtAll(isFirst: false)
    }
  }

  private func lookAtAll(isFirst: Bool) {
    let (folders, seen) = state.withLock { ($0.folders, $0.seen) }
    var events: [WatchEvent] = isFirst ? [.ready] : []
    var next = seen
    for folder in folders {
      let key = PathKey(folder.path)
      let found = stamps(folder)
      let known: [PathKey: FileStamp]? = seen[key] ?? nil
      next[key] = .some(found)
      switch (known, found) {
      case (let known?, let found?): events += Self.differences(known, found)
      case (nil, .some): if !isFirst { events.append(.folderChanged(folder.path)) }
      case (.some, nil): events.append(.lostWatch(folder.path, .removed))
      case (nil, nil): if isFirst { events.append(.lostWatch(folder.path, .removed)) }
      }
    }
    state.withLock { state in
      state.seen = next
      state.waiting += events
      state.hasStarted = true
    }
  }

  private static func differences(_ known: [PathKey: FileStamp], _ found: [PathKey: FileStamp]) -> [WatchEvent] {
    let changed = found.filter { known[$0.key] != $0.value }.keys.sorted()
    let gone = known.keys.filter { found[$0] == nil }.sorted()
    return changed.map { .changed($0.text, .made) } + gone.map { .changed($0.text, .gone) }
  }

  private func stamps(_ folder: WatchedFolder) -> [PathKey: FileStamp]? {
    guard let listing = try? files.list(folder.path) else { return nil }
    var stamps: [PathKey: FileStamp] = [:]
    for entry in listing.entries {
      let path = WorkspacePath.joined(folder.path, entry.name)
      if entry.status.kind != .folder {
        stamps[PathKey(path)] = entry.status.stamp
      } else if folder.isRecursive, WatchRules.watches(path, in: files) {
        stamps.merge(self.stamps(WatchedFolder(path, isRecursive: true)) ?? [:]) { _, new in new }
      }
    }
    return stamps
  }
}

/// Which folders inside a watched one are watched too.
enum WatchRules {
  /// Not hidden ones, and no repositories of their own.
  static func watches(_ folder: String, in files: any FileSystem) -> Bool {
    if WorkspacePath.name(of: folder).utf8.first == UInt8(ascii: ".") { return false }
    return (try? files.status(WorkspacePath.joined(folder, ".git"))) == .some(nil)
  }
}
