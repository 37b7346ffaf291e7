import Hashing

/// The HTTP exchange by which a connection becomes a WebSocket's (RFC 6455, section 4).
public enum WebSocketHandshake {
  /// The one version that there is.
  public static let version = "13"

  /// What the server answers to a client's key, to show that it knows the protocol.
  public static func accept(for key: String) -> String {
    Crypto.base64(Crypto.sha1(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
  }

  /// A client's key from 16 random bytes.
  public static func key(_ randomBytes: [UInt8]) -> String { Crypto.base64(randomBytes) }

  /// Whether a request with these fields asks for a WebSocket, and the value of `Sec-WebSocket-Accept` to answer with.
  ///
  /// - Parameter field: Gives the value of a header field, whatever the case of its name.
  public static func accept(field: (String) -> String?) -> String? {
    guard holds(field("Upgrade"), "websocket"), holds(field("Connection"), "upgrade"),
      field("Sec-WebSocket-Version") == version, let key = field("Sec-WebSocket-Key"), key.utf8.count == 24
    else { return nil }
    return accept(for: key)
  }

  /// Whether a list such as `keep-alive, Upgrade` holds a word, in any case.
  static func holds(_ list: String?, _ word: String) -> Bool {
    (list ?? "").split(separator: ",").contains { item in
      item.lowercased().filter { $0 != " " && $0 != "\t" } == word
    }
  }
}

/// A client's side of the handshake: the request's bytes, and what the answer's bytes come to.
public struct WebSocketClientHandshake: Sendable {
  /// What came of it.
  public enum Outcome: Sendable, Hashable {
    /// The answer is not whole yet.
    case unfinished
    /// It is a WebSocket; these bytes behind the answer's head are its first.
    case opened(rest: [UInt8])
    /// The server answered something else.
    ///
    /// The body is what came with the head, at most a few kilobytes, not necessarily whole.
    case refused(status: Int, body: [UInt8])
    /// What came is no answer of a WebSocket server.
    case broken(reason: String)
  }

  /// The request.
  public let request: [UInt8]
  private let accept: String
  private var arrived: [UInt8] = []

  /// No honest answer has a longer head.
  private static let headBytesMax = 64 << 10

  /// A request for a WebSocket.
  ///
  /// - Parameters:
  ///   - host: The value of `Host`: the name, and the port where the URL has one.
  ///   - target: Path and query, percent-encoded, at least `/`.
  ///   - fields: Further header fields, without line breaks.
  ///   - randomBytes: 16 of them, new for each connection.
  public init(host: String, target: String, fields: [(name: String, value: String)] = [], randomBytes: [UInt8]) {
    let key = WebSocketHandshake.key(randomBytes)
    accept = WebSocketHandshake.accept(for: key)
    let own: [(name: String, value: String)] = [
      ("Host", host), ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Key", key),
      ("Sec-WebSocket-Version", WebSocketHandshake.version),
    ]
    let lines = (own + fields).map { "\($0.name): \($0.value)\r\n" }
    request = Array("GET \(target) HTTP/1.1\r\n\(lines.joined())\r\n".utf8)
  }

  /// Takes bytes of the answer.
  public mutating func receive(_ bytes: [UInt8]) -> Outcome {
    // The blank line may lie across two pieces.
    let from = max(0, arrived.count - 3)
    arrived += bytes
    guard let end = Self.headEnd(in: arrived, from: from) else {
      return arrived.count > Self.headBytesMax ? .broken(reason: "its header is too long") : .unfinished
    }
    let rest = Array(arrived[end...])
    let lines = String(decoding: arrived[..<end], as: UTF8.self).split(separator: "\r\n")
    guard let first = lines.first, first.hasPrefix("HTTP/1."), let status = Int(first.dropFirst(9).prefix(3)) else {
      return .broken(reason: "the answer is not HTTP")
    }
    guard status == 101 else { return .refused(status: status, body: rest) }
    let fields = lines.dropFirst().map { line in
      let name = line.prefix { $0 != ":" }
      let value = line.dropFirst(name.count + 1).drop { $0 == " " || $0 == "\t" }
      return (name: name.lowercased(), value: String(value.reversed().drop { $0 == " " || $0 == "\t" }.reversed()))
    }
    func value(_ name: String) -> String? { fields.first { $0.name == name }?.value }
    guard WebSocketHandshake.holds(value("upgrade"), "websocket"),
      WebSocketHandshake.holds(value("connection"), "upgrade"), value("sec-websocket-accept") == accept
    else { return .broken(reason: "the answer to the handshake is not a WebSocket server's") }
    guard value("sec-websocket-extensions") == nil, value("sec-websocket-protocol") == nil else {
      return .broken(reason: "the server uses an extension that was not asked for")
    }
    return .opened(rest: rest)
  }

  private static func headEnd(in bytes: [UInt8], from: Int) -> Int? {
    let blank: [UInt8] = [13, 10, 13, 10]
    guard bytes.count >= from + blank.count else { return nil }
    return (from...bytes.count - blank.count).first { bytes[$0..<$0 + 4].elementsEqual(blank) }.map { $0 + 4 }
  }
}
