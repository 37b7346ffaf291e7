import Randomness
import Synchronization

/// Runs the jobs of every task in the world on the thread that asks for it, one at a time, the next one chosen by a seed.
///
/// Ordinary async code is explored and repeated so, as long as nothing in it starts a plain `Task {}`, a thread or a real
/// timer.
final class SeededExecutor: TaskExecutor, Sendable {
  private struct State {
    var jobs: [UnownedJob] = []
    var random: SeededRandom
    var count = 0
  }

  private let state: Mutex<State>

  init(seed: UInt64) { state = Mutex(State(random: SeededRandom(seed: seed))) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { $0.jobs.append(job) }
  }

  /// Runs one waiting job; false when none waits.
  func runOne() -> Bool {
    let job: UnownedJob? = state.withLock { state in
      guard !state.jobs.isEmpty else { return nil }
      state.count += 1
      return state.jobs.remove(at: state.jobs.count == 1 ? 0 : state.random.draw(below: state.jobs.count))
    }
    guard let job else { return false }
    job.runSynchronously(on: asUnownedTaskExecutor())
    return true
  }

  /// How many jobs have run.
  var jobCount: Int { state.withLock(\.count) }
}
