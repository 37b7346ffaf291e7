import Foundation
import Synchronization
import Testing

@testable import SupabaseAPI

/// Bytes that are given out in pieces.
private struct Bytes: HTTPBodySource {
  let bytes: [UInt8]
  var promised: Int64?
  var count: Int64 { promised ?? Int64(bytes.count) }

  func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let piece = bytes.dropFirst(Int(position)).prefix(min(buffer.count, 1_000))
    buffer.copyBytes(from: piece)
    return piece.count
  }
}

/// Keeps what it is given.
private final class Kept: HTTPBodySink {
  private let state = Mutex([UInt8]())
  let limit: Int
  var bytes: [UInt8] { state.withLock(\.self) }

  init(limit: Int = .max) { self.limit = limit }

  struct Full: Error, CustomStringConvertible { let description = "full" }

  func takes(_ head: HTTPResponse) -> Bool { head.status == 200 }
  func write(_ bytes: UnsafeRawBufferPointer) throws {
    try state.withLock { kept in
      guard kept.count + bytes.count <= limit else { throw Full() }
      kept.append(contentsOf: bytes)
    }
  }
}

@Suite("Bodies that are not held in memory", .timeLimit(.minutes(2))) struct StreamedBodyTests {
  private let large = [UInt8]((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) & 0x7F })

  @Test("a source is sent as the body, with its length")
  func source() async throws {
    let server = try RawServer { connection in
      while connection.readRequest() != nil { connection.answer("200 OK", "", "ok") }
    }
    defer { server.stop() }
    let exchange = CurlExchange()
    let counts = Mutex([Int64]())
    for method in ["POST", "PUT", "PATCH"] {
      let bodies = HTTPBodies(source: Bytes(bytes: large)) { progress in counts.withLock { $0.append(progress.sent) } }
      let response = try await exchange.send(HTTPRequest(method: method, url: server.url + "/x"), bodies)
      #expect(response.body == Array("ok".utf8))
    }
    for (method, request) in zip(["POST", "PUT", "PATCH"], server.requests) {
      #expect(request.hasPrefix("\(method) /x HTTP/1.1\r\n"))
      #expect(request.contains("Content-Length: 300000\r\n"))
      #expect(!request.contains("Expect:"))
      #expect(request.hasSuffix("\r\n\r\n" + String(decoding: large, as: UTF8.self)))
    }
    #expect(counts.withLock { $0.max() } ?? 0 >= 300_000)
    await exchange.shutDown()
  }

  @Test("a source begins anew when the request goes out again on a new connection")
  func resend() async throws {
    let server = try RawServer { connection in
      // The first connection is closed after its first answer, when the client already counts on it.
      guard connection.readRequest() != nil else { return }
      connection.answer("200 OK", "", "1")
      if connection.number == 1 { return }
      while connection.readRequest() != nil { connection.answer("200 OK", "", "2") }
    }
    defer { server.stop() }
    let exchange = CurlExchange()
    let url = server.url + "/x"
    _ = try await exchange.send(HTTPRequest(method: "GET", url: url))
    let response = try await exchange.send(
      HTTPRequest(method: "PUT", url: url), HTTPBodies(source: Bytes(bytes: large)))
    #expect(response.status == 200)
    #expect(server.requests.last?.hasSuffix(String(decoding: large, as: UTF8.self)) == true)
    await exchange.shutDown()
  }

  @Test("a source that ends too early ends the exchange")
  func short() async throws {
    let server = try RawServer { connection in _ = connection.readRequest() }
    defer { server.stop() }
    let exchange = CurlExchange()
    await #expect(throws: HTTPError.body(reason: "it became shorter while it was sent")) {
      try await exchange.send(
        HTTPRequest(method: "PUT", url: server.url + "/x"), HTTPBodies(source: Bytes(bytes: [1], promised: 9)))
    }
    await exchange.shutDown()
  }

  @Test("a body goes into the sink and nowhere else, beyond what memory would be allowed, and unpacked by nobody")
  func sink() async throws {
    let text = String(decoding: large, as: UTF8.self)
    let server = try RawServer { connection in
      while connection.readRequest() != nil { connection.answer("200 OK", "", text) }
    }
    defer { server.stop() }
    let exchange = CurlExchange()
    let kept = Kept()
    let last = Mutex(HTTPProgress())
    let response = try await exchange.send(
      HTTPRequest(method: "GET", url: server.url + "/x", bodyBytesMax: 10),
      HTTPBodies(sink: kept) { progress in last.withLock { $0 = progress } })
    #expect(response.body.isEmpty && kept.bytes == large)
    #expect(last.withLock(\.received) == 300_000 && last.withLock(\.receivedTotal) == 300_000)
    #expect(server.requests.first?.contains("Accept-Encoding") == false)
    await exchange.shutDown()
  }

  @Test("an error's body does not go into the sink, and a sink that fails ends the exchange")
  func sinkRefusals() async throws {
    let text = String(decoding: large, as: UTF8.self)
    let server = try RawServer { connection in
      while let request = connection.readRequest() {
        connection.answer(
          request.contains("/bad") ? "400 Bad Request" : "200 OK", "", request.contains("/bad") ? "no" : text)
      }
    }
    defer { server.stop() }
    let exchange = CurlExchange()
    let kept = Kept(limit: 10)
    let bad = try await exchange.send(HTTPRequest(method: "GET", url: server.url + "/bad"), HTTPBodies(sink: kept))
    #expect(bad.body == Array("no".utf8) && kept.bytes.isEmpty)
    await #expect(throws: HTTPError.body(reason: "full")) {
      try await exchange.send(HTTPRequest(method: "GET", url: server.url + "/x"), HTTPBodies(sink: kept))
    }
    await exchange.shutDown()
  }

  @Test("an exchange without a network of its own passes the bodies through memory")
  func throughMemory() async throws {
    let http = ScriptedExchange(.success(HTTPResponse(200, "answer")), .success(HTTPResponse(400, "no")))
    let kept = Kept()
    let request = HTTPRequest(method: "PUT", url: testURL)
    _ = try await http.send(request, HTTPBodies(source: Bytes(bytes: large), sink: kept))
    let bad = try await http.send(request, HTTPBodies(sink: kept))
    #expect(kept.bytes == Array("answer".utf8))
    #expect(bad.body == Array("no".utf8))
    let sent = await http.requests
    #expect(sent[0].body == large)
  }
}
