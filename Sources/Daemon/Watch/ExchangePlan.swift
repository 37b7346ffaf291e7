import OfflineEngine

/// When a watcher talks to its server next, and of what: decides, and does nothing (spec 4, "Waiting between passes").
///
/// While the server tells its changes by itself, an exchange sends what waits and reads nothing: an edit costs one request,
/// and the next one does not wait for answers that say nothing new. Times are on a clock that never goes back.
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
  /// How long a read may wait while changes are told: what was missed in silence is found by it.
  private static let restWhileLive = Duration.seconds(60)
  /// How long a server may ask to be left alone.
  private static let longestRetryAfter = 3_600

  /// Whether the monitor says that there is no network.
  var isKnownOffline = false
  private let pullEvery: Duration
  private var nextWait = Self.firstWait
  private var retryAfterEnd: Duration?
  private var needsRead = true
  private var isReading = false
  /// When the last read ended that was whole.
  private var lastRead: Duration?

  /// - Parameter pullEvery: How often the server is asked while all is well.
  init(pullEvery: Duration) { self.pullEvery = pullEvery }

  /// Whether the server has been read.
  var hasRead: Bool { lastRead != nil }

  /// Has the next exchange read, whatever is told.
  mutating func requireRead() { needsRead = true }

  /// Whether the exchange that begins now reads, too.
  ///
  /// - Parameter isLive: Whether the server tells its changes by itself.
  mutating func begin(at now: Duration, isLive: Bool) -> Bool {
    isReading = !isLive || needsRead || isReadDue(at: now, isLive: isLive)
    if isReading { needsRead = false }
    return isReading
  }

  /// Whether the server is to be read again although nothing is to be sent.
  func isReadDue(at now: Duration, isLive: Bool) -> Bool {
    guard let lastRead else { return true }
    return now - lastRead >= (isLive ? max(pullEvery, Self.restWhileLive) : pullEvery)
  }

  /// The pause after an exchange that ended now.
  mutating func pause(after failure: SyncFailure?, at now: Duration) -> Pause {
    if failure != nil { needsRead = true } else if isReading { lastRead = now }
    isReading = false
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

  /// Starts again from the shortest wait, with a read: the network, the session or a person has come.
  mutating func startAnew() { (nextWait, needsRead) = (Self.firstWait, true) }

  /// How much longer the server has asked to be left alone, which nothing but a call for a sync shortens.
  func retryAfter(at now: Duration) -> Duration? { retryAfterEnd.flatMap { $0 > now ? $0 - now : nil } }
}
