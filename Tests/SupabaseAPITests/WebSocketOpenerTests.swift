import SupabaseAPI
import Synchronization
import Testing
import WebSocket

/// What one connection told, to be waited for.
private struct Heard: Sendable {
  let events: AsyncStream<WebSocketEvent>
  let connection: any WebSocketConnection

  init(_ url: String, _ settings: CurlSettings = CurlSettings(), messageBytesMax: Int = 1_000) {
    let (events, continuation) = AsyncStream.makeStream(of: WebSocketEvent.self)
    self.events = events
    connection = CurlWebSocketOpener(settings).open(WebSocketRequest(url: url, messageBytesMax: messageBytesMax)) {
      continuation.yield($0)
      if case .closed = $0 { continuation.finish() }
    }
  }

  /// Everything until the end.
  var all: [WebSocketEvent] {
    get async {
      var all: [WebSocketEvent] = []
      for await event in events { all.append(event) }
      return all
    }
  }
}

@Suite("Live connections over libcurl") struct WebSocketOpenerTests {
  /// A server that opens WebSockets, sends some texts, and says back what it hears.
  private static func server(_ texts: [String], thenCloses: Bool = false) throws -> RawServer {
    try RawServer { connection in
      guard let request = connection.readRequest(), accept(request, connection) else { return }
      let end = WebSocketEnd(.server, messageBytesMax: 1 << 20)
      for text in texts { end.send(.text(text)) }
      if thenCloses { end.send(.close(.goingAway, reason: "")) }
      connection.write(end.output())
      while !end.isOver, let bytes = connection.readBytes() {
        for case .text(let text) in end.receive(bytes) { end.send(.text("heard \(text)")) }
        connection.write(end.output())
      }
    }
  }

  private static func accept(_ request: String, _ connection: RawServer.Connection) -> Bool {
    let fields = request.split(separator: "\r\n").map { $0.split(separator: ": ", maxSplits: 1).map(String.init) }
    guard let key = fields.first(where: { $0[0] == "Sec-WebSocket-Key" })?.last else { return false }
    connection.write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Accept: \(WebSocketHandshake.accept(for: key))\r\n\r\n")
    return true
  }

  @Test("carries texts both ways, and ends in order")
  func texts() async throws {
    let server = try Self.server(["first", "second"])
    let heard = Heard("\(server.url)/a/websocket?apikey=k&vsn=1.0.0")
    var events = heard.events.makeAsyncIterator()
    #expect(await events.next() == .opened)
    #expect(await events.next() == .text("first"))
    #expect(await events.next() == .text("second"))
    heard.connection.send("hello")
    #expect(await events.next() == .text("heard hello"))
    heard.connection.close()
    #expect(await events.next() == .closed(nil))
    let request = try #require(server.requests.first)
    #expect(request.hasPrefix("GET /a/websocket?apikey=k&vsn=1.0.0 HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n"))
    #expect(request.contains("\r\nUser-Agent: tidemark/"))
  }

  @Test("carries a text that comes in many pieces")
  func longText() async throws {
    let long = String(repeating: "x", count: 300_000)
    let server = try Self.server([long], thenCloses: true)
    #expect(await Heard(server.url, messageBytesMax: 1 << 20).all == [.opened, .text(long), .closed(nil)])
  }

  @Test("ends where a text is over the limit")
  func tooLong() async throws {
    let server = try Self.server([String(repeating: "x", count: 2_000)])
    #expect(await Heard(server.url).all == [.opened, .closed(nil)])
  }

  @Test("a server that closes the connection, with a word or without, ends it")
  func serverCloses() async throws {
    let orderly = try Self.server([], thenCloses: true)
    #expect(await Heard(orderly.url).all == [.opened, .closed(nil)])
    let rude = try RawServer { connection in
      if let request = connection.readRequest() { _ = Self.accept(request, connection) }
    }
    guard case .closed(let failure?)? = await Heard(rude.url).all.last else {
      Issue.record("the end is no failure")
      return
    }
    #expect("\(failure)".contains(rude.url))
  }

  @Test("tells what else a server answers, without the key", arguments: ["401 Unauthorized", "404 Not Found"])
  func refused(status: String) async throws {
    let server = try RawServer { connection in
      _ = connection.readRequest()
      connection.answer(status, "", "{}")
      connection.waitForClose()
    }
    let events = await Heard("\(server.url)/websocket?apikey=secret").all
    #expect(events == [.closed(.refused(origin: server.url, status: Int(status.prefix(3)) ?? 0))])
    #expect(!"\(events)".contains("secret"))
  }

  @Test("takes no page for a WebSocket, and waits no longer than the limit for an answer")
  func noWebSocket() async throws {
    let odd = try RawServer { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
      connection.waitForClose()
    }
    guard case .closed(.broken)? = await Heard(odd.url).all.last else {
      Issue.record("taken for a WebSocket")
      return
    }
    let silent = try RawServer { connection in connection.waitForClose() }
    let settings = CurlSettings(connectLimit: .milliseconds(200))
    #expect(
      await Heard(silent.url, settings).all == [
        .closed(.http(.timedOut(origin: silent.url, phase: .connecting, mayHaveReachedServer: true)))
      ])
  }

  @Test("makes no connection without TLS where the address asks for it")
  func tls() async throws {
    let server = try RawServer { connection in
      connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
      connection.waitForClose()
    }
    guard case .closed(.http(.tls))? = await Heard("https://127.0.0.1:\(server.port)").all.last else {
      Issue.record("connected")
      return
    }
  }

  @Test("goes through the proxy by a tunnel")
  func proxy() async throws {
    let server = try RawServer { connection in
      guard let tunnel = connection.readRequest(), tunnel.hasPrefix("CONNECT live.example:80 ") else { return }
      connection.write("HTTP/1.1 200 OK\r\n\r\n")
      guard let request = connection.readRequest(), Self.accept(request, connection) else { return }
      let end = WebSocketEnd(.server, messageBytesMax: 1_000)
      end.send(.text("through"))
      end.send(.close(.normal, reason: ""))
      connection.write(end.output())
      connection.waitForClose()
    }
    let settings = CurlSettings(httpProxy: server.url)
    #expect(await Heard("http://live.example/x", settings).all == [.opened, .text("through"), .closed(nil)])
  }

  @Test("tells that nobody listens, and that an address is none")
  func nobody() async throws {
    let server = try RawServer { _ in }
    server.stop()
    guard case .closed(.http(.cannotConnect))? = await Heard(server.url).all.last else {
      Issue.record("connected")
      return
    }
    guard case .closed(.http(.badRequest))? = await Heard("ws://127.0.0.1").all.last else {
      Issue.record("took a bad address")
      return
    }
  }

  @Test("an attempt can be given up")
  func givenUp() async throws {
    let server = try RawServer { connection in connection.waitForClose() }
    let heard = Heard(server.url)
    heard.connection.close()
    #expect(await heard.all.count == 1)
  }
}
