import FileWorkspace
import Synchronization

/// What a kernel tells one run of the program: late, merged, and sometimes nothing but that events were lost.
final class SimulatedWatcher: Watcher {
  private struct State {
    var continuation: AsyncStream<WatchEvent>.Continuation?
    var folders: Set<String> = []
    /// Folders that are watched with their folders, except hidden ones.
    var trees: [String] = []
    var waiting: [WatchEvent] = []
    var isTelling = false
    var isOver = false

    func watches(namesIn folder: String) -> Bool {
      if folders.contains(folder) { return true }
      return trees.contains { folder.hasPrefix($0 + "/") } && !folder.contains("/.")
    }
  }

  private let timeline: Timeline
  /// How long events are on their way at most, in milliseconds, and whether the next ones are lost.
  private let delay: @Sendable () -> (nanoseconds: Int64, isOverflow: Bool)
  private let state = Mutex(State())

  init(_ timeline: Timeline, delay: @escaping @Sendable () -> (nanoseconds: Int64, isOverflow: Bool)) {
    self.timeline = timeline
    self.delay = delay
  }

  func start(_ folders: [WatchedFolder]) throws(WatchError) -> AsyncStream<WatchEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: WatchEvent.self)
    state.withLock { state in
      state.folders = Set(folders.map(\.path))
      state.trees = folders.filter(\.isRecursive).map(\.path)
      state.continuation = continuation
      if state.isOver { continuation.finish() }
    }
    continuation.yield(.ready)
    return stream
  }

  func stop() {
    let continuation = state.withLock { state in
      state.isOver = true
      return state.continuation
    }
    continuation?.finish()
  }

  /// Takes what happened on the disk.
  func note(_ path: String, _ hint: WatchHint) {
    let mustTell = state.withLock { state in
      let isWatched = state.watches(namesIn: WorkspacePath.folder(of: path))
      let isFolder = state.folders.contains(path)
      guard state.continuation != nil, !state.isOver, isWatched || isFolder else { return false }
      let event: WatchEvent =
        isFolder ? (hint == .gone ? .lostWatch(path, .removed) : .folderChanged(path)) : .changed(path, hint)
      // The kernel merges an event that equals the last one.
      if state.waiting.last != event { state.waiting.append(event) }
      defer { state.isTelling = true }
      return !state.isTelling
    }
    guard mustTell else { return }
    let (nanoseconds, isOverflow) = delay()
    timeline.schedule(after: nanoseconds) { [self] in
      let (continuation, events) = state.withLock { state in
        defer { (state.waiting, state.isTelling) = ([], false) }
        return (state.continuation, state.waiting)
      }
      if isOverflow {
        continuation?.yield(.overflow)
      } else {
        for event in events { continuation?.yield(event) }
      }
    }
  }
}
