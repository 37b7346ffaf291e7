import LosslessJSON
import WebSocket

/// The HTTP side of `/realtime/v1`: the handshake, and broadcasts without a connection.
struct RealtimeService: Sendable {
  let hub: RealtimeHub

  /// Answers one request; the path is what follows `/realtime/v1`.
  func answer(_ request: StandInRequest, path: String, keyRole: Role) -> StandInAnswer {
    switch (request.method, path) {
    case ("GET", "/websocket"): return upgrade(request, keyRole: keyRole)
    case ("POST", "/api/broadcast"): return broadcast(request)
    default: return Self.refusal(404, "not found")
    }
  }

  private func upgrade(_ request: StandInRequest, keyRole: Role) -> StandInAnswer {
    guard let accept = WebSocketHandshake.accept(field: request.field) else {
      return Self.refusal(426, "a WebSocket is expected here")
    }
    let version = QueryText.parameters(request.query).first { $0.name == "vsn" }?.value
    guard let form = RealtimeFrame.Form(rawValue: version ?? RealtimeFrame.Form.object.rawValue) else {
      return Self.refusal(400, "unknown version of the protocol")
    }
    let (hub, head) = (hub, request)
    var answer = StandInAnswer(
      status: 101, fields: [("Upgrade", "websocket"), ("Sec-WebSocket-Accept", accept)])
    answer.opening = RealtimeOpening { hub.open(form, role: keyRole, request: head, deliver: $0) }
    return answer
  }

  /// `{"messages": [{"topic", "event", "payload"}]}`.
  private func broadcast(_ request: StandInRequest) -> StandInAnswer {
    guard let messages = try? JSONValue(parsing: request.body)["messages"]?.arrayValue else {
      return Self.refusal(422, "expected an array of messages")
    }
    for message in messages {
      guard let topic = message["topic"]?.stringValue, let event = message["event"]?.stringValue else { continue }
      hub.broadcast(
        ["type": "broadcast", "event": .string(event), "payload": message["payload"] ?? .object([:])],
        topic: RealtimeChannel.prefix + topic)
    }
    return StandInAnswer(status: 202)
  }

  private static func refusal(_ status: Int, _ reason: String) -> StandInAnswer {
    .json(status, ["error": .string(reason)])
  }
}
