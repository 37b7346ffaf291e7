import Foundation
import Glibc
import Synchronization

/// A server of bytes for one test: it accepts connections on a free port of loopback and lets a script answer.
final class RawServer: Sendable {
  /// One accepted connection, used by one thread.
  final class Connection: Sendable {
    private let descriptor: Int32
    let number: Int
    private let server: RawServer

    init(_ descriptor: Int32, number: Int, server: RawServer) {
      self.descriptor = descriptor
      self.number = number
      self.server = server
    }

    /// Reads one request, head and body; nil when the client has closed.
    func readRequest() -> String? {
      var bytes: [UInt8] = []
      while true {
        if let text = Self.whole(bytes) {
          server.record(text)
          return text
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return nil }
        bytes.append(contentsOf: buffer[..<count])
      }
    }

    private static func whole(_ bytes: [UInt8]) -> String? {
      let text = String(decoding: bytes, as: UTF8.self)
      guard let end = text.range(of: "\r\n\r\n") else { return nil }
      let head = text[..<end.lowerBound].lowercased()
      guard let field = head.range(of: "content-length: ") else { return text }
      let length = Int(head[field.upperBound...].prefix { $0.isNumber }) ?? 0
      return text[end.upperBound...].utf8.count >= length ? text : nil
    }

    /// Reads what has come, of anything; nil when the client has closed.
    func readBytes() -> [UInt8]? {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      return count > 0 ? Array(buffer[..<count]) : nil
    }

    func write(_ bytes: [UInt8]) {
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
    }

    /// Makes the server take no further connection before this one closes.
    func stopServer() { server.stop() }

    func write(_ text: String) { write(Array(text.utf8)) }

    /// Answers with a length, so that the connection stays open.
    func answer(_ status: String = "200 OK", _ fields: String = "", _ body: String = "") {
      write("HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)")
    }

    /// Waits until the client closes.
    func waitForClose() {
      var byte: UInt8 = 0
      while recv(descriptor, &byte, 1, 0) > 0 {}
    }
  }

  private struct State {
    var connections = 0
    var requests: [String] = []
  }

  let port: Int
  private let listener: Int32
  private let state = Mutex(State())
  private let script: @Sendable (Connection) -> Void

  var url: String { "http://127.0.0.1:\(port)" }
  var connections: Int { state.withLock { $0.connections } }
  var requests: [String] { state.withLock { $0.requests } }

  /// Listens; the script runs on a thread of its own for each connection, which closes when the script returns.
  init(_ script: @escaping @Sendable (Connection) -> Void) throws {
    (listener, port) = try Self.listen()
    self.script = script
    let thread = Thread { [self] in acceptAll() }
    thread.start()
  }

  /// Stops accepting; connections that are open go on.
  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
  }

  /// A port on which nothing listens.
  static func refusedPort() throws -> Int {
    let (descriptor, port) = try listen()
    close(descriptor)
    return port
  }

  private static func listen() throws -> (descriptor: Int32, port: Int) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
        bind(descriptor, general, length) != 0 || Glibc.listen(descriptor, 64) != 0
          || getsockname(descriptor, general, &length) != 0
      }
    }
    guard descriptor >= 0, !failed else { throw POSIXError(.EADDRNOTAVAIL) }
    return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
  }

  private func acceptAll() {
    while true {
      let descriptor = accept(listener, nil, nil)
      guard descriptor >= 0 else { break }
      let number = state.withLock { state in
        state.connections += 1
        return state.connections
      }
      let connection = Connection(descriptor, number: number, server: self)
      let thread = Thread { [script] in
        script(connection)
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
      }
      thread.start()
    }
    close(listener)
  }

  private func record(_ request: String) {
    state.withLock { $0.requests.append(request) }
  }
}
