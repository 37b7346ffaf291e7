import LosslessJSON

/// The client's side of Realtime for one user's tables: one connection with one channel, joined again for ever.
///
/// A value without effects: what happened goes in with the time, what is to be done comes out, and `due` says when `tick`
/// has something to do. Times count from any moment and never go back.
public struct RealtimeSession: Sendable {
  /// Where it stands.
  public enum State: Sendable, Hashable {
    /// A connection is being made.
    case connecting
    /// The connection stands; the join waits for a token or for its answer.
    case joining
    /// Joined; the server has not said yet that changes flow.
    case subscribing
    /// Changes flow.
    case live
    /// Nothing works now; tried again when it is due.
    case waiting(RealtimeFailure)
  }

  /// What happened.
  public enum Input: Sendable {
    /// The connection said something.
    case socket(WebSocketEvent)
    /// The token to use from now on.
    case token(Secret)
    /// There is no token.
    case noToken(reason: String)
    /// The device woke from sleep: the connection is dead, whatever it looks like.
    case woke
    /// The network changed: the connection may be dead.
    case networkChanged
    /// Time went by.
    case tick
  }

  /// What is to be done, in order.
  public enum Action: Sendable, Hashable {
    /// Connect anew; what an earlier connection still says is not to come in any more.
    case open
    /// End the connection.
    case close
    /// Send a text.
    case send(String)
    /// Give a token, another one than `replacing`.
    case askToken(replacing: Secret?)
    /// A row changed.
    case change(RealtimeChange)
    /// Read what changed meanwhile: nothing is told of the time away.
    case pull
  }

  /// Where it stands now.
  public private(set) var state = State.connecting
  /// When `tick` has something to do.
  public var due: Duration { deadlines.values.min() ?? .seconds(1 << 40) }

  private enum Deadline: Hashable {
    /// The state must be over by then.
    case state
    /// The next heartbeat, or the end of the wait for its answer.
    case heartbeat
    /// The second pull after changes began to flow.
    case secondPull
  }

  private let tables: [String]
  private let jitter: @Sendable () -> Double
  private var deadlines: [Deadline: Duration] = [:]
  private var references = 0
  private var joinReference: String?
  private var heartbeatReference: String?
  private var token: Secret?
  private var tokenToReplace: Secret?
  /// Tries that came to nothing since changes last flowed.
  private var failures = 0
  /// The server's word before it ends the channel.
  private var lastWord: String?

  private static let topic = "realtime:tidemark"
  /// How long a connection may take to stand; longer than the connection's own limits.
  private static let connectLimit = Duration.seconds(30)
  /// How long a join may take, and the word that changes flow.
  private static let joinLimit = Duration.seconds(10)
  private static let subscribeLimit = Duration.seconds(30)
  private static let heartbeatEvery = Duration.seconds(25)
  /// How soon a connection must answer when there is a reason to doubt it.
  private static let probeLimit = Duration.seconds(5)
  /// Changes may still be lost while the server makes its subscription; it takes some seconds.
  private static let secondPullAfter = Duration.seconds(10)
  /// The waits after the first, second, … failure in a row, in seconds.
  private static let waits: [Double] = [1, 2, 5, 10, 20, 30]
  private static let rateLimitWait = 30.0
  private static let personWait = 300.0
  /// The longest message: the server cuts a change at a megabyte.
  public static let messageBytesMax = 8 << 20

  /// A session that begins with `start`.
  ///
  /// - Parameters:
  ///   - tables: Names of tables in the project's default schema.
  ///   - jitter: Gives numbers from 0 to 1, so that many clients do not come back in step.
  public init(tables: [String], jitter: @escaping @Sendable () -> Double) {
    self.tables = tables
    self.jitter = jitter
  }

  /// Where a project's connections go; `nil` where it has no Realtime.
  public static func request(of project: Project) -> WebSocketRequest? {
    project.services.realtime.map { place in
      let key = project.key.map { "apikey=\(PercentEncoding.query($0.revealed))&" } ?? ""
      return WebSocketRequest(
        url: "\(place)/websocket?\(key)vsn=\(RealtimeMessage.version)", messageBytesMax: messageBytesMax)
    }
  }

  // MARK: What happens

  /// Begins.
  public mutating func start(at now: Duration) -> [Action] { connect(at: now) }

  /// Takes what happened.
  public mutating func take(_ input: Input, at now: Duration) -> [Action] {
    switch input {
    case .socket(.opened):
      guard state == .connecting else { return [] }
      state = .joining
      // The token may take as long as a refresh does; it says itself when there is none.
      deadlines = [.state: now + Self.connectLimit, .heartbeat: now + Self.heartbeatEvery]
      return [.askToken(replacing: tokenToReplace)]
    case .socket(.text(let text)):
      guard isConnected, let message = RealtimeMessage(parsing: text) else { return [] }
      return receive(message, at: now)
    case .socket(.closed(let failure)):
      guard isConnected || state == .connecting else { return [] }
      return wait(failure.map(RealtimeFailure.connection) ?? .closed, at: now, isClosed: true)
    case .token(let token): return use(token, at: now)
    case .noToken(let reason):
      guard state == .joining, joinReference == nil else { return [] }
      return wait(.noToken(reason: reason), at: now)
    case .woke:
      failures = 0
      let close: [Action] = isConnected || state == .connecting ? [.close] : []
      return close + connect(at: now)
    case .networkChanged:
      failures = 0
      guard isConnected else { return state == .connecting ? [] : connect(at: now) }
      return probe(at: now)
    case .tick: return tick(at: now)
    }
  }

  private var isConnected: Bool {
    switch state {
    case .joining, .subscribing, .live: true
    case .connecting, .waiting: false
    }
  }

  private mutating func connect(at now: Duration) -> [Action] {
    state = .connecting
    joinReference = nil
    heartbeatReference = nil
    lastWord = nil
    deadlines = [.state: now + Self.connectLimit]
    return [.open]
  }

  private mutating func tick(at now: Duration) -> [Action] {
    if let time = deadlines[.state], now >= time {
      if case .waiting = state { return connect(at: now) }
      return wait(.silent, at: now)
    }
    var actions: [Action] = []
    if let time = deadlines[.heartbeat], now >= time {
      // Unanswered when the next is due: nobody is there.
      if heartbeatReference != nil { return wait(.silent, at: now) }
      actions.append(heartbeat())
      deadlines[.heartbeat] = now + Self.heartbeatEvery
      // A token that was renewed elsewhere is passed on; one that is about to end is renewed by this.
      if joinReference != nil { actions.append(.askToken(replacing: nil)) }
    }
    if let time = deadlines[.secondPull], now >= time {
      deadlines[.secondPull] = nil
      actions.append(.pull)
    }
    return actions
  }

  /// Gives up what is, and names the time of the next try.
  private mutating func wait(
    _ failure: RealtimeFailure, _ remedy: RealtimeFailure.Remedy = .retry, at now: Duration, isClosed: Bool = false
  ) -> [Action] {
    let seconds =
      switch remedy {
      case .newToken where failures == 0: 0.0  // A token ends all the time, and the next one is as good as here.
      case .retry, .newToken: Self.waits[min(failures, Self.waits.count - 1)]
      case .pause: max(Self.rateLimitWait, Self.waits[min(failures, Self.waits.count - 1)])
      case .person: Self.personWait
      }
    failures += 1
    let close: [Action] = !isClosed && (isConnected || state == .connecting) ? [.close] : []
    state = .waiting(failure)
    deadlines = [.state: now + .seconds(seconds * (0.75 + jitter() / 2))]
    return close
  }

  // MARK: What is said

  private mutating func use(_ token: Secret, at now: Duration) -> [Action] {
    // The answer to an earlier question may come now: it is the token that was refused.
    guard token != tokenToReplace else { return [] }
    let isNew = token != self.token
    self.token = token
    tokenToReplace = nil
    switch state {
    case .joining where joinReference == nil:
      let reference = nextReference()
      joinReference = reference
      deadlines[.state] = now + Self.joinLimit
      return [.send(join(reference, token).text)]
    case .subscribing, .live:
      guard isNew else { return [] }
      let payload: JSONObject = ["access_token": .string(token.revealed)]
      return [send("access_token", payload, nextReference())]
    default: return []
    }
  }

  private func join(_ reference: String, _ token: Secret) -> RealtimeMessage {
    let entries: [JSONValue] = tables.map { ["event": "*", "schema": "public", "table": .string($0)] }
    let config: JSONValue = [
      "broadcast": ["ack": false, "self": false], "presence": ["key": "", "enabled": false], "private": false,
      "postgres_changes": .array(entries),
    ]
    return RealtimeMessage(
      topic: Self.topic, event: "phx_join", reference: reference, joinReference: reference,
      payload: ["config": config, "access_token": .string(token.revealed)])
  }

  private func send(_ event: String, _ payload: JSONObject, _ reference: String) -> Action {
    .send(
      RealtimeMessage(
        topic: Self.topic, event: event, reference: reference, joinReference: joinReference, payload: payload
      ).text)
  }

  private mutating func heartbeat() -> Action {
    let reference = nextReference()
    heartbeatReference = reference
    return .send(RealtimeMessage(topic: "phoenix", event: "heartbeat", reference: reference).text)
  }

  private mutating func probe(at now: Duration) -> [Action] {
    let sent = heartbeatReference == nil ? [heartbeat()] : []
    deadlines[.heartbeat] = min(deadlines[.heartbeat] ?? now + Self.probeLimit, now + Self.probeLimit)
    return sent
  }

  private mutating func nextReference() -> String {
    references += 1
    return String(references)
  }

  private mutating func receive(_ message: RealtimeMessage, at now: Duration) -> [Action] {
    if message.topic == "phoenix" {
      if message.event == "phx_reply", message.reference == heartbeatReference {
        heartbeatReference = nil
        deadlines[.heartbeat] = now + Self.heartbeatEvery
      }
      return []
    }
    // What an earlier join of the topic still says is old.
    guard message.topic == Self.topic, message.joinReference == nil || message.joinReference == joinReference else {
      return []
    }
    switch message.event {
    case "phx_reply" where message.reference == joinReference && state == .joining:
      let reply = message.payload
      guard reply["status"]?.stringValue == "ok" else {
        return refused(reply["response"]?["reason"]?.stringValue ?? "no reason", at: now)
      }
      state = .subscribing
      deadlines[.state] = now + Self.subscribeLimit
      return []
    case "system": return system(message.payload, at: now)
    case "postgres_changes": return RealtimeChange(message.payload).map { [.change($0)] } ?? []
    case "phx_close" where message.reference == nil || message.reference == joinReference, "phx_error":
      return refused(lastWord ?? "the channel ended", at: now)
    default: return []
    }
  }

  private mutating func system(_ payload: JSONObject, at now: Duration) -> [Action] {
    let text = payload["message"]?.stringValue ?? ""
    switch (payload["extension"]?.stringValue, payload["status"]?.stringValue) {
    case ("postgres_changes", "ok"):
      guard state == .subscribing || state == .live else { return [] }
      state = .live
      failures = 0
      deadlines[.state] = nil
      deadlines[.secondPull] = now + Self.secondPullAfter
      return [.pull]
    case ("postgres_changes", _): return wait(.notSubscribed(reason: text), .person, at: now)
    case (_, "error"):
      lastWord = text
      return []
    default: return []
    }
  }

  private mutating func refused(_ reason: String, at now: Duration) -> [Action] {
    let remedy = RealtimeFailure.remedy(for: reason)
    if remedy == .newToken { tokenToReplace = token }
    return wait(.refused(reason: reason), remedy, at: now)
  }
}
