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
}
