/// One way of misbehaving on purpose, for the requests that it is meant for.
public struct StandInFault: Sendable, Hashable {
  /// What happens.
  public enum Kind: Sendable, Hashable {
    /// The answer is held back.
    case latency(milliseconds: Int)
    /// The connection is closed and nothing was done.
    case dropBefore
    /// The request is carried out, then the connection is closed without an answer.
    case dropAfter
    /// The request is carried out, but only half of the answer's body arrives.
    case truncate
    /// 503 as PostgREST makes it without a database, with `Retry-After` in seconds.
    case unavailable(retryAfter: Int)
    /// The answer of a server whose schema cache is old: PGRST002 (503), PGRST204 (400) or PGRST205 (404).
    case schemaCache(code: String)
    /// The answer that an expired access token gets.
    case expiredToken
    /// Any other answer, such as a proxy's 520 or a hotel's log-in page; nothing was done.
    case answer(status: Int, contentType: String, body: String)

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

  /// A fault for the next request that fits, or for as many as are told.
  public init(_ kind: Kind, times: Int? = 1, skipping: Int = 0, method: String? = nil, path: String? = nil) {
    self.kind = kind
    self.times = times
    self.skipping = skipping
    self.method = method
    self.path = path
  }
}

/// The faults that are laid out, and which of them the next request meets.
struct FaultPlan {
  var faults: [StandInFault] = []

  /// The faults for a request; each is used up by one.
  mutating func take(for request: StandInRequest) -> [StandInFault.Kind] {
    var met: [StandInFault.Kind] = []
    for index in faults.indices {
      if let method = faults[index].method, method != request.method { continue }
      if let path = faults[index].path, !request.path.hasPrefix(path) { continue }
      if faults[index].skipping > 0 {
        faults[index].skipping -= 1
        continue
      }
      if let times = faults[index].times {
        guard times > 0 else { continue }
        faults[index].times = times - 1
      }
      met.append(faults[index].kind)
    }
    faults.removeAll { $0.times == 0 }
    return met
  }
}
