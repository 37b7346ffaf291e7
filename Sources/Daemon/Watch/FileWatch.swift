import FileWorkspace
import OfflineEngine
import Synchronization

/// Turns what the watcher tells into looks at settled files.
final class FileWatch: Sendable {
  /// Where to look.
  enum Look: Sendable {
    /// At everything, and why, where a person should know.
    case everything(reason: String?)
    /// At paths that have settled.
    case paths([String])
  }

  /// The looks, in order; ends with `stop`.
  let looks: AsyncStream<Look>

  private let continuation: AsyncStream<Look>.Continuation
  private let files: any FileSystem
  private let folders: [WatchedFolder]
  private let clock: any EngineClock
  private let log: @Sendable (WorkspaceEvent) -> Void
  private let makeWatcher: @Sendable () -> any Watcher
  private let settle: Mutex<Settle>
  private let settleWake = Wake()
  private let pollWake = Wake()
  private let retryWake = Wake()
  private let isOver = Atomic(false)
  private let state = Mutex(State())

  private struct State {
    var watcher: (any Watcher)?
    var polling: PollingWatcher?
    /// What the kernel does not report now.
    var loss: String?
    var listings = 0
    /// Whether it never will, on the file system that a folder lies on.
    var isWithoutEvents = false
  }

  /// How often folders are listed where the kernel reports no changes.
  private static let pollEvery = Duration.seconds(5)
  /// After how many listings it is tried whether the kernel reports changes again.
  private static let listingsBeforeRetry = 3

  init(_ open: OpenWorkspace, log: @escaping @Sendable (WorkspaceEvent) -> Void) {
    files = open.files
    let photos = open.settings.collections.compactMap(\.photos).filter { $0.table != nil }
    folders =
      open.settings.collections.map { WatchedFolder($0.folder) }
      + photos.map { WatchedFolder($0.folder, isRecursive: true) } + [WatchedFolder(StateFolder.replaced)]
    clock = open.environment.clock
    self.log = log
    var times = Settle.Times()
    times.quiet = open.settings.settle
    settle = Mutex(Settle(times))
    makeWatcher = open.makeWatcher
    let stream = AsyncStream.makeStream(of: Look.self)
    looks = stream.stream
    continuation = stream.continuation
  }

  /// Watches until `stop`.
  ///
  /// What changes after `ready` was called is told.
  func run(ready: @escaping @Sendable () -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.takeEvents(ready) }
      group.addTask { await self.poll() }
      group.addTask { await self.tellSettled() }
    }
    continuation.finish()
  }

  func stop() {
    guard !isOver.exchange(true, ordering: .sequentiallyConsistent) else { return }
    let (watcher, polling) = state.withLock { ($0.watcher, $0.polling) }
    watcher?.stop()
    polling?.stop()
    pollWake.finish()
    retryWake.finish()
    settleWake.finish()
    continuation.finish()
  }

  /// Has everything looked at, whatever was told.
  func lookAtEverything() { continuation.yield(.everything(reason: nil)) }

  /// Watches, and tries again from time to time where that cannot be done: the folders are listed meanwhile.
  private func takeEvents(_ ready: @Sendable () -> Void) async {
    // Also where nothing will ever be told, or a stop came first: nobody waits for the first event for ever.
    defer { ready() }
    tellKinds()
    while !watchIsOver {
      await watch(ready)
      ready()
      guard !watchIsOver else { return }
      await retryWake.wait(upTo: nil, clock: clock)
    }
  }

  private func watch(_ ready: @Sendable () -> Void) async {
    let watcher = makeWatcher()
    state.withLock { $0.watcher = watcher }
    do throws(WatchError) {
      let events = try watcher.start(folders)
      // A stop that came first found nothing to stop.
      if watchIsOver { watcher.stop() }
      for await event in events {
        switch event {
        case .ready:
          isWatchedAgain()
          ready()
        // Where nothing is ever reported, the watcher says so instead of being ready.
        case .lostWatch("", _):
          take(event)
          ready()
        default: take(event)
        }
      }
    } catch {
      lose("\(error)", at: "")
    }
  }

  /// Whether it was told to stop: what was noticed and not looked at is found by the next start.
  var watchIsOver: Bool { isOver.load(ordering: .sequentiallyConsistent) }

  /// Tells where the kernel does not report others' changes, and has those folders listed.
  private func tellKinds() {
    let kinds = folders.compactMap { folder in files.kindWithoutEvents(folder.path).map { (folder.path, $0) } }
    guard let (path, kind) = kinds.first else { return }
    state.withLock { $0.isWithoutEvents = true }
    log(
      WorkspaceEvent(
        .note, path,
        "it lies on \(kind.name), where changes made elsewhere are not reported; every folder is listed every "
          + "\(Self.pollEvery)"))
    pollWake.ring()
  }

  /// Notes that the kernel does not report everything, once for each reason.
  private func lose(_ reason: String, at path: String) {
    let isNews = state.withLock { state in
      defer { state.loss = reason }
      return state.loss != reason
    }
    if isNews {
      log(WorkspaceEvent(.note, path, "\(reason); until then every folder is listed every \(Self.pollEvery)"))
    }
    pollWake.ring()
  }

  /// Notes that the kernel reports changes.
  private func isWatchedAgain() {
    let (wasLost, polling) = state.withLock { state in
      defer { state.loss = nil }
      return (state.loss != nil, state.isWithoutEvents ? nil : state.polling)
    }
    guard wasLost else { return }
    log(WorkspaceEvent(.solved, "", "changes are reported again"))
    polling?.stop()
    lookAtEverything()
  }

  private func take(_ event: WatchEvent) {
    switch event {
    case .changed(WorkspaceSettings.fileName, _):
      log(WorkspaceEvent(.note, WorkspaceSettings.fileName, "changed; stop the watcher and start it again to use it"))
    case .lostWatch(let path, let loss):
      switch loss {
      case .outOfWatches, .noEvents, .failed: lose("\(loss)", at: path)
      case .removed, .movedAway, .unmounted: log(WorkspaceEvent(.note, path, "\(loss)"))
      }
    case .overflow: log(WorkspaceEvent(.note, "", "events were lost, so every file is looked at"))
    case .ready, .changed, .folderChanged: break
    }
    note(event)
  }

  private func note(_ event: WatchEvent) {
    settle.withLock { $0.note(event, at: elapsed) }
    settleWake.ring()
  }

  /// Begins to watch anew where something is not reported.
  private func retry() {
    let watcher = state.withLock { $0.loss == nil ? nil : $0.watcher }
    guard let watcher else { return }
    watcher.stop()
    retryWake.ring()
  }

  /// Lists the folders from time to time, once it is known that events cannot be relied on, until they can.
  private func poll() async {
    while true {
      await pollWake.wait(upTo: nil, clock: clock)
      let isNeeded = state.withLock { $0.loss != nil || $0.isWithoutEvents }
      guard !watchIsOver else { return }
      guard isNeeded else { continue }
      let polling = PollingWatcher(files: files, interval: Self.pollEvery) { [self] in
        try await clock.sleep(for: $0)
        let isTime = state.withLock { state in
          state.listings += 1
          return state.listings.isMultiple(of: Self.listingsBeforeRetry)
        }
        if isTime, !watchIsOver { retry() }
      }
      state.withLock { $0.polling = polling }
      guard let events = try? polling.start(folders) else { return }
      for await event in events {
        if watchIsOver { return }
        if case .ready = event { continue }
        note(event)
      }
      state.withLock { $0.polling = nil }
    }
  }

  private func tellSettled() async {
    while !isOver.load(ordering: .relaxed) {
      let (settled, next) = settle.withLock { settle in
        (settle.due(at: elapsed, look: files.settleSample), settle.nextDue)
      }
      if settled.everything || !settled.folders.isEmpty {
        continuation.yield(.everything(reason: nil))
      } else if !settled.paths.isEmpty {
        continuation.yield(.paths(settled.paths))
      }
      await settleWake.wait(upTo: next.map { max($0 - elapsed, .zero) }, clock: clock)
    }
  }

  private var elapsed: Duration { clock.elapsed() }
}
