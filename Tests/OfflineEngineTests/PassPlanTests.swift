import Testing

@testable import OfflineEngine

/// A plan and its time, moved by the test.
private struct Timeline {
  var plan: PassPlan
  var now = Duration.seconds(1_000)
  var isKnownOffline = false

  init(autoSync: Bool = true) { plan = PassPlan(autoSync: autoSync) }

  var step: PassPlan.Step { mutating get { plan.step(at: now, isKnownOffline: isKnownOffline) } }

  mutating func note(_ trigger: PassTrigger) { plan.note(trigger, at: now) }

  /// The pass that runs ends.
  mutating func end(_ end: PassEnd) { plan.note(end, at: now, isKnownOffline: isKnownOffline) }

  /// How long until the next pass, by itself; nil when none comes.
  ///
  /// One that comes at once has begun then.
  mutating func pause() -> Duration? {
    switch step {
    case .run: .zero
    case .wait(let end): end.map { $0 - now }
    }
  }

  /// Runs a pass that is due now or after its wait, and ends it.
  ///
  /// - Returns: The wait before it, in seconds; nil when none came.
  mutating func run(_ end: PassEnd) -> Int64? {
    let begun = now
    var step = step
    if case .wait(let time?) = step {
      now = time
      step = self.step
    }
    guard step == .run else { return nil }
    self.end(end)
    return (now - begun).components.seconds
  }
}

extension PassEnd {
  fileprivate static let offline = PassEnd.stopped(retryAfter: nil, isConnectivity: true)
  fileprivate static let unavailable = PassEnd.stopped(retryAfter: nil, isConnectivity: false)
  fileprivate static let done = PassEnd.finished(writesWait: false)
  fileprivate static func told(_ seconds: Int) -> PassEnd { .stopped(retryAfter: seconds, isConnectivity: false) }
}

@Suite("When the library sends by itself")
struct PassPlanTests {
  @Test("nothing runs without a trigger")
  func idle() {
    var line = Timeline()
    #expect(line.step == .wait(until: nil))
  }

  // MARK: The table of triggers

  static let triggers: [(String, PassTrigger, isTurnedOff: Bool)] = [
    ("the session settles into a user with writes queued", .sessionSettled, true),
    ("the network comes back, or enableNetwork() is called", .networkCameBack, true),
    ("a client without Auth opens with writes that an earlier run left queued", .opened, true),
    ("a write is queued behind an earlier one, leaves writes behind it, or is retried", .queueNeedsSending, false),
  ]

  @Test("starts a pass at once", arguments: triggers.map(\.0), [true, false])
  func trigger(_ row: String, autoSync: Bool) throws {
    let (_, trigger, isTurnedOff) = try #require(Self.triggers.first { $0.0 == row })
    var line = Timeline(autoSync: autoSync)
    line.note(trigger)
    #expect(line.step == (autoSync || !isTurnedOff ? .run : .wait(until: nil)))
  }

  @Test("at most one pass runs and one waits, however many triggers arrive")
  func coalesced() {
    var line = Timeline()
    for _ in 0..<3 { for trigger in PassTrigger.allCases { line.note(trigger) } }
    #expect(line.step == .run)
    for _ in 0..<3 {
      for trigger in PassTrigger.allCases { line.note(trigger) }
      #expect(line.step == .wait(until: nil))
    }
    line.end(.done)
    #expect(line.step == .run)
    line.end(.done)
    #expect(line.step == .wait(until: nil))
  }

  // MARK: Waiting between passes

  @Test(
    "after a pass that stopped the next waits 1 s, doubling up to 60 s, whatever autoSync says",
    arguments: [true, false])
  func waits(autoSync: Bool) {
    var line = Timeline(autoSync: autoSync)
    line.note(.queueNeedsSending)
    var waits: [Int64?] = []
    for _ in 0..<9 { waits.append(line.run(.unavailable)) }
    #expect(waits == [0, 1, 2, 4, 8, 16, 32, 60, 60])
  }

  @Test(
    "a pass that ran to the end, or found nothing to send, lets the waits begin at 1 s",
    arguments: [PassEnd.done, .nothingToSend])
  func startsAnew(_ end: PassEnd) {
    var line = Timeline()
    line.note(.queueNeedsSending)
    for _ in 0..<5 { _ = line.run(.unavailable) }
    #expect(line.run(end) == 16)
    #expect(line.step == .wait(until: nil))
    line.note(.queueNeedsSending)
    #expect(line.run(.unavailable) == 0)
    #expect(line.run(.unavailable) == 1)
  }

  @Test("a write that is queued does not end the wait")
  func queuedWhileWaiting() {
    var line = Timeline()
    line.note(.queueNeedsSending)
    for _ in 0..<3 { _ = line.run(.unavailable) }
    line.note(.queueNeedsSending)
    line.note(.opened)
    #expect(line.pause() == .seconds(4))
  }

  static let retryAfters: [(seconds: Int, wait: Int64)] = [
    (-5, 1), (0, 1), (1, 1), (30, 30), (120, 120), (3_600, 3_600), (3_601, 3_600), (Int.max, 3_600), (Int.min, 1),
  ]

  @Test("the next pass waits as long as the server said, up to an hour", arguments: retryAfters.map(\.seconds))
  func retryAfter(_ seconds: Int) throws {
    let wait = try #require(Self.retryAfters.first { $0.seconds == seconds }?.wait)
    var line = Timeline()
    line.note(.queueNeedsSending)
    _ = line.run(.told(seconds))
    #expect(line.run(.unavailable) == wait)
    #expect(line.run(.unavailable) == 2)
  }

  @Test("a short Retry-After does not shorten the wait")
  func shortRetryAfter() {
    var line = Timeline()
    line.note(.queueNeedsSending)
    for _ in 0..<5 { _ = line.run(.told(3)) }
    #expect(line.run(.done) == 16)
  }

  static let enders: [(PassTrigger, autoSync: Bool, endsWait: Bool)] = [
    (.networkCameBack, true, true), (.sessionSettled, true, true), (.opened, true, false),
    (.queueNeedsSending, true, false), (.networkCameBack, false, false), (.sessionSettled, false, false),
    (.opened, false, false), (.queueNeedsSending, false, false),
  ]

  @Test("the network and the session end the wait at once and start it again from 1 s", arguments: enders.indices)
  func endsWait(_ index: Int) {
    let (trigger, autoSync, endsWait) = Self.enders[index]
    var line = Timeline(autoSync: autoSync)
    line.note(.queueNeedsSending)
    for _ in 0..<7 { _ = line.run(.unavailable) }
    line.note(trigger)
    #expect(line.run(.unavailable) == (endsWait ? 0 : 60))
    #expect(line.run(.unavailable) == (endsWait ? 1 : 60))
  }

  @Test("but never before a Retry-After has passed", arguments: [PassTrigger.networkCameBack, .sessionSettled])
  func retryAfterHolds(_ trigger: PassTrigger) {
    var line = Timeline()
    line.note(.queueNeedsSending)
    for _ in 0..<5 { _ = line.run(.unavailable) }
    #expect(line.run(.told(300)) == 16)
    line.now += .seconds(100)
    line.note(trigger)
    #expect(line.run(.unavailable) == 200)
    #expect(line.run(.unavailable) == 1)
  }

  @Test("a Retry-After that has passed holds nothing", arguments: [PassTrigger.networkCameBack, .sessionSettled])
  func retryAfterPassed(_ trigger: PassTrigger) {
    var line = Timeline()
    line.note(.queueNeedsSending)
    for _ in 0..<6 { _ = line.run(.told(10)) }
    line.now += .seconds(11)
    line.note(trigger)
    #expect(line.step == .run)
  }

  @Test(
    "a network that came back during a pass makes its failure old news",
    arguments: [PassTrigger.networkCameBack, .sessionSettled])
  func duringPass(_ trigger: PassTrigger) {
    var line = Timeline()
    line.note(.queueNeedsSending)
    for _ in 0..<4 { _ = line.run(.offline) }
    #expect(line.pause() == .seconds(8))
    line.now += .seconds(8)
    #expect(line.step == .run)
    line.note(trigger)
    line.end(.offline)
    #expect(line.run(.offline) == 0)
    #expect(line.run(.offline) == 1)
  }

  @Test("a Retry-After of the very pass during which the network came back holds")
  func duringPassRetryAfter() {
    var line = Timeline()
    line.note(.queueNeedsSending)
    #expect(line.step == .run)
    line.note(.networkCameBack)
    line.end(.told(40))
    #expect(line.run(.done) == 40)
  }

  @Test("a write queued during a pass that stops waits, too")
  func queuedDuringPass() {
    var line = Timeline()
    line.note(.queueNeedsSending)
    #expect(line.step == .run)
    line.note(.queueNeedsSending)
    line.end(.unavailable)
    #expect(line.pause() == .seconds(1))
  }

  @Test("writes that a whole pass leaves are tried again, not all the time")
  func left() {
    var line = Timeline()
    line.note(.queueNeedsSending)
    var waits: [Int64?] = []
    for _ in 0..<4 { waits.append(line.run(.finished(writesWait: true))) }
    #expect(waits == [0, 1, 2, 4])
    #expect(line.pause() == .seconds(8))
    line.now += .seconds(8)
    #expect(line.step == .run)
    line.note(.queueNeedsSending)
    line.end(.finished(writesWait: true))
    #expect(line.step == .run)
  }

  @Test("a pass that the app calls for moves no wait")
  func manual() {
    var line = Timeline()
    line.note(.queueNeedsSending)
    for _ in 0..<5 { _ = line.run(.unavailable) }
    line.plan.noteManualPass()
    #expect(line.pause() == .seconds(16))
    line.now += .seconds(5)
    line.plan.noteManualPass()
    #expect(line.pause() == .seconds(11))
  }

  @Test("says when the next try is, and only when one waits for a time")
  func nextTry() {
    var line = Timeline()
    #expect(line.plan.nextTry(isKnownOffline: false) == nil)
    line.note(.queueNeedsSending)
    #expect(line.step == .run)
    #expect(line.plan.nextTry(isKnownOffline: false) == nil)
    line.end(.told(30))
    #expect(line.plan.nextTry(isKnownOffline: false) == line.now + .seconds(30))
    _ = line.run(.done)
    #expect(line.plan.nextTry(isKnownOffline: false) == nil)
  }

  // MARK: The monitor is a hint, never a gate

  /// A plan whose monitor says offline and whose one attempt has failed.
  private func held(autoSync: Bool = true) -> Timeline {
    var line = Timeline(autoSync: autoSync)
    line.isKnownOffline = true
    line.note(.queueNeedsSending)
    #expect(line.run(.offline) == 0)
    return line
  }

  @Test("while it says offline one attempt is made, and then nothing by itself", arguments: [true, false])
  func oneAttempt(autoSync: Bool) {
    var line = held(autoSync: autoSync)
    #expect(line.step == .wait(until: nil))
    #expect(line.plan.nextTry(isKnownOffline: true) == nil)
    line.now += .seconds(7_200)
    line.note(.queueNeedsSending)
    line.note(.opened)
    #expect(line.step == .wait(until: nil))
  }

  @Test("a wrong monitor stops nothing: when the server answers, it keeps sending")
  func wrongMonitor() {
    var line = Timeline()
    line.isKnownOffline = true
    for _ in 0..<3 {
      line.note(.queueNeedsSending)
      #expect(line.run(.done) == 0)
    }
    line.note(.queueNeedsSending)
    #expect(line.run(.unavailable) == 0)  // An answer, so not for want of a connection.
    #expect(line.run(.told(20)) == 1)
    #expect(line.run(.done) == 20)
  }

  @Test("a failure before the monitor said offline leaves the one attempt of that period")
  func failedBefore() {
    var line = Timeline()
    line.note(.queueNeedsSending)
    #expect(line.run(.offline) == 0)
    line.isKnownOffline = true
    #expect(line.run(.offline) == 1)
    #expect(line.step == .wait(until: nil))
  }

  @Test("it is tried again when the monitor stops saying offline")
  func monitorStops() {
    var line = held()
    line.isKnownOffline = false  // Unknown, since the monitor ended: nothing was triggered.
    #expect(line.run(.offline) == 1)
    line.isKnownOffline = true
    #expect(line.run(.offline) == 2)
    #expect(line.step == .wait(until: nil))  // A new offline period had its attempt.
  }

  @Test("it is tried again at once when the network comes back")
  func networkBack() {
    var line = held()
    line.isKnownOffline = false
    line.note(.networkCameBack)
    #expect(line.step == .run)
  }

  @Test("it is tried again, once, when the session settles anew while the monitor says offline")
  func sessionAnew() {
    var line = held()
    line.note(.sessionSettled)
    #expect(line.run(.offline) == 0)
    #expect(line.step == .wait(until: nil))
  }

  @Test("it may try again, once, when the app syncs while the monitor says offline")
  func appSyncs() {
    var line = held()
    line.plan.noteManualPass()
    #expect(line.run(.offline) == 1)
    #expect(line.step == .wait(until: nil))
  }

  @Test("with autoSync off the network coming back sends nothing of its own; what was held goes on with its wait")
  func heldWithoutAutoSync() {
    var line = held(autoSync: false)
    line.isKnownOffline = false
    line.note(.networkCameBack)
    #expect(line.pause() == .seconds(1))
  }
}
