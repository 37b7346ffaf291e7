import LosslessJSON

/// One message of Phoenix channels, which Realtime speaks (protocol sheet realtime, section 2).
struct RealtimeFrame: Sendable, Equatable {
  /// How a message is written: the `vsn` of the connection.
  enum Form: String, Sendable {
    /// An object of topic, event, payload and ref.
    case object = "1.0.0"
    /// An array of join_ref, ref, topic, event and payload.
    case array = "2.0.0"
  }

  /// The `ref` of the join that the message belongs to.
  var joinReference: String?
  /// What a reply repeats.
  var reference: String?
  var topic: String
  var event: String
  /// The payload as JSON text: a change is written once for all who hear of it.
  var payload: [UInt8]

  init(_ topic: String, _ event: String, reference: String? = nil, joinReference: String? = nil, payload: [UInt8]) {
    self.topic = topic
    self.event = event
    self.reference = reference
    self.joinReference = joinReference
    self.payload = payload
  }

  init(_ topic: String, _ event: String, reference: String? = nil, joinReference: String? = nil, _ payload: JSONObject)
  {
    self.init(
      topic, event, reference: reference, joinReference: joinReference,
      payload: JSONValue.object(payload).serializedBytes())
  }

  /// The text on the wire.
  func text(_ form: Form) -> String {
    var text: [UInt8] = []
    switch form {
    case .object:
      // Exactly these members: one client drops a push without a `ref`.
      text.append(contentsOf: #"{"topic":"#.utf8)
      JSONText.append(topic, to: &text)
      text.append(contentsOf: #","event":"#.utf8)
      JSONText.append(event, to: &text)
      text.append(contentsOf: #","ref":"#.utf8)
      Self.append(reference, to: &text)
      text.append(contentsOf: #","payload":"#.utf8)
      text += payload
      text.append(UInt8(ascii: "}"))
    case .array:
      text.append(UInt8(ascii: "["))
      Self.append(joinReference, to: &text)
      text.append(UInt8(ascii: ","))
      Self.append(reference, to: &text)
      text.append(UInt8(ascii: ","))
      JSONText.append(topic, to: &text)
      text.append(UInt8(ascii: ","))
      JSONText.append(event, to: &text)
      text.append(UInt8(ascii: ","))
      text += payload
      text.append(UInt8(ascii: "]"))
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func append(_ reference: String?, to text: inout [UInt8]) {
    if let reference { JSONText.append(reference, to: &text) } else { text.append(contentsOf: "null".utf8) }
  }
}

/// A message that a client sent.
struct RealtimeRequest {
  let joinReference: String?
  let reference: String?
  let topic: String
  let event: String
  let payload: JSONValue

  /// Reads a text of either form; `nil` for anything else.
  init?(_ text: String, _ form: RealtimeFrame.Form) {
    guard let value = try? JSONValue(parsing: text) else { return nil }
    let parts: [JSONValue?]
    switch form {
    case .object: parts = [value["join_ref"], value["ref"], value["topic"], value["event"], value["payload"]]
    case .array:
      guard let array = value.arrayValue, array.count == 5 else { return nil }
      parts = array
    }
    guard let topic = parts[2]?.stringValue, let event = parts[3]?.stringValue else { return nil }
    // A reference is the client's own word; some count in numbers.
    joinReference = parts[0].flatMap(ColumnType.plainText)
    reference = parts[1].flatMap(ColumnType.plainText)
    self.topic = topic
    self.event = event
    payload = parts[4] ?? .object([:])
  }
}
