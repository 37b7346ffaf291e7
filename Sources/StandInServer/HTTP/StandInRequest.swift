/// One HTTP request, as it came: nothing decoded but the split at the question mark.
public struct StandInRequest: Sendable {
  /// The method as sent.
  public var method: String
  /// The path with its percent signs.
  public var path: String
  /// What follows the question mark, without it; empty when there is none.
  public var query: String
  /// The fields in order.
  public var fields: [(name: String, value: String)]
  /// The body; empty when there is none.
  public var body: [UInt8]
  /// What took the body in the place of `body`; one thread has it at a time.
  nonisolated(unsafe) var receiver: (any BodyReceiver)?

  /// Splits a request target such as `/rest/v1/tasks?id=eq.1`.
  public init(method: String, target: String, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.method = method
    self.fields = fields
    self.body = body
    let mark = target.utf8.firstIndex(of: UInt8(ascii: "?"))
    path = String(mark.map { target[..<$0] } ?? target[...])
    query = mark.map { String(target[target.utf8.index(after: $0)...]) } ?? ""
  }

  /// The first field of that name, whatever its case.
  public func field(_ name: String) -> String? { fields.first { isSameFieldName($0.name, name) }?.value }

  /// The size of the request line and the fields as they were sent.
  var headBytes: Int {
    let line = method.utf8.count + path.utf8.count + query.utf8.count + (query.isEmpty ? 0 : 1) + 12
    return fields.reduce(line + 2) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
  }

  /// All fields of that name in order.
  func allFields(_ name: String) -> [String] { fields.filter { isSameFieldName($0.name, name) }.map(\.value) }
}

/// One HTTP answer.
public struct StandInAnswer: Sendable {
  /// How much of the answer leaves the server.
  public enum Delivery: Sendable, Hashable {
    /// All of it.
    case whole
    /// Nothing: the connection is closed.
    case dropped
    /// The head, and the first half of the body it promises.
    case truncated
  }

  /// The status code.
  public var status: Int
  /// The fields in order, without `Content-Length`.
  public var fields: [(name: String, value: String)]
  /// The body.
  public var body: [UInt8]
  /// A body that is read from a file while it is sent, in the place of `body`.
  public var file: AnswerFile?
  /// What the connection goes on as once a head of status 101 has left.
  var opening: RealtimeOpening?
  /// What leaves the server.
  public var delivery: Delivery = .whole
  /// How long the answer is held back, in milliseconds.
  public var delayMilliseconds = 0

  /// An answer that is given whole and at once.
  public init(status: Int, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// The first field of that name, whatever its case.
  public func field(_ name: String) -> String? { fields.first { isSameFieldName($0.name, name) }?.value }
}

/// Whether two field names are the same but for ASCII case.
func isSameFieldName(_ left: String, _ right: String) -> Bool {
  left.utf8.count == right.utf8.count && zip(left.utf8, right.utf8).allSatisfy { lowerCased($0) == lowerCased($1) }
}

private func lowerCased(_ byte: UInt8) -> UInt8 {
  byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte + 32 : byte
}
