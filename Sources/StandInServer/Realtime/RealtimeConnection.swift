import LosslessJSON

/// The state of one client's connection: what it says and what is committed go in, what it is told comes out.
///
/// No socket, lock or clock is in it; `nextDue` says when `tick` has something to do.
struct RealtimeConnection {
  /// What is to be done, in order.
  enum Action {
    case send(RealtimeFrame)
    case close(reason: String)
    /// A message to everybody on the topic, to this connection only where it asked for that.
    case broadcast(topic: String, payload: JSONValue, includesSelf: Bool)
    /// Who is on the topic, to this connection.
    case tellPresence(topic: String)
    /// Who came to the topic and who left it, to everybody on it.
    case presence(topic: String, joins: JSONObject, leaves: JSONObject)
  }

  let form: RealtimeFrame.Form
  private let role: Role
  private let rules: RealtimeRules
  private(set) var channels: [String: RealtimeChannel] = [:]
  private var heardAt: Int64
  private var emptySince: Int64?

  init(_ form: RealtimeFrame.Form, role: Role, rules: RealtimeRules, now: Int64) {
    self.form = form
    self.role = role
    self.rules = rules
    heardAt = now
    emptySince = now
  }

  // MARK: What the client says

  /// Takes one text of the client's.
  mutating func receive(_ text: String, now: Int64) -> [Action] {
    heardAt = now
    guard let request = RealtimeRequest(text, form) else { return [] }
    defer { emptySince = channels.isEmpty ? emptySince ?? now : nil }
    switch request.event {
    case "heartbeat" where request.topic == "phoenix": return [reply(request, [:])]
    case "phx_join": return join(request, now: now)
    case "phx_leave": return leave(request)
    default: break
    }
    guard var channel = channels[request.topic] else {
      return [reply(request, ["reason": "unmatched topic"], isFault: true)]
    }
    defer { if channels[request.topic] != nil { channels[request.topic] = channel } }
    switch request.event {
    case "access_token": return take(request.payload["access_token"]?.stringValue, on: &channel, now: now)
    case "broadcast":
      let told = Action.broadcast(
        topic: channel.topic, payload: request.payload, includesSelf: channel.hearsItself)
      return channel.acknowledges ? [told, reply(request, [:])] : [told]
    case "presence": return presence(request, of: &channel)
    default: return []
    }
  }

  private mutating func join(_ request: RealtimeRequest, now: Int64) -> [Action] {
    func refused(_ code: String, _ message: String) -> [Action] {
      [reply(request, ["reason": .string("\(code): \(message)")], isFault: true)]
    }
    let name = request.topic.dropFirst(RealtimeChannel.prefix.count)
    guard request.topic.hasPrefix(RealtimeChannel.prefix), !name.isEmpty else {
      return refused("TopicNameRequired", "You must provide a topic name")
    }
    // A second join of a topic takes the place of the first.
    let before = end(request.topic).map { [Action.send($0.close)] + departure(of: $0) } ?? []
    guard channels.count < RealtimeRules.channelCountMax else {
      return before + refused("ChannelRateLimitReached", "Too many channels")
    }
    let grant: RealtimeRules.Grant
    do throws(RealtimeRules.Refusal) {
      let payload = request.payload
      grant = try rules.grant(
        payload["access_token"]?.stringValue ?? payload["user_token"]?.stringValue, keyRole: role, now: now)
    } catch {
      return before + refused(error.code, error.message)
    }
    // A private channel asks the policies of a table of messages, which the stand-in has none of: nobody may read.
    if RealtimeChannel.flag(request.payload["config"]?["private"]), !grant.caller.bypassesPolicies {
      return before
        + refused("Unauthorized", "You do not have permissions to read from this Channel topic: \(name)")
    }
    let channel = RealtimeChannel(request, grant: grant, rules: rules, now: now)
    channels[channel.topic] = channel
    return before + [reply(request, channel.reply)]
      + (channel.presenceKey == nil ? [] : [.tellPresence(topic: channel.topic)])
  }

  private mutating func leave(_ request: RealtimeRequest) -> [Action] {
    guard let channel = end(request.topic) else { return [reply(request, [:])] }
    return [reply(request, [:]), .send(channel.close)] + departure(of: channel)
  }

  private mutating func end(_ topic: String) -> RealtimeChannel? { channels.removeValue(forKey: topic) }

  private mutating func take(_ token: String?, on channel: inout RealtimeChannel, now: Int64) -> [Action] {
    guard let token, !token.hasPrefix("sb_"), token != channel.grant.token else { return [] }
    do throws(RealtimeRules.Refusal) {
      channel.grant = try rules.grant(token, keyRole: role, now: now)
    } catch {
      return close(channel, because: error.message)
    }
    if !channel.bindings.isEmpty { channel.readyAt = now + rules.subscribeMicroseconds }
    return []
  }

  /// Ends one channel with its reason; the connection and the other channels go on.
  private mutating func close(_ channel: RealtimeChannel, because reason: String) -> [Action] {
    _ = end(channel.topic)
    return [.send(channel.system("system", isFault: true, reason)), .send(channel.close)] + departure(of: channel)
  }

  private func reply(_ request: RealtimeRequest, _ response: JSONObject, isFault: Bool = false) -> Action {
    .send(
      RealtimeFrame(
        request.topic, "phx_reply", reference: request.reference, joinReference: request.joinReference,
        ["status": isFault ? "error" : "ok", "response": .object(response)]))
  }

  // MARK: Presence

  private func presence(_ request: RealtimeRequest, of channel: inout RealtimeChannel) -> [Action] {
    guard let key = channel.presenceKey else { return [reply(request, [:])] }
    let before = channel.presence
    if request.payload["event"]?.stringValue == "track" {
      var presence: JSONObject = ["phx_ref": .string(UUIDText.random(rules.randomBytes))]
      for (name, value) in request.payload["payload"]?.objectValue?.members ?? [] { presence[name] = value }
      channel.presence = presence
    } else {
      channel.presence = nil
    }
    return [
      reply(request, [:]),
      .presence(
        topic: channel.topic, joins: Self.present(channel.presence, as: key), leaves: Self.present(before, as: key)),
    ]
  }

  private func departure(of channel: RealtimeChannel) -> [Action] {
    guard let key = channel.presenceKey, let presence = channel.presence else { return [] }
    return [.presence(topic: channel.topic, joins: [:], leaves: Self.present(presence, as: key))]
  }

  /// What is told of somebody.
  static func present(_ presence: JSONObject?, as key: String) -> JSONObject {
    presence.map { JSONObject([(key, ["metas": [.object($0)]])]) } ?? [:]
  }

  /// What the others are told once the connection is gone.
  func departures() -> [Action] { channels.values.flatMap(departure) }

  // MARK: What the server says by itself

  /// The frames for what one transaction changed.
  func commit(_ changes: [RowChange]) -> [Action] {
    var told: [Action] = []
    for change in changes {
      for topic in channels.keys.sorted() {
        if let frame = channels[topic]?.frame(for: change) { told.append(.send(frame)) }
      }
    }
    return told
  }

  /// When `tick` has something to do, in microseconds of the Unix epoch.
  var nextDue: Int64 {
    var due = heardAt + RealtimeRules.silenceMicroseconds
    if let emptySince { due = min(due, emptySince + RealtimeRules.emptyMicroseconds) }
    for channel in channels.values {
      if let time = channel.readyAt { due = min(due, time) }
      if let time = channel.grant.expiresAt { due = min(due, time) }
    }
    return due
  }

  /// Does what is due: subscriptions get ready, tokens expire, silent clients are cut off.
  mutating func tick(now: Int64) -> [Action] {
    var told: [Action] = []
    for topic in channels.keys.sorted() {
      guard var channel = channels[topic] else { continue }
      if let expiry = channel.grant.expiresAt, now >= expiry {
        told += close(channel, because: RealtimeRules.expired(since: expiry, now: now).message)
        emptySince = channels.isEmpty ? now : nil
        continue
      }
      guard let ready = channel.readyAt, now >= ready else { continue }
      channel.readyAt = nil
      if let fault = channel.bindings.lazy.compactMap(\.fault).first {
        channel.isLive = false
        told.append(.send(channel.system("postgres_changes", isFault: true, fault)))
      } else {
        channel.isLive = true
        told.append(.send(channel.system("postgres_changes", isFault: false, "Subscribed to PostgreSQL")))
      }
      channels[topic] = channel
    }
    // Last: where the clock was set forward, a client hears first which channels that ended.
    let isSilent = now >= heardAt + RealtimeRules.silenceMicroseconds
    let isEmpty = emptySince.map { now >= $0 + RealtimeRules.emptyMicroseconds } ?? false
    if isSilent || isEmpty { told.append(.close(reason: "")) }
    return told
  }
}
