import OfflineEngine
import Synchronization
import Testing

@testable import Daemon

/// A clock whose waits are over when the test says so.
private final class LidClock: EngineClock {
  private let slept = Mutex(Duration.zero)
  private let ticks: AsyncStream<Void>
  private let ticker: AsyncStream<Void>.Continuation
  private let waits: AsyncStream<Duration>
  private let waiter: AsyncStream<Duration>.Continuation

  init() {
    (ticks, ticker) = AsyncStream.makeStream()
    (waits, waiter) = AsyncStream.makeStream()
  }

  func now() -> WallTime { WallTime(seconds: 0) }
  func suspended() -> Duration { slept.withLock(\.self) }

  func sleep(for duration: Duration) async throws {
    waiter.yield(duration)
    for await _ in ticks { return }
    throw CancellationError()
  }

  /// Returns once somebody waits.
  func someoneWaits() async { for await _ in waits { return } }

  /// Ends the wait, in which the machine slept for a while.
  func tick(slept duration: Duration = .zero) {
    slept.withLock { $0 += duration }
    ticker.yield()
  }
}

/// Says what the test says.
private struct ScriptedSource: ConnectivitySource {
  let stream: AsyncStream<NetworkAvailability>

  func states() -> AsyncStream<NetworkAvailability> { stream }
}

@Suite("A watcher's news of the network", .timeLimit(.minutes(1)))
struct NetworkWatchTests {
  /// The news that a watch tells while `play` goes on, `count` of them.
  private func news(
    _ count: Int, _ clock: LidClock, _ source: ScriptedSource?, _ play: @escaping @Sendable () async -> Void
  ) async -> [NetworkWatch.News] {
    let (told, teller) = AsyncStream.makeStream(of: NetworkWatch.News.self)
    return await withTaskGroup(of: [NetworkWatch.News]?.self) { group in
      group.addTask {
        await NetworkWatch(connectivity: source, clock: clock).run { teller.yield($0) }
        return nil
      }
      group.addTask {
        await play()
        return nil
      }
      group.addTask {
        var all: [NetworkWatch.News] = []
        for await news in told {
          all.append(news)
          if all.count == count { break }
        }
        return all
      }
      defer { group.cancelAll() }
      while let result = await group.next() { if let result { return result } }
      return []
    }
  }

  @Test("is what changed, not what the monitor says first, nor what it repeats")
  func changes() async {
    let (stream, monitor) = AsyncStream.makeStream(of: NetworkAvailability.self)
    for state: NetworkAvailability in [.online, .online, .offline, .offline, .online, .offline, .unknown] {
      monitor.yield(state)
    }
    let all = await news(4, LidClock(), ScriptedSource(stream: stream)) {}
    #expect(all == [.wentAway, .cameBack, .wentAway, .cameBack])
  }

  @Test("is that the machine has slept, once, and not that a moment passed")
  func sleeps() async {
    let clock = LidClock()
    let all = await news(2, clock, nil) {
      await clock.someoneWaits()
      clock.tick()
      await clock.someoneWaits()
      clock.tick(slept: .seconds(1))
      await clock.someoneWaits()
      clock.tick(slept: .seconds(10_800))
      await clock.someoneWaits()
      clock.tick()
      await clock.someoneWaits()
      clock.tick(slept: .seconds(60))
    }
    #expect(all == [.woke(after: .seconds(10_800)), .woke(after: .seconds(60))])
  }

  @Test("the machine's own clocks agree while it is awake")
  func liveClock() {
    let clock = LiveClock()
    let before = clock.suspended()
    #expect(before >= .zero)
    #expect(clock.suspended() - before < .seconds(1))
  }
}
