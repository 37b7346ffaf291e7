import LosslessJSON

extension StandInFault {
  /// What is wrong with the description of a fault.
  public struct Mistake: Error, Equatable, CustomStringConvertible {
    /// What was found, and what is possible.
    public let description: String
  }

  /// Reads `{"kind": "unavailable", "retryAfter": 2, "times": 3, "skipping": 0, "method": "PATCH", "path": "/rest"}`.
  ///
  /// - Parameters:
  ///   - value: The object; see `catalogue` for its members.
  ///   - times: How often it happens when the object does not say it; null there is "until taken away".
  init(json value: JSONValue, times: Int? = 1) throws(Mistake) {
    let members = try FaultMembers(value)
    kind = try Kind(members)
    let isWhole = if case .clockSkew = kind { true } else { false }
    self.times = isWhole ? nil : try members.times ?? times
    skipping = isWhole ? 0 : try members.integer("skipping", in: 0...1_000_000) ?? 0
    method = isWhole ? nil : try members.text("method")
    path = isWhole ? nil : try members.text("path")
    probability = isWhole ? 1 : try members.fraction("probability") ?? 1
    lasts = try members.integer("lasts", in: 0...Self.millisecondsMax)
    try members.checkAllRead()
  }

  /// The fault as `init(json:)` reads it.
  var json: JSONValue {
    var object = JSONObject(kind.members)
    if case .clockSkew = kind {
    } else {
      object["times"] = times.map { .number(JSONNumber(Int64($0))) } ?? .null
      object["skipping"] = .number(JSONNumber(Int64(skipping)))
    }
    object["method"] = method.map(JSONValue.string)
    object["path"] = path.map(JSONValue.string)
    if probability < 1 { object["probability"] = JSONNumber(probability).map(JSONValue.number) }
    object["lasts"] = lasts.map { .number(JSONNumber(Int64($0))) }
    return .object(object)
  }

  /// A day: what is held back or lasts longer is a mistake.
  fileprivate static let millisecondsMax = 86_400_000

  /// The kinds by their names, with their own members and what happens.
  public static let catalogue: [(name: String, members: String, summary: String)] = [
    ("latency", "milliseconds=100 jitter=0", "the answer is held back, by up to `jitter` more"),
    ("dropBefore", "", "the connection is closed, nothing was done"),
    ("dropAfter", "", "the request is carried out, then the connection is closed"),
    ("truncate", "", "the request is carried out, half of the answer's body arrives"),
    ("unavailable", "retryAfter", "503, with `Retry-After` where it is given"),
    ("rateLimit", "retryAfter", "429, with `Retry-After` where it is given"),
    ("schemaCache", "code=PGRST205", "PGRST002 while the cache loads, PGRST204 or PGRST205 while it is old"),
    ("expiredToken", "", "what an expired access token gets: 401 from tables, 403 from Auth"),
    ("proxy520", "", "520 with a page, as a proxy in front answers"),
    ("loginPage", "", "200 with a page, as a hotel's network answers"),
    ("answer", "status=500 contentType=text/html headers body", "any other answer, in place of the server's own"),
    ("slowUpload", "bytesPerSecond=1000", "the request's body is read so slowly"),
    ("clockSkew", "seconds", "the server's clock is ahead, or behind; for all requests alike"),
    ("realtimeSilence", "", "a message to a Realtime client is not sent, the connection stays"),
    ("realtimeDisconnect", "", "a Realtime connection is cut"),
  ]
}

extension StandInFault.Kind {
  fileprivate init(_ members: FaultMembers) throws(StandInFault.Mistake) {
    let name = try members.text("kind") ?? ""
    switch name {
    case "latency":
      let range = 0...StandInFault.millisecondsMax
      self = .latency(
        milliseconds: try members.integer("milliseconds", in: range) ?? 100,
        jitter: try members.integer("jitter", in: range) ?? 0)
    case "dropBefore": self = .dropBefore
    case "dropAfter": self = .dropAfter
    case "truncate": self = .truncate
    case "unavailable": self = .unavailable(retryAfter: try members.integer("retryAfter", in: 0...86_400))
    case "rateLimit": self = .rateLimit(retryAfter: try members.integer("retryAfter", in: 0...86_400))
    case "schemaCache":
      let code = try members.text("code") ?? "PGRST205"
      guard ["PGRST002", "PGRST204", "PGRST205"].contains(code) else {
        throw .init(description: "'code' is one of PGRST002, PGRST204, PGRST205")
      }
      self = .schemaCache(code: code)
    case "expiredToken": self = .expiredToken
    case "proxy520": self = .proxy520
    case "loginPage": self = .loginPage
    case "answer":
      self = .answer(
        status: try members.integer("status", in: 200...999) ?? 500,
        contentType: try members.text("contentType") ?? "text/html", headers: try members.texts("headers"),
        body: try members.text("body") ?? "")
    case "slowUpload":
      self = .slowUpload(bytesPerSecond: try members.integer("bytesPerSecond", in: 1...1 << 30) ?? 1_000)
    case "clockSkew":
      // Ten years: further a token's times would not be dates that anybody has.
      guard let seconds = try members.integer("seconds", in: -315_360_000...315_360_000) else {
        throw .init(description: "a clockSkew needs 'seconds'")
      }
      self = .clockSkew(seconds: seconds)
    case "realtimeSilence": self = .realtimeSilence
    case "realtimeDisconnect": self = .realtimeDisconnect
    default:
      let known = StandInFault.catalogue.map(\.name).joined(separator: ", ")
      throw .init(description: "unknown kind '\(name)'; the stand-in has \(known)")
    }
  }

  fileprivate var members: [(name: String, value: JSONValue)] {
    func number(_ value: Int) -> JSONValue { .number(JSONNumber(Int64(value))) }
    switch self {
    case .latency(let milliseconds, let jitter):
      return [("kind", "latency"), ("milliseconds", number(milliseconds)), ("jitter", number(jitter))]
    case .dropBefore: return [("kind", "dropBefore")]
    case .dropAfter: return [("kind", "dropAfter")]
    case .truncate: return [("kind", "truncate")]
    case .unavailable(let seconds):
      return [("kind", "unavailable")] + (seconds.map { [("retryAfter", number($0))] } ?? [])
    case .rateLimit(let seconds):
      return [("kind", "rateLimit")] + (seconds.map { [("retryAfter", number($0))] } ?? [])
    case .schemaCache(let code): return [("kind", "schemaCache"), ("code", .string(code))]
    case .expiredToken: return [("kind", "expiredToken")]
    case .answer(let status, let contentType, let headers, let body):
      let fields = headers.sorted { $0.key < $1.key }.map { (name: $0.key, value: JSONValue.string($0.value)) }
      return [
        ("kind", "answer"), ("status", number(status)), ("contentType", .string(contentType)),
        ("headers", .object(JSONObject(fields))), ("body", .string(body)),
      ]
    case .slowUpload(let speed): return [("kind", "slowUpload"), ("bytesPerSecond", number(speed))]
    case .clockSkew(let seconds): return [("kind", "clockSkew"), ("seconds", number(seconds))]
    case .realtimeSilence: return [("kind", "realtimeSilence")]
    case .realtimeDisconnect: return [("kind", "realtimeDisconnect")]
    }
  }
}

/// The members of a fault's object, each read once and with its type.
private final class FaultMembers {
  private let object: JSONObject
  private var read: Set<String> = []

  init(_ value: JSONValue) throws(StandInFault.Mistake) {
    guard let object = value.objectValue else { throw .init(description: "a fault is an object") }
    self.object = object
  }

  /// How often, where it is said: a number, or null for always.
  var times: Int?? {
    get throws(StandInFault.Mistake) {
      guard let value = member("times") else { return .none }
      return value.isNull ? .some(nil) : .some(try integer("times", in: 1...1_000_000))
    }
  }

  func integer(_ name: String, in range: ClosedRange<Int>) throws(StandInFault.Mistake) -> Int? {
    guard let value = member(name) else { return nil }
    guard let number = value.int64Value.map({ Int($0) }), range.contains(number) else {
      throw .init(description: "'\(name)' is a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  func fraction(_ name: String) throws(StandInFault.Mistake) -> Double? {
    guard let value = member(name) else { return nil }
    guard let number = value.numberValue?.double, (0...1).contains(number) else {
      throw .init(description: "'\(name)' is a number from 0 to 1")
    }
    return number
  }

  func text(_ name: String) throws(StandInFault.Mistake) -> String? {
    guard let value = member(name) else { return nil }
    guard let text = value.stringValue else { throw .init(description: "'\(name)' is a text") }
    return text
  }

  func texts(_ name: String) throws(StandInFault.Mistake) -> [String: String] {
    guard let value = member(name) else { return [:] }
    var texts: [String: String] = [:]
    for (name, value) in value.objectValue ?? [:] { texts[name] = value.stringValue }
    guard value.objectValue?.count == texts.count else { throw .init(description: "'\(name)' is an object of texts") }
    return texts
  }

  func checkAllRead() throws(StandInFault.Mistake) {
    for name in object.names where !read.contains(name) {
      throw .init(description: "'\(name)' means nothing here")
    }
  }

  private func member(_ name: String) -> JSONValue? {
    read.insert(name)
    return object[name]
  }
}
