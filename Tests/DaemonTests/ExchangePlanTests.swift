import OfflineEngine
import Testing

@testable import Daemon

@Suite("When a watcher asks its server next")
struct ExchangePlanTests {
  private static let lost = SyncFailure.connectivity(reason: "refused")
  private static let busy = SyncFailure.unavailable(reason: "busy", retryAfter: 90)

  private func seconds(_ plan: inout ExchangePlan, after failure: SyncFailure?, at now: Int64 = 0) -> Int64 {
    plan.pause(after: failure, at: .seconds(now)).length.components.seconds
  }

  @Test("after every answer it is as the settings say, and an edit does not wait for it")
  func answered() {
    var plan = ExchangePlan(pullEvery: .seconds(7))
    #expect(plan.pause(after: nil, at: .zero) == ExchangePlan.Pause(length: .seconds(7), endsByEdits: true))
  }

  @Test("after failures it doubles from a second to a minute, and starts again after an answer")
  func doubles() {
    var plan = ExchangePlan(pullEvery: .seconds(2))
    #expect((0..<8).map { _ in seconds(&plan, after: Self.lost) } == [1, 2, 4, 8, 16, 32, 60, 60])
    #expect(!plan.pause(after: Self.lost, at: .zero).endsByEdits)
    _ = plan.pause(after: nil, at: .zero)
    #expect(seconds(&plan, after: Self.lost) == 1)
  }

  @Test("a network that comes back starts again from a second, but not before a Retry-After has passed")
  func startsAnew() {
    var plan = ExchangePlan(pullEvery: .seconds(2))
    for _ in 0..<5 { _ = plan.pause(after: Self.lost, at: .zero) }
    plan.startAnew()
    #expect(seconds(&plan, after: Self.lost) == 1)
    #expect(seconds(&plan, after: Self.busy, at: 100) == 90)
    plan.startAnew()
    #expect(plan.retryAfter(at: .seconds(150)) == .seconds(40))
    #expect(plan.retryAfter(at: .seconds(190)) == nil)
    #expect(seconds(&plan, after: .unavailable(reason: "busy", retryAfter: 100_000), at: 200) == 3_600)
  }

  @Test("without a network one more try a minute is made, since a monitor can be wrong")
  func offline() {
    var plan = ExchangePlan(pullEvery: .seconds(2))
    plan.isKnownOffline = true
    #expect(seconds(&plan, after: Self.lost) == 60)
    // Whatever was answered: there is a way to the server.
    #expect(seconds(&plan, after: .notAnAnswer(reason: "a page")) == 2)
    plan.isKnownOffline = false
    plan.startAnew()
    #expect(seconds(&plan, after: Self.lost) == 1)
  }

  /// Which exchanges read that begin at some times, in seconds, and end at once.
  private func reads(
    _ plan: inout ExchangePlan, at times: Int64..., isLive: Bool, failing failure: SyncFailure? = nil
  ) -> [Bool] {
    times.map { now in
      let reads = plan.begin(at: .seconds(now), isLive: isLive)
      _ = plan.pause(after: failure, at: .seconds(now))
      return reads
    }
  }

  @Test("while changes are told an edit is only sent; a minute after the last read one is due, whatever is sent")
  func live() {
    var plan = ExchangePlan(pullEvery: .seconds(7))
    #expect(reads(&plan, at: 0, 10, 59, 60, 61, isLive: true) == [true, false, false, true, false])
    #expect([119, 120].map { plan.isReadDue(at: .seconds($0), isLive: true) } == [false, true])
    // Once it tells nothing any more, every exchange reads.
    #expect(reads(&plan, at: 62, 63, isLive: false) == [true, true])
    #expect([69, 70].map { plan.isReadDue(at: .seconds($0), isLive: false) } == [false, true])
    var rare = ExchangePlan(pullEvery: .seconds(300))
    #expect(reads(&rare, at: 0, 299, 300, isLive: true) == [true, false, true])
  }

  @Test("a read follows whatever failed, and one that is called for while another runs is not forgotten")
  func requiredReads() {
    var plan = ExchangePlan(pullEvery: .seconds(7))
    #expect(reads(&plan, at: 0, isLive: true, failing: Self.lost) == [true])
    #expect(!plan.hasRead)
    #expect(reads(&plan, at: 1, 2, isLive: true) == [true, false])
    #expect(plan.hasRead)
    // What could not be sent leaves open what else was missed.
    #expect(reads(&plan, at: 3, isLive: true, failing: Self.lost) == [false])
    #expect(reads(&plan, at: 4, 5, isLive: true) == [true, false])
    _ = plan.begin(at: .seconds(4), isLive: false)
    plan.requireRead()
    _ = plan.pause(after: nil, at: .seconds(5))
    #expect(reads(&plan, at: 6, 7, isLive: true) == [true, false])
    plan.startAnew()
    #expect(reads(&plan, at: 8, 9, isLive: true) == [true, false])
  }
}
