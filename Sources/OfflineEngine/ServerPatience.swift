import Synchronization

/// How long the server has asked to be left alone, whichever request was told so.
final class ServerPatience: Sendable {
  /// Whether what is being done asks nothing meanwhile.
  @TaskLocal static var isHeeded = false

  /// How long a server may ask to be left alone, in seconds.
  private static let secondsMax = 3_600

  private let end = Mutex(Duration.zero)

  /// Notes an answer's Retry-After in seconds; `now` is on a clock that never goes back.
  func note(seconds: Int, at now: Duration) {
    end.withLock { $0 = max($0, now + .seconds(min(max(seconds, 0), Self.secondsMax))) }
  }

  /// What is left of it; `nil` where it is over.
  func rest(at now: Duration) -> Duration? { end.withLock { $0 > now ? $0 - now : nil } }
}

extension UserEngine {
  /// How much longer the server has asked to be left alone; `nil` where it has not.
  public var patience: Duration? { serverPatience.rest(at: environment.clock.elapsed()) }

  /// Does what nobody waits for: a request that it would make while the server has asked to be left alone fails instead.
  public static func patiently<Result: Sendable>(
    _ body: @Sendable () async throws -> Result
  ) async rethrows -> Result {
    try await ServerPatience.$isHeeded.withValue(true) { try await body() }
  }

  func checkPatience() throws(RequestFailure) {
    guard ServerPatience.isHeeded, let rest = patience else { return }
    let seconds = Int(rest.components.seconds) + 1
    throw RequestFailure(
      .unavailable(reason: "the server has asked to be left alone for \(seconds) s more", retryAfter: seconds))
  }
}
