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
  private let watcher: any Watcher
  private let polling: PollingWatcher
  private let settle: Mutex<Settle>
  private let settleWake = Wake()
  private let pollWake = Wake()
  private let isOver = Atomic(false)

  /// How often folders are listed where the kernel reports no changes.
  private static let pollEvery = Duration.seconds(5)

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
    watcher = open.makeWatcher()
    let clock = clock
    polling = PollingWatcher(files: files, interval: Self.pollEvery) { try await clock.sleep(for: $0) }
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
    watcher.stop()
    polling.stop()
    pollWake.finish()
    settleWake.finish()
    continuation.finish()
  }

  /// Has everything looked at, whatever was told.
  func lookAtEverything() { continuation.yield(.everything(reason: nil)) }

  private func takeEvents(_ ready: @Sendable () -> Void) async {
    do throws(WatchError) {
      let events = try watcher.start(folders)
      // A stop that came first found nothing to stop.
      if isOver.load(ordering: .sequentiallyConsistent) { watcher.stop() }
      for await event in events {
        // Where nothing is ever reported, the watcher says so instead of being ready.
        if case .lostWatch("", _) = event { ready() }
        if case .ready = event { ready() } else { take(event) }
      }
    } catch {
      log(WorkspaceEvent(.note, "", "\(error); until then every folder is listed every \(Self.pollEvery)"))
      pollWake.ring()
    }
    ready()  // Also where nothing will ever be told: nobody waits for the first event for ever.
  }

  private func take(_ event: WatchEvent) {
    switch event {
    case .changed(WorkspaceSettings.fileName, _):
      log(WorkspaceEvent(.note, WorkspaceSettings.fileName, "changed; stop the watcher and start it again to use it"))
    case .lostWatch(let path, let loss):
      log(WorkspaceEvent(.note, path, "\(loss)"))
      switch loss {
      case .outOfWatches, .noEvents, .failed: pollWake.ring()
      case .removed, .movedAway, .unmounted: break
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

  /// Lists the folders from time to time, once it is known that events cannot be relied on.
  private func poll() async {
    await pollWake.wait(upTo: nil, clock: clock)
    guard !isOver.load(ordering: .relaxed), let events = try? polling.start(folders) else { return }
    for await event in events {
      if case .ready = event { continue }
      note(event)
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
