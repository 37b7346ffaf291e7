import Testing

@testable import WebSocket

@Suite("An end of a WebSocket") struct WebSocketEndTests {
  private static func client(messageBytesMax: Int = 1 << 20) -> WebSocketEnd {
    WebSocketEnd(.client { Array(repeating: 0x5A, count: $0) }, messageBytesMax: messageBytesMax)
  }

  private static func server(messageBytesMax: Int = 1 << 20) -> WebSocketEnd {
    WebSocketEnd(.server, messageBytesMax: messageBytesMax)
  }

  @Test(
    "takes what the other end sent, whatever its length",
    arguments: [0, 1, 125, 126, 65_535, 65_536, 300_000])
  func lengths(count: Int) {
    let text = String(repeating: "x", count: count)
    let (client, server) = (Self.client(), Self.server())
    client.send(.text(text))
    #expect(server.receive(client.output()) == [.text(text)])
    server.send(.binary(Array(text.utf8)))
    #expect(client.receive(server.output()) == [.binary(Array(text.utf8))])
  }

  @Test("takes a message byte by byte, and two at once")
  func pieces() {
    let (client, server) = (Self.client(), Self.server())
    client.send(.text("a ✓"))
    client.send(.text("b"))
    let bytes = client.output()
    #expect(bytes.flatMap { server.receive([$0]) } == [.text("a ✓"), .text("b")])
    client.send(.text("c"))
    client.send(.text("d"))
    #expect(server.receive(client.output()) == [.text("c"), .text("d")])
  }

  @Test("masks what a client sends, and nothing of a server's")
  func masks() {
    let (client, server) = (Self.client(), Self.server())
    client.send(.text("abc"))
    #expect(client.output() == [0x81, 0x83, 0x5A, 0x5A, 0x5A, 0x5A] + "abc".utf8.map { $0 ^ 0x5A })
    server.send(.text("abc"))
    #expect(server.output() == [0x81, 3] + Array("abc".utf8))
  }

  @Test("answers a ping by itself")
  func ping() {
    let (client, server) = (Self.client(), Self.server())
    client.send(.ping([1, 2]))
    #expect(server.receive(client.output()) == [.ping([1, 2])])
    #expect(client.receive(server.output()) == [.pong([1, 2])])
  }

  @Test("sends what was said before a close first")
  func lastWords() {
    let (client, server) = (Self.client(), Self.server())
    server.send(.text("a"))
    server.send(.text("b"))
    server.send(.close(.normal, reason: ""))
    #expect(client.receive(server.output()) == [.text("a"), .text("b"), .close(.normal, reason: "")])
  }

  @Test("answers a close, after which both ends are over")
  func close() {
    let (client, server) = (Self.client(), Self.server())
    client.send(.text("in time"))
    client.send(.close(.normal, reason: "done"))
    client.send(.text("too late"))
    #expect(server.receive(client.output()) == [.text("in time"), .close(.normal, reason: "done")])
    #expect(!client.isOver)
    #expect(client.receive(server.output()) == [.close(.normal, reason: "done")])
    #expect(client.isOver && server.isOver)
    #expect(client.output().isEmpty)
  }

  /// What breaks the protocol, with the code that the standard has for it.
  static let breaches: [(name: String, bytes: [UInt8], code: UInt16)] = [
    ("an unmasked frame of a client", [0x81, 1, 0x61], 1002),
    ("a text that is not UTF-8", [0x81, 0x81, 0, 0, 0, 0, 0xFF], 1007),
    ("a message over the limit", [0x82, 0xFE, 0x10, 0, 0, 0, 0, 0, 0x61], 1009),
    ("a reserved bit", [0xC1, 0x81, 0, 0, 0, 0, 0x61], 1002),
    ("an unknown opcode", [0x83, 0x81, 0, 0, 0, 0, 0x61], 1002),
  ]

  @Test("ends the connection where the other end breaks the protocol", arguments: breaches)
  func breach(_ breach: (name: String, bytes: [UInt8], code: UInt16)) {
    let server = Self.server(messageBytesMax: 1_000)
    #expect(server.receive(breach.bytes).isEmpty)
    let answer = server.output()
    #expect(answer.first == 0x88)
    #expect(answer.count >= 4 && UInt16(answer[2]) << 8 | UInt16(answer[3]) == breach.code)
    #expect(server.receive([0x81, 0x81, 0, 0, 0, 0, 0x61]).isEmpty)
    #expect(server.isOver)
  }
}

@Suite("The handshake of WebSocket") struct WebSocketHandshakeTests {
  /// The key and answer of the example in RFC 6455, section 1.3.
  private static let nonce = Array("the sample nonce".utf8)
  private static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

  private static func handshake() -> WebSocketClientHandshake {
    WebSocketClientHandshake(host: "example.com", target: "/chat?a=b", fields: [("Origin", "x")], randomBytes: nonce)
  }

  private static func answer(_ fields: String) -> [UInt8] { Array("HTTP/1.1 101 Switching\r\n\(fields)\r\n\r\n".utf8) }

  @Test("answers a key as the standard's example does")
  func example() {
    #expect(WebSocketHandshake.key(Self.nonce) == "dGhlIHNhbXBsZSBub25jZQ==")
    #expect(WebSocketHandshake.accept(for: "dGhlIHNhbXBsZSBub25jZQ==") == Self.accept)
  }

  @Test("sends a whole request")
  func request() {
    #expect(
      String(decoding: Self.handshake().request, as: UTF8.self) == """
        GET /chat?a=b HTTP/1.1\r
        Host: example.com\r
        Upgrade: websocket\r
        Connection: Upgrade\r
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
        Sec-WebSocket-Version: 13\r
        Origin: x\r
        \r\n
        """)
  }

  @Test("opens with the first bytes behind the answer, however it is cut")
  func opens() {
    let answer = Self.answer(
      "upgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\nSEC-WebSocket-Accept:  \(Self.accept) ")
    for cut in 0...answer.count {
      var handshake = Self.handshake()
      let first = handshake.receive(Array(answer[..<cut]))
      #expect(first == (cut == answer.count ? .opened(rest: []) : .unfinished))
      if first == .unfinished { #expect(handshake.receive(Array(answer[cut...]) + [1, 2]) == .opened(rest: [1, 2])) }
    }
  }

  @Test("tells a refusal with its status and body")
  func refusal() {
    var handshake = Self.handshake()
    let answer = Array("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}".utf8)
    #expect(handshake.receive(answer) == .refused(status: 401, body: Array("{}".utf8)))
  }

  @Test(
    "takes no other answer for a WebSocket server's",
    arguments: [
      "Upgrade: websocket\r\nConnection: Upgrade",
      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x",
      "Upgrade: h2c\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: \(accept)",
      "Upgrade: websocket\r\nSec-WebSocket-Accept: \(accept)",
      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: \(accept)\r\nSec-WebSocket-Extensions: deflate",
    ])
  func others(fields: String) {
    var handshake = Self.handshake()
    guard case .broken = handshake.receive(Self.answer(fields)) else {
      Issue.record("taken for a WebSocket server's")
      return
    }
  }

  @Test("reads no head without an end")
  func endless() {
    var handshake = Self.handshake()
    guard case .broken = handshake.receive(Array(repeating: 0x61, count: 70_000)) else {
      Issue.record("read on")
      return
    }
  }

  @Test("knows a request for a WebSocket by its fields")
  func server() {
    var fields = [
      "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    ]
    #expect(WebSocketHandshake.accept { fields[$0] } == Self.accept)
    for name in fields.keys {
      let value = fields.removeValue(forKey: name)
      #expect(WebSocketHandshake.accept { fields[$0] } == nil)
      fields[name] = value
    }
  }
}
