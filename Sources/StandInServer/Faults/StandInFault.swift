/// One way of misbehaving on purpose, for the requests that it is meant for.
public struct StandInFault: Sendable, Hashable {
  /// What happens.
  public enum Kind: Sendable, Hashable {
    /// The answer is held back, by up to `jitter` milliseconds more.
    case latency(milliseconds: Int, jitter: Int = 0)
    /// The connection is closed and nothing was done.
    case dropBefore
    /// The request is carried out, then the connection is closed without an answer.
    case dropAfter
    /// The request is carried out, but only half of the answer's body arrives.
    case truncate
    /// 503 as the service makes it without its database, with `Retry-After` in seconds where it is given.
    case unavailable(retryAfter: Int?)
    /// 429 in the service's words, with `Retry-After` in seconds where it is given.
    case rateLimit(retryAfter: Int?)
    /// The answer of a server whose schema cache is loading, PGRST002 (503), or old: PGRST204 (400), PGRST205 (404).
    case schemaCache(code: String)
    /// The answer that an expired access token gets.
    case expiredToken
    /// Any other answer, such as a proxy's 520 or a hotel's log-in page; nothing was done.
    case answer(status: Int, contentType: String, headers: [String: String] = [:], body: String)
    /// The request's body is read so slowly.
    case slowUpload(bytesPerSecond: Int)
    /// The server's clock is ahead of the machine's by so many seconds, or behind; it is the same for all requests.
    case clockSkew(seconds: Int)
    /// A message to a Realtime client is not sent, and the connection stays.
    case realtimeSilence
    /// A Realtime connection is cut.
    case realtimeDisconnect

    /// What a proxy in front of the server answers when it cannot make sense of it.
    public static let proxy520 = Kind.answer(
      status: 520, contentType: "text/html; charset=UTF-8",
      body: "<html><body>Web server is returning an unknown error</body></html>")
    /// A page of a network that wants a log-in first.
    public static let loginPage = Kind.answer(
      status: 200, contentType: "text/html; charset=UTF-8", body: "<html><body>Welcome to the hotel</body></html>")
  }

  /// What happens.
  public var kind: Kind
  /// How many requests it still happens to; `nil` until it is taken away.
  public var times: Int?
  /// How many fitting requests pass before it begins.
  public var skipping: Int
  /// Only requests with this method.
  public var method: String?
  /// Only requests whose path begins so.
  public var path: String?
  /// How likely it happens to a fitting request, from 0 to 1.
  public var probability: Double
  /// How long it lasts from when it is laid out, in milliseconds; `nil` until it is taken away.
  public var lasts: Int?

  /// A fault for the next request that fits, or for as many as are told.
  public init(
    _ kind: Kind, times: Int? = 1, skipping: Int = 0, method: String? = nil, path: String? = nil,
    probability: Double = 1, lasts: Int? = nil
  ) {
    self.kind = kind
    self.times = times
    self.skipping = skipping
    self.method = method
    self.path = path
    self.probability = probability
    self.lasts = lasts
  }

  /// Whether a request is one that it is meant for.
  func fits(_ request: StandInRequest) -> Bool {
    if let method, method != request.method { return false }
    return path.map(request.path.hasPrefix) ?? true
  }
}
