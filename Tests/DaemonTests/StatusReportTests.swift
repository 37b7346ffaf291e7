import OfflineEngine
import Testing

@testable import Daemon

@Suite("What status says of the server")
struct StatusReportTests {
  static let ages: [(seconds: Int64, pullEvery: Duration, isOutdated: Bool)] = [
    (60, .seconds(2), false), (299, .seconds(2), false), (301, .seconds(2), true), (3 * 3_600, .seconds(2), true),
    (1_000, .seconds(600), false), (1_801, .seconds(600), true), (-5, .seconds(2), false),
  ]

  @Test(
    "REALTIME-4: a watcher that has not reached its server for minutes does not say that all is in step",
    arguments: ages)
  func outdated(age: (seconds: Int64, pullEvery: Duration, isOutdated: Bool)) {
    let then = WallTime(seconds: 1_792_328_400)
    let now = then + .seconds(age.seconds)
    #expect(StatusReport.isOutdated(then, at: now, pullEvery: age.pullEvery) == age.isOutdated)
  }

  @Test("one that was never in step says that itself")
  func never() {
    #expect(!StatusReport.isOutdated(nil, at: WallTime(seconds: 1_792_328_400), pullEvery: .seconds(2)))
  }
}
