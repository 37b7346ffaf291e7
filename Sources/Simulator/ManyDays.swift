import Glibc
import Synchronization

/// Lives many days on several threads: a day is one thread's alone, and shares nothing with another.
final class ManyDays: Sendable {
  private struct State {
    var next: UInt64
    var failed: [UInt64] = []
    var lived = 0
    var trouble: (any Error)?
  }

  private let seeds: ClosedRange<UInt64>
  private let stopsAtFirst: Bool
  private let state: Mutex<State>

  init(_ seeds: ClosedRange<UInt64>, stopsAtFirst: Bool) {
    self.seeds = seeds
    self.stopsAtFirst = stopsAtFirst
    state = Mutex(State(next: seeds.lowerBound))
  }

  /// Lives them all, tells of those that fail and how fast it went.
  ///
  /// - Returns: Whether all went well.
  func live(jobs: Int) throws -> Bool {
    let start = ContinuousClock.now
    let threads = (0..<jobs).map { _ in startThread { self.liveNext() } }
    for thread in threads { pthread_join(thread, nil) }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let (lived, failed, trouble) = state.withLock { ($0.lived, $0.failed, $0.trouble) }
    if let trouble { throw trouble }
    let speed = (Double(lived) / seconds).rounded(to: 1)
    print("\(lived) days in \(seconds.rounded(to: 1)) s, \(speed) a second; \(failed.count) failed")
    return failed.isEmpty
  }

  private func liveNext() {
    while let seed = take() {
      do {
        let plan = DayPlan(seed: seed)
        let outcome = try Simulation(plan, keepsLines: false).run()
        guard !outcome.complaints.isEmpty else { continue }
        state.withLock { $0.failed.append(seed) }
        let text = outcome.failure(shortened: stopsAtFirst ? nil : try Shrinking(plan).shortest())
        state.withLock { _ in
          print(text)
          fflush(nil)
        }
      } catch {
        state.withLock { $0.trouble = error }
      }
    }
  }

  private func take() -> UInt64? {
    state.withLock { state in
      guard state.next <= seeds.upperBound, state.trouble == nil, !stopsAtFirst || state.failed.isEmpty else {
        return nil
      }
      state.lived += 1
      state.next += 1
      return state.next - 1
    }
  }

  private func startThread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
    final class Box {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { argument in
        if let argument { Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body() }
        return nil
      }, Unmanaged.passRetained(Box(body)).toOpaque())
    precondition(code == 0, "no thread could be started: \(code)")
    return thread
  }
}

extension Double {
  fileprivate func rounded(to digits: Int) -> Double {
    let scale = pow(10, Double(digits))
    return (self * scale).rounded() / scale
  }
}
