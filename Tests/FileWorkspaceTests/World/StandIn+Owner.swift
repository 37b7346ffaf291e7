import LosslessJSON
import StandInServer

extension StandIn {
  /// What somebody does with the server's own tools.
  @discardableResult
  func asOwner(_ method: String, _ target: String, _ body: JSONValue? = nil) -> JSONValue {
    (try? JSONValue(parsing: answerOwner(method, target, body).body)) ?? .null
  }

  /// The whole answer to what somebody does with the server's own tools.
  func answerOwner(_ method: String, _ target: String, _ body: JSONValue?) -> StandInAnswer {
    answer(
      StandInRequest(
        method: method, target: target,
        fields: [
          ("Host", "127.0.0.1"), ("apikey", serviceKey), ("Authorization", "Bearer \(serviceKey)"),
          ("Content-Type", "application/json"), ("Prefer", "return=representation"),
        ], body: body.map { Array($0.serialized().utf8) } ?? []))
  }
}
