/// What may start a pass that nobody called for (spec 4, "When the library sends by itself").
public enum PassTrigger: Sendable, Hashable, CaseIterable {
  /// The session settled into a user.
  case sessionSettled
  /// The network came back, or network access was turned on again.
  case networkCameBack
  /// A client without Auth was opened with writes that an earlier run left.
  case opened
  /// A write was queued behind an earlier one, left writes behind it, or is to be tried again.
  case queueNeedsSending

  /// Whether `autoSync = false` turns it off.
  var obeysAutoSync: Bool { self != .queueNeedsSending }

  /// Whether it ends the wait after a pass that stopped.
  var endsWait: Bool { self == .sessionSettled || self == .networkCameBack }
}

/// How a pass ended.
public enum PassEnd: Sendable, Hashable {
  /// It ran to the end; whether writes wait that it did not send.
  case finished(writesWait: Bool)
  /// It stopped on a failure that may pass; with the server's Retry-After in seconds, where it sent one.
  case stopped(retryAfter: Int?, isConnectivity: Bool)
  /// There was nothing to send.
  case nothingToSend
}

/// When the library's own next pass runs: decides, and does nothing (spec 4, "Waiting between passes").
///
/// Times are on a clock that never goes back.
struct PassPlan {
  /// What to do now.
  enum Step: Hashable {
    case run
    /// Wait for something to happen, or for a time.
    case wait(until: Duration?)
  }

  static let firstWait = Duration.seconds(1)
  static let longestWait = Duration.seconds(60)
  static let longestRetryAfter = 3_600

  let autoSync: Bool
  private(set) var isRunning = false
  /// Whether a pass is to run, now or after the wait: however many triggers came, it is one.
  private var isWanted = false
  /// Whether the network or the session came anew while a pass ran, so that its failure is old news.
  private var isUrgent = false
  /// Whether the one attempt of an offline period has failed.
  private var isHeld = false
  private var nextWait = Self.firstWait
  private var waitEnd: Duration?
  private var retryAfterEnd: Duration?

  init(autoSync: Bool) { self.autoSync = autoSync }

  /// Takes note of a trigger.
  ///
  /// One that autoSync turns off starts nothing, but a pass of its own that was held goes on when its time comes.
  mutating func note(_ trigger: PassTrigger, at now: Duration) {
    if trigger.endsWait { isHeld = false }
    guard autoSync || !trigger.obeysAutoSync else { return }
    isWanted = true
    guard trigger.endsWait else { return }
    isUrgent = isRunning
    startWaitAnew(at: now)
  }

  /// Takes note that the app called for a pass, which goes at once and moves no wait.
  mutating func noteManualPass() { isHeld = false }

  /// What to do now; a pass has begun when it says so.
  ///
  /// - Parameter isKnownOffline: Whether the monitor says that there is no network. It is a hint: one attempt is made.
  mutating func step(at now: Duration, isKnownOffline: Bool) -> Step {
    if !isKnownOffline { isHeld = false }
    guard isWanted, !isRunning, !isHeld else { return .wait(until: nil) }
    if let waitEnd, now < waitEnd { return .wait(until: waitEnd) }
    (isRunning, isWanted, isUrgent, waitEnd) = (true, false, false, nil)
    return .run
  }

  /// Takes note of how the pass that ran has ended.
  mutating func note(_ end: PassEnd, at now: Duration, isKnownOffline: Bool) {
    isRunning = false
    switch end {
    case .nothingToSend, .finished(writesWait: false):
      (nextWait, waitEnd, retryAfterEnd) = (Self.firstWait, nil, nil)
    case .finished(writesWait: true):
      // What was triggered meanwhile goes at once. Otherwise nobody knows what it waits for: not to be asked all the time.
      if !isWanted { wait(from: now) }
      isWanted = true
    case .stopped(let retryAfter, let isConnectivity):
      isWanted = true
      if let retryAfter { retryAfterEnd = now + .seconds(min(max(retryAfter, 0), Self.longestRetryAfter)) }
      if isUrgent {
        startWaitAnew(at: now)
      } else {
        wait(from: now)
        isHeld = isConnectivity && isKnownOffline
      }
    }
    isUrgent = false
  }

  /// When the next pass runs by itself, if nothing happens before; `nil` while one runs, is held or is not wanted.
  func nextTry(isKnownOffline: Bool) -> Duration? {
    isWanted && !isRunning && !(isHeld && isKnownOffline) ? waitEnd : nil
  }

  private mutating func wait(from now: Duration) {
    waitEnd = max(now + nextWait, retryAfterEnd ?? now)
    nextWait = min(nextWait * 2, Self.longestWait)
  }

  /// Ends the wait, but not a Retry-After.
  private mutating func startWaitAnew(at now: Duration) {
    nextWait = Self.firstWait
    waitEnd = retryAfterEnd.flatMap { $0 > now ? $0 : nil }
  }
}
