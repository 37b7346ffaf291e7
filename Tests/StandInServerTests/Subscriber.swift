import LosslessJSON

@testable import StandInServer

/// A client of Realtime without a socket.
final class Subscriber {
  private let heard = Mutexed<[RealtimeDelivery]>([])
  private let form: RealtimeFrame.Form
  let link: RealtimeLink
  private var references = 0

  init(_ standIn: StandIn, _ form: RealtimeFrame.Form = .object, role: Role = .anon) {
    let heard = heard
    self.form = form
    let request = StandInRequest(method: "GET", target: "/realtime/v1/websocket")
    link = standIn.realtime.open(form, role: role, request: request) { delivery in heard.change { $0.append(delivery) }
    }
  }

  /// Sends a message; gives its reference.
  @discardableResult
  func send(_ topic: String, _ event: String, _ payload: JSONObject = [:], joinReference: String? = nil) -> String {
    references += 1
    let reference = "\(references)"
    let join = joinReference.map(JSONValue.string) ?? (event == "phx_join" ? .string(reference) : .null)
    let frame: JSONValue =
      form == .object
      ? [
        "topic": .string(topic), "event": .string(event), "payload": .object(payload), "ref": .string(reference),
        "join_ref": join,
      ] : [join, .string(reference), .string(topic), .string(event), .object(payload)]
    link.receive(frame.serialized())
    return reference
  }

  /// What came since the last call: texts as JSON, the end as a string.
  func take() -> [JSONValue] {
    _ = link.tick()
    let deliveries = heard.value
    heard.change { $0 = [] }
    return deliveries.map { delivery in
      switch delivery {
      case .text(let text): (try? JSONValue(parsing: text)) ?? .string("no JSON: \(text)")
      case .close: "close"
      case .cut: "cut"
      }
    }
  }

  /// Joins with entries, and waits until changes flow.
  func join(_ entries: [JSONValue], topic: String = "realtime:x", token: String? = nil) -> [JSONValue] {
    var payload: JSONObject = ["config": ["postgres_changes": .array(entries)]]
    payload["access_token"] = token.map(JSONValue.string)
    send(topic, "phx_join", payload)
    return take()
  }

  /// The payloads of the changes since the last call.
  func changes() -> [JSONValue] {
    take().filter { $0.text("event") == "postgres_changes" }.compactMap { $0["payload"]?["data"] }
  }
}

extension Subscriber {
  /// An entry for all tables.
  static let everything: JSONValue = ["event": "*", "schema": "public"]

  /// An entry for one table.
  static func table(_ name: String, _ event: String = "*", filter: String? = nil) -> JSONValue {
    var entry: JSONObject = ["event": .string(event), "schema": "public", "table": .string(name)]
    entry["filter"] = filter.map(JSONValue.string)
    return .object(entry)
  }

  /// A signed token.
  static func token(
    sub: String = "11111111-1111-4111-8111-111111111111", exp: Int64 = 4_000_000_000, role: String = "authenticated"
  ) -> String {
    JSONWebToken.sign(
      ["role": .string(role), "sub": .string(sub), "exp": .integer(exp)], secret: TokenTests.secret)
  }
}
