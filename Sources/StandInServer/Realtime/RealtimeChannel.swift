import LosslessJSON

/// What one join asked for, as the server keeps it.
struct RealtimeChannel {
  let topic: String
  /// The `ref` of the join: it names this subscription and no earlier one of the same topic.
  let joinReference: String?
  let bindings: [RealtimeBinding]
  /// Whether the client hears what it broadcasts itself.
  let hearsItself: Bool
  /// Whether each broadcast is answered.
  let acknowledges: Bool
  /// Under which name the client is present; `nil` where it does not ask who else is.
  let presenceKey: String?
  var grant: RealtimeRules.Grant
  /// Whether changes are told.
  var isLive = false
  /// When the subscription is (again) ready; `nil` when nothing is under way.
  var readyAt: Int64?
  /// What the client said of itself.
  var presence: JSONObject?

  /// The part of the topic that the client chose.
  var name: String { String(topic.dropFirst(Self.prefix.count)) }

  static let prefix = "realtime:"

  init(_ request: RealtimeRequest, grant: RealtimeRules.Grant, rules: RealtimeRules, now: Int64) {
    topic = request.topic
    joinReference = request.joinReference ?? request.reference
    self.grant = grant
    let config = request.payload["config"]
    let entries = config?["postgres_changes"]?.arrayValue ?? []
    bindings = entries.compactMap(\.objectValue).map {
      RealtimeBinding($0, schema: rules.schema, now: Timestamp(microseconds: now))
    }
    hearsItself = Self.flag(config?["broadcast"]?["self"])
    acknowledges = Self.flag(config?["broadcast"]?["ack"])
    let presence = config?["presence"]
    let key = presence?["key"]?.stringValue ?? ""
    presenceKey =
      Self.flag(presence?["enabled"]) || !key.isEmpty ? key.isEmpty ? UUIDText.random(rules.randomBytes) : key : nil
    if !bindings.isEmpty { readyAt = now + rules.subscribeMicroseconds }
  }

  /// Some clients write their flags as texts.
  static func flag(_ value: JSONValue?) -> Bool { value?.boolValue ?? (value?.stringValue == "true") }

  /// The answer to the join.
  var reply: JSONObject { ["postgres_changes": .array(bindings.map(\.reply))] }

  /// The frame for a change; `nil` where no entry wants it or the policy hides it.
  func frame(for change: RowChange) -> RealtimeFrame? {
    let wanted = bindings.filter { $0.matches(change) }
    guard isLive, change.table.isPublished, !wanted.isEmpty else { return nil }
    // One frame a channel: where one entry asks for all columns, all are told.
    let selections = wanted.compactMap(\.select)
    let select = selections.count == wanted.count ? selections.reduce(Set()) { $0.union($1) } : nil
    guard let data = RealtimeEvent(change: change).data(for: grant.caller, select: select) else { return nil }
    var payload = Array(#"{"ids":[\#(Set(wanted.map(\.id)).sorted().map(String.init).joined(separator: ","))],"#.utf8)
    payload.append(contentsOf: #""data":"#.utf8)
    payload += data
    payload.append(UInt8(ascii: "}"))
    return RealtimeFrame(topic, "postgres_changes", joinReference: joinReference, payload: payload)
  }

  /// A word of the server on the channel.
  func system(_ `extension`: String, isFault: Bool, _ message: String) -> RealtimeFrame {
    RealtimeFrame(
      topic, "system", joinReference: joinReference,
      [
        "extension": .string(`extension`), "status": isFault ? "error" : "ok", "message": .string(message),
        "channel": .string(name),
      ])
  }

  var close: RealtimeFrame {
    RealtimeFrame(topic, "phx_close", reference: joinReference, joinReference: joinReference, [:])
  }
}
