import FileWorkspace
import OfflineEngine
import Synchronization
import Threads

/// Commits to git what changed, beside a watcher: once nothing has changed for a while, and never while git is at work.
final class CommitWatch: Sendable {
  private let open: OpenWorkspace
  private let commit: (@Sendable () -> String?)?
  private let changeWake = Wake()
  /// Ends waits that nothing but the end shortens.
  private let endWake = Wake()
  private let isOver = Atomic(false)

  /// - Parameter commit: Commits, on a thread of its own, and returns what is to be told; called where the settings ask
  ///   for commits. `nil` where nothing is ever committed.
  init(_ open: OpenWorkspace, commit: (@Sendable () -> String?)?) {
    self.open = open
    self.commit = commit
  }

  /// Notes that something has changed.
  func noteChange() { changeWake.ring() }

  /// Runs until `stop`, and tells what was committed.
  func run(say: (WorkspaceEvent) -> Void) async {
    let clock = open.environment.clock
    guard let commit, let quiet = open.settings.commitsAfter else { return await endWake.wait(upTo: nil, clock: clock) }
    while !watchIsOver {
      await changeWake.wait(upTo: nil, clock: clock)
      var start = clock.elapsed()
      while !watchIsOver {
        await changeWake.wait(upTo: quiet, clock: clock)
        if clock.elapsed() - start >= quiet { break }
        start = clock.elapsed()
      }
      // A person's own work with git comes first, however long it takes.
      while !watchIsOver, open.isGitAtWork { await endWake.wait(upTo: quiet, clock: clock) }
      guard !watchIsOver, let said = await Self.onThread(commit) else { continue }
      say(WorkspaceEvent(.note, "", said))
    }
  }

  func stop() {
    isOver.store(true, ordering: .relaxed)
    changeWake.finish()
    endWake.finish()
  }

  private var watchIsOver: Bool { isOver.load(ordering: .relaxed) }

  /// Runs what may block for long on a thread of its own.
  private static func onThread(_ body: @escaping @Sendable () -> String?) async -> String? {
    await withCheckedContinuation { continuation in
      let hasStarted = BlockingThread { continuation.resume(returning: body()) }.start()
      if !hasStarted { continuation.resume(returning: nil) }
    }
  }
}
