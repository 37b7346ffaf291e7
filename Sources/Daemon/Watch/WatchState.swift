import FileWorkspace
import OfflineEngine
import Synchronization

/// What a watcher tells of itself: when it asks the server next, and what keeps it from its files.
final class WatchState: Sendable {
  /// A trouble of this device that may pass.
  struct Trouble: Sendable, Equatable {
    /// What happened and what to do.
    var reason: String
    /// When the work is tried again.
    var again: WallTime
    /// How long the next wait is.
    var wait: Duration
  }

  private struct State {
    var nextTry: WallTime?
    var trouble: Trouble?
    var live = LiveState.off
  }

  private let state = Mutex(State())

  private static let firstWait = Duration.seconds(1)
  private static let longestWait = Duration.seconds(30)

  /// When the server is asked again after a failure; `nil` while it answers or is being asked.
  var nextTry: WallTime? {
    get { state.withLock(\.nextTry) }
    set { state.withLock { $0.nextTry = newValue } }
  }

  /// Whether the server's changes arrive as they are made.
  var live: LiveState {
    get { state.withLock(\.live) }
    set { state.withLock { $0.live = newValue } }
  }

  /// What keeps the watcher from its files now.
  var trouble: Trouble? { state.withLock(\.trouble) }

  /// How long after `now` the work on the files is tried again; `nil` while nothing keeps the watcher from it.
  func rest(at now: WallTime) -> Duration? {
    guard let trouble else { return nil }
    let rest = trouble.again - now
    // A clock that was set back would put it off until it has caught up.
    return rest > Self.longestWait ? .zero : max(rest, .zero)
  }

  /// Notes that work on the files failed.
  ///
  /// - Returns: Whether it is another trouble than before.
  func note(_ reason: String, at now: WallTime) -> Bool {
    state.withLock { state in
      let before = state.trouble
      let wait = before?.wait ?? Self.firstWait
      state.trouble = Trouble(reason: reason, again: now + wait, wait: min(wait * 2, Self.longestWait))
      return before?.reason != reason
    }
  }

  /// Notes that everything was looked at again.
  ///
  /// - Returns: Whether there was a trouble.
  func settle() -> Bool {
    state.withLock { state in
      defer { state.trouble = nil }
      return state.trouble != nil
    }
  }

  /// Whether an error of this device may pass by itself or with some room made: nobody should have to start the watcher
  /// again for it.
  static func mayPass(_ error: any Error) -> Bool {
    switch error {
    case is FileSystemError, is ScanError: true
    default: EngineStore.mayPass(error)
    }
  }
}
