import LosslessJSON

/// One message of Phoenix channels (protocol sheet realtime, section 2).
///
/// Read in both forms, an object and an array; written as an object, which servers of every age take.
public struct RealtimeMessage: Sendable, Hashable {
  /// The `ref` of the join that a message belongs to; servers leave it out of the object form.
  public var joinReference: String?
  /// What a reply repeats.
  public var reference: String?
  /// The channel: `realtime:NAME`, or `phoenix`.
  public var topic: String
  /// What it says.
  public var event: String
  /// The details.
  public var payload: JSONObject

  /// The `vsn` of the connection for the form in which messages are written.
  static let version = "1.0.0"

  /// Makes a message.
  public init(
    topic: String, event: String, reference: String? = nil, joinReference: String? = nil, payload: JSONObject = [:]
  ) {
    self.topic = topic
    self.event = event
    self.reference = reference
    self.joinReference = joinReference
    self.payload = payload
  }

  /// Reads a text of either form; `nil` for anything else.
  public init?(parsing text: String) {
    guard let value = try? JSONValue(parsing: text) else { return nil }
    let parts: [JSONValue?]
    if let array = value.arrayValue {
      guard array.count == 5 else { return nil }
      parts = array
    } else {
      parts = ["join_ref", "ref", "topic", "event", "payload"].map { value[$0] }
    }
    guard let topic = parts[2]?.stringValue, let event = parts[3]?.stringValue else { return nil }
    joinReference = parts[0].flatMap(Self.reference)
    reference = parts[1].flatMap(Self.reference)
    self.topic = topic
    self.event = event
    payload = parts[4]?.objectValue ?? [:]
  }

  private static func reference(_ value: JSONValue) -> String? {
    value.stringValue ?? value.numberValue.map(\.text)
  }

  /// The text to send.
  public var text: String {
    func reference(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }
    let json: JSONValue = [
      "topic": .string(topic), "event": .string(event), "payload": .object(payload),
      "ref": reference(self.reference), "join_ref": reference(joinReference),
    ]
    return json.serialized()
  }
}

extension RealtimeMessage: CustomStringConvertible, CustomReflectable {
  /// Topic and event, without the payload: that holds tokens and rows.
  public var description: String { "\(event) on \(topic)" }
  /// Shows what the description shows.
  public var customMirror: Mirror { Mirror(self, children: ["message": description]) }
}
