import OfflineEngine

/// When a watcher talks to its server next: decides, and does nothing (spec 4, "Waiting between passes").
///
/// Times are on a clock that never goes back.
struct ExchangePlan {
  /// How long to wait before the next exchange.
  struct Pause: Equatable {
    var length: Duration
    /// Whether an edit ends it: not after a failure, which no edit mends.
    var endsByEdits: Bool
  }

  /// The first wait after a failed exchange, and the longest.
  private static let firstWait = Duration.seconds(1)
  private static let longestWait = Duration.seconds(60)
  /// How long a server may ask to be left alone.
  private static let longestRetryAfter = 3_600

  /// Whether the monitor says that there is no network.
  var isKnownOffline = false
  private let pullEvery: Duration
  private var nextWait = Self.firstWait
  private var retryAfterEnd: Duration?

  /// - Parameter pullEvery: How often the server is asked while all is well.
  init(pullEvery: Duration) { self.pullEvery = pullEvery }

  /// The pause after an exchange that ended now.
  mutating func pause(after failure: SyncFailure?, at now: Duration) -> Pause {
    guard let failure else {
      (nextWait, retryAfterEnd) = (Self.firstWait, nil)
      return Pause(length: pullEvery, endsByEdits: true)
    }
    if case .unavailable(_, let seconds?) = failure {
      retryAfterEnd = now + .seconds(min(max(seconds, 0), Self.longestRetryAfter))
    }
    // Without a network another try is worth little; one now and then is, since a monitor can be wrong either way.
    let wait = isKnownOffline && failure.isConnectivity ? Self.longestWait : nextWait
    nextWait = min(nextWait * 2, Self.longestWait)
    return Pause(length: max(wait, retryAfter(at: now) ?? .zero), endsByEdits: false)
  }

  /// Starts again from the shortest wait: the network, the session or a person has come.
  mutating func startAnew() { nextWait = Self.firstWait }

  /// How much longer the server has asked to be left alone, which nothing but a call for a sync shortens.
  func retryAfter(at now: Duration) -> Duration? { retryAfterEnd.flatMap { $0 > now ? $0 - now : nil } }
}
