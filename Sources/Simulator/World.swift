import Randomness
import Synchronization

/// What everything in a world shares: its time, its order of jobs, its server, and the account of what happened.
final class World: Sendable {
  let day: Day
  let timeline: Timeline
  let executor: SeededExecutor
  let server: SimulatedServer
  let words = SavedWords()
  let buffers = Buffers()
  let pictures = SavedPictures()
  /// Rows of a user that were made at the server: how many make the difference between many files missing and few.
  private let newRows = Mutex<[String: Int]>([:])
  /// Whether one device is all there is, nothing goes wrong, and nobody saves what was made of an older text.
  let isUndisturbed: Bool

  private struct Account {
    var lines: [String] = []
    var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    var complaints: [String] = []
    var stirs = 0
  }

  private let account = Mutex(Account())
  private let keepsLines: Bool

  /// - Parameter keepsLines: Whether the trace is kept, not only its digest.
  init(_ plan: DayPlan, _ random: inout SeededRandom, keepsLines: Bool) throws {
    day = plan.day
    isUndisturbed =
      day.isLone && day.weather.trouble == 0
      && plan.deeds.allSatisfy { !$0.kind.isFault && !$0.kind.savesOlderText }
    self.keepsLines = keepsLines
    timeline = Timeline(start: 1_790_000_000_000_000_000)
    executor = SeededExecutor(seed: random.next())
    server = try SimulatedServer(timeline, &random, accessTokenSeconds: day.accessTokenSeconds)
  }

  // MARK: Time

  /// Lets everything happen that happens within a while; `each` is called whenever nothing is left to do at a time.
  func pass(nanoseconds: Int64, each: () -> Void = {}) {
    let limit = timeline.now + nanoseconds
    repeat {
      while executor.runOne() {}
      each()
    } while timeline.advance(upTo: limit) || executor.runOne()
  }

  /// Lives on until an async call of the world itself has ended.
  func wait<T: Sendable>(_ body: @escaping @Sendable () async throws -> T) throws -> T {
    let box = Box<T>()
    Task(executorPreference: executor) {
      do { box.result = .success(try await body()) } catch { box.result = .failure(error) }
    }
    while box.result == nil {
      if !executor.runOne(), !timeline.advance(upTo: timeline.now + 60_000_000_000) { break }
    }
    guard let result = box.result else { throw CancellationError() }
    return try result.get()
  }

  private final class Box<T: Sendable>: @unchecked Sendable {  // Proof: one thread runs everything.
    var result: Result<T, any Error>?
  }

  func noteNewRows(of user: String) { newRows.withLock { $0[user, default: 0] += 1 } }

  func newRowCount(of user: String) -> Int { newRows.withLock { $0[user] ?? 0 } }

  // MARK: The account

  /// Notes what happened; the digest of all notes tells two runs of one seed apart.
  func trace(_ text: @autoclosure () -> String) {
    let seconds = (timeline.now - 1_790_000_000_000_000_000) / 1_000_000
    let line = "\(seconds) \(text())"
    account.withLock { account in
      for byte in line.utf8 { account.digest = (account.digest ^ UInt64(byte)) &* 0x100_0000_01b3 }  // FNV-1a
      if keepsLines { account.lines.append(line) }
    }
  }

  /// Notes something that changes a file, a row or a queue: a world at rest has none.
  func stir(_ text: String) {
    trace(text)
    account.withLock { $0.stirs += 1 }
  }

  /// How much has been stirred.
  var stirs: Int { account.withLock(\.stirs) }

  /// Notes what must not be.
  func complain(_ text: String) {
    trace("WRONG: \(text)")
    account.withLock { $0.complaints.append(text) }
  }

  /// A log says what happened to which file or row, but never what it says, and holds no token.
  func checkLog(_ line: String, of device: String) {
    if SavedWords.showsPrivate(line) { complain("\(device): a log holds a text: \(line)") }
    if line.holds(bytesOf: "eyJ") { complain("\(device): a log holds a token") }  // How a JSON Web Token begins.
  }

  var complaints: [String] { account.withLock(\.complaints) }
  var lines: [String] { account.withLock(\.lines) }
  var digest: UInt64 { account.withLock(\.digest) }
}
