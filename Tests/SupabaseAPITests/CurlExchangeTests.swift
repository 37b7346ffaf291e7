import Glibc
import Testing

@testable import SupabaseAPI

@Suite("The HTTP exchange over libcurl", .timeLimit(.minutes(2))) struct CurlExchangeTests {
  /// Sends one request through a fresh exchange and gives back what came of it.
  func outcome(
    _ request: HTTPRequest, _ settings: CurlSettings = CurlSettings()
  ) async -> Result<HTTPResponse, HTTPError> {
    let exchange = CurlExchange(settings)
    let result = await outcome(request, through: exchange)
    await exchange.shutDown()
    return result
  }

  func outcome(_ request: HTTPRequest, through exchange: CurlExchange) async -> Result<HTTPResponse, HTTPError> {
    do { return .success(try await exchange.send(request)) } catch { return .failure(error) }
  }

  @Test("two requests after each other use one connection")
  func keepAlive() async throws {
    let server = try RawServer { connection in
      while connection.readRequest() != nil { connection.answer("200 OK", "", "hello") }
    }
    defer { server.stop() }
    let exchange = CurlExchange()
    for _ in 0..<2 {
      let response = try await exchange.send(HTTPRequest(method: "GET", url: server.url + "/"))
      #expect(response.body == Array("hello".utf8))
      #expect(response.sends == 1)
    }
    #expect(server.connections == 1)
    await exchange.shutDown()
  }

  @Test("twenty requests at once are all answered, over no more connections than allowed")
  func manyAtOnce() async throws {
    let server = try RawServer { connection in
      while let request = connection.readRequest() {
        connection.answer("200 OK", "", String(request.split(separator: " ")[1]))
      }
    }
    defer { server.stop() }
    let exchange = CurlExchange(CurlSettings(connectionsPerHostMax: 3))
    let url = server.url
    let bodies = try await withThrowingTaskGroup(of: String.self) { group in
      for number in 0..<20 {
        group.addTask {
          let response = try await exchange.send(HTTPRequest(method: "GET", url: "\(url)/\(number)"))
          return String(decoding: response.body, as: UTF8.self)
        }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(bodies == Set((0..<20).map { "/\($0)" }))
    #expect(server.connections <= 3)
    await exchange.shutDown()
  }

  @Test("what is sent is what the request says, and nothing that libcurl would add")
  func requestAsSent() async throws {
    let server = try RawServer { connection in
      while connection.readRequest() != nil { connection.answer() }
    }
    defer { server.stop() }
    let exchange = CurlExchange(CurlSettings(userAgent: "tidemark/test"))
    let large = [UInt8](repeating: 0x78, count: 2_000_000)
    for request in [
      HTTPRequest(
        method: "PATCH", url: server.url + "/a%20b?c=eq.%2B", fields: ["X-One": "1", "X-Empty": ""],
        body: Array("{}".utf8)),
      HTTPRequest(method: "DELETE", url: server.url + "/d"),
      HTTPRequest(method: "POST", url: server.url + "/e"),
      HTTPRequest(method: "POST", url: server.url + "/f", fields: ["Content-Type": "text/plain"], body: large),
    ] {
      _ = try await exchange.send(request)
    }
    let host = "Host: 127.0.0.1:\(server.port)\r\nUser-Agent: tidemark/test\r\nAccept-Encoding: gzip\r\n"
    #expect(
      server.requests.map { String($0.prefix(400)) } == [
        "PATCH /a%20b?c=eq.%2B HTTP/1.1\r\n\(host)X-One: 1\r\nX-Empty:\r\nContent-Length: 2\r\n\r\n{}",
        "DELETE /d HTTP/1.1\r\n\(host)\r\n",
        "POST /e HTTP/1.1\r\n\(host)Content-Length: 0\r\n\r\n",
        String(
          "POST /f HTTP/1.1\r\n\(host)Content-Type: text/plain\r\nContent-Length: 2000000\r\n\r\n\(String(repeating: "x", count: 400))"
            .prefix(400)),
      ])
    await exchange.shutDown()
  }

  @Test("a HEAD answer has a length and no body")
  func head() async throws {
    let server = try RawServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 500\r\ncontent-range: 0-3/4\r\n\r\n")
    }
    defer { server.stop() }
    let response = try await outcome(HTTPRequest(method: "HEAD", url: server.url + "/")).get()
    #expect(response.body.isEmpty)
    #expect(response.fields["Content-Range"] == "0-3/4")
  }

  @Test("a packed body is unpacked")
  func gzip() async throws {
    let packed: [UInt8] = [
      0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x8B, 0xAE, 0x56, 0xCA, 0x4C, 0x51,
      0xB2, 0x52, 0x4A, 0x54, 0xAA, 0xD5, 0x81, 0x32, 0x93, 0x94, 0x6A, 0x63, 0x01, 0x30, 0x26, 0x53,
      0xE8, 0x17, 0x00, 0x00, 0x00,
    ]
    let server = try RawServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(packed.count)\r\n\r\n")
      connection.write(packed)
    }
    defer { server.stop() }
    let response = try await outcome(HTTPRequest(method: "GET", url: server.url + "/")).get()
    #expect(String(decoding: response.body, as: UTF8.self) == #"[{"id":"a"},{"id":"b"}]"#)
    #expect(server.requests.first?.contains("Accept-Encoding: gzip\r\n") == true)
  }

  @Test("a chunked body is put together, and neither an interim answer nor a trailer changes the head")
  func chunked() async throws {
    let server = try RawServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.write("HTTP/1.1 103 Early Hints\r\nX-Interim: yes\r\n\r\n")
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Head: yes\r\nTrailer: X-Tail\r\n\r\n")
      connection.write("3\r\nabc\r\n4\r\ndefg\r\n0\r\nX-Tail: yes\r\n\r\n")
    }
    defer { server.stop() }
    let response = try await outcome(HTTPRequest(method: "GET", url: server.url + "/")).get()
    #expect(response.body == Array("abcdefg".utf8))
    #expect(response.fields["x-head"] == "yes")
    #expect(response.fields["X-Interim"] == nil)
    #expect(response.fields["X-Tail"] == nil)
  }

  @Test("a redirect is an answer and is not followed")
  func redirect() async throws {
    let server = try RawServer { connection in
      while connection.readRequest() != nil { connection.answer("302 Found", "Location: /elsewhere\r\n") }
    }
    defer { server.stop() }
    let response = try await outcome(HTTPRequest(method: "GET", url: server.url + "/")).get()
    #expect(response.status == 302)
    #expect(server.requests.count == 1)
  }

  @Test(
    "an answer that breaks off is an error after which the server may have acted",
    arguments: [
      "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[{\"id\":1}",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
      "HTTP/1.1 200 OK\r\nContent-Le",
      "",
      "SSH-2.0-OpenSSH_9.2\r\n",
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain",
    ])
  func cut(_ answer: String) async throws {
    let server = try RawServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.write(answer)
    }
    defer { server.stop() }
    let result = await outcome(HTTPRequest(method: "POST", url: server.url + "/tasks?secret=eq.1", body: [0x31]))
    guard case .failure(let error) = result, case .cut = error else {
      Issue.record("expected a cut, got \(result)")
      return
    }
    #expect(error.mayHaveReachedServer)
    #expect(error.isConnectivity)
    #expect(!error.description.contains("secret"))
  }

  @Test("a kept connection that the server has closed is replaced, and the answer says that there were two sends")
  func closedConnection() async throws {
    let server = try RawServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.answer("200 OK", "", "\(connection.number)")
      // The second request on the first connection is read and gets no answer.
      guard connection.number > 1 || connection.readRequest() == nil else { return }
      connection.waitForClose()
    }
    defer { server.stop() }
    let exchange = CurlExchange()
    let request = HTTPRequest(method: "PATCH", url: server.url + "/", body: [0x31])
    #expect(try await exchange.send(request).sends == 1)
    let second = try await exchange.send(request)
    #expect(second.sends == 2)
    #expect(second.body == Array("2".utf8))
    await exchange.shutDown()
  }

  @Test("a resend that finds no server still says that the first send may have arrived")
  func closedConnectionThenNoServer() async throws {
    let server = try RawServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.answer()
      _ = connection.readRequest()
      connection.stopServer()
    }
    let exchange = CurlExchange()
    let request = HTTPRequest(method: "PATCH", url: server.url + "/", body: [0x31])
    _ = try await exchange.send(request)
    guard case .failure(let error) = await outcome(request, through: exchange) else {
      Issue.record("the server is gone, yet there is an answer")
      return
    }
    #expect(error.mayHaveReachedServer)
    await exchange.shutDown()
  }

  @Test("a port where nothing listens is no connection, and nothing reached a server")
  func refused() async throws {
    let port = try RawServer.refusedPort()
    let result = await outcome(HTTPRequest(method: "POST", url: "http://127.0.0.1:\(port)/", body: [0x31]))
    guard case .failure(let error) = result, case .cannotConnect = error else {
      Issue.record("expected no connection, got \(result)")
      return
    }
    #expect(!error.mayHaveReachedServer)
    #expect(error.isConnectivity)
    #expect(error.description.contains("127.0.0.1:\(port)"))
    // Whoever tells only news compares the words, so no time may stand in them.
    #expect(!error.description.contains(" ms"), "\(error)")
  }

  @Test("a name without an address is no connection, and nothing reached a server")
  func unknownName() async throws {
    let settings = CurlSettings(connectLimit: .seconds(5))
    let result = await outcome(HTTPRequest(method: "GET", url: "http://nowhere.invalid/"), settings)
    guard case .failure(let error) = result else {
      Issue.record("expected an error, got \(result)")
      return
    }
    #expect(!error.mayHaveReachedServer)
    #expect(error.isConnectivity)
  }

  @Test("a server without TLS behind https is a TLS error, and nothing reached it")
  func notTLS() async throws {
    let server = try RawServer { connection in
      connection.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
      connection.waitForClose()
    }
    defer { server.stop() }
    let result = await outcome(HTTPRequest(method: "GET", url: "https://127.0.0.1:\(server.port)/"))
    guard case .failure(let error) = result, case .tls = error else {
      Issue.record("expected a TLS error, got \(result)")
      return
    }
    #expect(!error.mayHaveReachedServer)
  }

  @Test("a server that takes the request and says nothing is given up after the stall limit")
  func stall() async throws {
    let server = try RawServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.waitForClose()
    }
    defer { server.stop() }
    let result = await outcome(HTTPRequest(method: "GET", url: server.url + "/"), CurlSettings(stallSeconds: 1))
    #expect(result == .failure(.timedOut(origin: server.url, phase: .stalled, mayHaveReachedServer: true)))
  }

  @Test("a limit for the whole exchange ends it, where one is set")
  func wholeLimit() async throws {
    let server = try RawServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.waitForClose()
    }
    defer { server.stop() }
    let settings = CurlSettings(wholeLimit: .milliseconds(200))
    let result = await outcome(HTTPRequest(method: "GET", url: server.url + "/"), settings)
    #expect(result == .failure(.timedOut(origin: server.url, phase: .whole, mayHaveReachedServer: true)))
  }

  @Test("a server that accepts and never speaks TLS is given up after the connect limit, unreached")
  func connectLimit() async throws {
    let server = try RawServer { $0.waitForClose() }
    defer { server.stop() }
    let settings = CurlSettings(connectLimit: .milliseconds(200))
    let result = await outcome(HTTPRequest(method: "GET", url: "https://127.0.0.1:\(server.port)/"), settings)
    let origin = "https://127.0.0.1:\(server.port)"
    #expect(result == .failure(.timedOut(origin: origin, phase: .connecting, mayHaveReachedServer: false)))
  }

  @Test("forgetting the connections cuts off what is on its way, and the next request opens one of its own")
  func forgetConnections() async throws {
    let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
    let server = try RawServer { connection in
      while let request = connection.readRequest() {
        guard !request.contains("/hangs") else {
          arrived.yield()
          connection.waitForClose()
          return
        }
        connection.answer("200 OK", "", "hello")
      }
    }
    defer { server.stop() }
    let exchange = CurlExchange()
    let get = { (path: String) in await outcome(HTTPRequest(method: "GET", url: server.url + path), through: exchange) }
    _ = try await get("/").get()
    async let hanging = get("/hangs")
    for await _ in arrivals { break }
    exchange.forgetConnections()
    #expect(
      await hanging == .failure(.cut(origin: server.url, reason: "the network changed", mayHaveReachedServer: true)))
    #expect(server.connections == 1)
    _ = try await get("/").get()
    #expect(server.connections == 2)
    await exchange.shutDown()
  }

  @Test("cancelling the task ends the transfer and says that the request may have arrived")
  func cancellation() async throws {
    let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
    let server = try RawServer { connection in
      guard connection.readRequest() != nil else { return }
      arrived.yield()
      connection.waitForClose()
      arrived.finish()
    }
    defer { server.stop() }
    let exchange = CurlExchange()
    let request = HTTPRequest(method: "POST", url: server.url + "/", body: [0x31])
    let task = Task { await outcome(request, through: exchange) }
    var arrival = arrivals.makeAsyncIterator()
    await arrival.next()
    task.cancel()
    #expect(await task.value == .failure(.cancelled(mayHaveReachedServer: true)))
    // The stream ends only when the client has closed its end.
    #expect(await arrival.next() == nil)
    await exchange.shutDown()
  }

  @Test("a task that is cancelled already sends nothing")
  func cancelledBefore() async throws {
    let server = try RawServer { $0.waitForClose() }
    defer { server.stop() }
    let exchange = CurlExchange()
    let request = HTTPRequest(method: "GET", url: server.url + "/")
    let result = await withTaskGroup(of: Result<HTTPResponse, HTTPError>.self) { group in
      group.cancelAll()
      group.addTask { await outcome(request, through: exchange) }
      return await group.next()
    }
    #expect(result == .failure(.cancelled(mayHaveReachedServer: false)))
    #expect(server.connections == 0)
    await exchange.shutDown()
  }

  @Test("shutting down ends what runs, and later requests are refused")
  func shutDown() async throws {
    let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
    let server = try RawServer { connection in
      guard connection.readRequest() != nil else { return }
      arrived.yield()
      connection.waitForClose()
    }
    defer { server.stop() }
    let exchange = CurlExchange()
    let request = HTTPRequest(method: "GET", url: server.url + "/")
    let task = Task { await outcome(request, through: exchange) }
    var arrival = arrivals.makeAsyncIterator()
    await arrival.next()
    await exchange.shutDown()
    #expect(await task.value == .failure(.cancelled(mayHaveReachedServer: true)))
    #expect(await outcome(request, through: exchange) == .failure(.closed))
    await exchange.shutDown()
  }

  @Test("an answer may be as long as the request allows, and not a byte longer", arguments: [(10, true), (11, false)])
  func bodyLimit(_ length: Int, _ isAllowed: Bool) async throws {
    let server = try RawServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.answer("200 OK", "", String(repeating: "x", count: length))
    }
    defer { server.stop() }
    let result = await outcome(HTTPRequest(method: "GET", url: server.url + "/", bodyBytesMax: 10))
    if isAllowed {
      #expect(try result.get().body.count == 10)
    } else {
      #expect(result == .failure(.bodyTooLarge(origin: server.url, bytesMax: 10)))
    }
  }

  @Test(
    "a request that could end a header line early, or hides a second host, is not sent",
    arguments: [
      HTTPRequest(method: "GET", url: "http://127.0.0.1:1/", fields: ["X-A": "b\r\nX-C: d"]),
      HTTPRequest(method: "GET", url: "http://127.0.0.1:1/", fields: ["X-A": "b\u{0}"]),
      HTTPRequest(method: "GET", url: "http://127.0.0.1:1/", fields: ["X-A\r\nX-B": "c"]),
      HTTPRequest(method: "GET", url: "http://127.0.0.1:1/", fields: ["X-A: b": "c"]),
      HTTPRequest(method: "GET", url: "http://127.0.0.1:1/", fields: ["": "c"]),
      HTTPRequest(method: "GET", url: "http://127.0.0.1:1/", fields: ["Content-Length": "0"]),
      HTTPRequest(method: "GET", url: "http://127.0.0.1:1/", fields: ["transfer-encoding": "chunked"]),
      HTTPRequest(method: "GET", url: "http://127.0.0.1:1/", fields: ["Host": "other"]),
      HTTPRequest(method: "GET /x HTTP/1.1", url: "http://127.0.0.1:1/"),
      HTTPRequest(method: "GET", url: "http://127.0.0.1:1/a b"),
      HTTPRequest(method: "GET", url: "http://127.0.0.1:1/\r\n"),
      HTTPRequest(method: "GET", url: "http://127.0.0.1:1/\u{0}"),
      HTTPRequest(method: "GET", url: "http://127.0.0.1:1/ä"),
      HTTPRequest(method: "GET", url: "http://127.0.0.1:1/#part"),
      HTTPRequest(method: "GET", url: "http://user:hunter2@127.0.0.1:1/"),
      HTTPRequest(method: "GET", url: "http://127.0.0.1:99999/"),
      HTTPRequest(method: "GET", url: "http://127.0.0.1:/"),
      HTTPRequest(method: "GET", url: "http:///path"),
      HTTPRequest(method: "GET", url: "file:///etc/passwd"),
      HTTPRequest(method: "GET", url: "gopher://127.0.0.1:1/"),
      HTTPRequest(method: "GET", url: "127.0.0.1:1/"),
      HTTPRequest(method: "GET", url: ""),
    ])
  func badRequests(_ request: HTTPRequest) async {
    let result = await outcome(request)
    guard case .failure(let error) = result, case .badRequest = error else {
      Issue.record("expected a refusal, got \(result)")
      return
    }
    #expect(!error.mayHaveReachedServer)
    #expect(!error.description.contains("X-C"))
    #expect(!error.description.contains("hunter2"))
  }

  @Test("a proxy that was handed in carries http, but never for loopback")
  func proxy() async throws {
    let proxy = try RawServer { connection in
      while connection.readRequest() != nil { connection.answer("200 OK", "", "by proxy") }
    }
    let server = try RawServer { connection in
      while connection.readRequest() != nil { connection.answer("200 OK", "", "straight") }
    }
    defer {
      proxy.stop()
      server.stop()
    }
    let exchange = CurlExchange(CurlSettings(httpProxy: proxy.url))
    let far = try await exchange.send(HTTPRequest(method: "GET", url: "http://project.example/tasks"))
    #expect(far.body == Array("by proxy".utf8))
    #expect(proxy.requests.first?.hasPrefix("GET http://project.example/tasks HTTP/1.1\r\n") == true)
    let near = try await exchange.send(HTTPRequest(method: "GET", url: server.url + "/"))
    #expect(near.body == Array("straight".utf8))
    await exchange.shutDown()
  }

  @Test("a proxy that refuses a tunnel is no connection, although bytes went to the proxy")
  func proxyRefusesTunnel() async throws {
    let proxy = try RawServer { connection in
      while connection.readRequest() != nil { connection.answer("403 Forbidden", "", "no") }
    }
    defer { proxy.stop() }
    let settings = CurlSettings(httpsProxy: proxy.url)
    let result = await outcome(HTTPRequest(method: "POST", url: "https://project.example/", body: [0x31]), settings)
    guard case .failure(let error) = result, case .cannotConnect = error else {
      Issue.record("expected no connection, got \(result)")
      return
    }
    #expect(!error.mayHaveReachedServer)
  }
}
