import LosslessJSON

extension StandInFault {
  /// Reads `{"kind": "unavailable", "retryAfter": 2, "times": 3, "skipping": 0, "method": "PATCH", "path": "/rest"}`.
  ///
  /// `times` is 1 when absent, and null for "until taken away".
  init?(json value: JSONValue) {
    guard let kind = Kind(json: value) else { return nil }
    let times: Int? = if let given = value["times"] { given.int64Value.map { Int($0) } } else { 1 }
    self.init(
      kind, times: times, skipping: Int(value["skipping"]?.int64Value ?? 0), method: value["method"]?.stringValue,
      path: value["path"]?.stringValue)
  }

  /// The fault as `init(json:)` reads it.
  var json: JSONValue {
    var object = JSONObject(kind.members)
    object["times"] = times.map { .number(JSONNumber(Int64($0))) } ?? .null
    object["skipping"] = .number(JSONNumber(Int64(skipping)))
    object["method"] = method.map(JSONValue.string)
    object["path"] = path.map(JSONValue.string)
    return .object(object)
  }
}

extension StandInFault.Kind {
  fileprivate init?(json value: JSONValue) {
    func integer(_ name: String, _ absent: Int) -> Int { value[name]?.int64Value.map { Int($0) } ?? absent }
    switch value["kind"]?.stringValue {
    case "latency": self = .latency(milliseconds: integer("milliseconds", 100))
    case "dropBefore": self = .dropBefore
    case "dropAfter": self = .dropAfter
    case "truncate": self = .truncate
    case "unavailable": self = .unavailable(retryAfter: integer("retryAfter", 1))
    case "schemaCache": self = .schemaCache(code: value["code"]?.stringValue ?? "PGRST205")
    case "expiredToken": self = .expiredToken
    case "proxy520": self = .proxy520
    case "loginPage": self = .loginPage
    case "answer":
      self = .answer(
        status: integer("status", 500), contentType: value["contentType"]?.stringValue ?? "text/html",
        body: value["body"]?.stringValue ?? "")
    default: return nil
    }
  }

  fileprivate var members: [(name: String, value: JSONValue)] {
    switch self {
    case .latency(let milliseconds): [("kind", "latency"), ("milliseconds", .number(JSONNumber(Int64(milliseconds))))]
    case .dropBefore: [("kind", "dropBefore")]
    case .dropAfter: [("kind", "dropAfter")]
    case .truncate: [("kind", "truncate")]
    case .unavailable(let seconds): [("kind", "unavailable"), ("retryAfter", .number(JSONNumber(Int64(seconds))))]
    case .schemaCache(let code): [("kind", "schemaCache"), ("code", .string(code))]
    case .expiredToken: [("kind", "expiredToken")]
    case .answer(let status, let contentType, let body):
      [
        ("kind", "answer"), ("status", .number(JSONNumber(Int64(status)))), ("contentType", .string(contentType)),
        ("body", .string(body)),
      ]
    }
  }
}
