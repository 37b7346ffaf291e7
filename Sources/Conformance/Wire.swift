import Foundation
import LosslessJSON

/// A connection that sends bytes as they are and reads answers by the book, so that what is on the wire is what was recorded.
final class Wire {
  struct Failure: Error { let what: String }

  struct Answer {
    let status: Int
    let fields: [(name: String, value: String)]
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }
    var json: JSONValue { (try? JSONValue(parsing: body)) ?? .null }

    func field(_ name: String) -> String? { fields.first { $0.name.lowercased() == name.lowercased() }?.value }
    func joined(_ name: String) -> String? {
      let values = fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
      return values.isEmpty ? nil : values.joined(separator: ", ")
    }
  }

  private let socketNumber: Int32
  private var buffer: [UInt8] = []

  init(port: Int) throws {
    socketNumber = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let number = socketNumber
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0 else { throw Failure(what: "cannot connect: \(String(cString: strerror(errno)))") }
    // A server that hangs must fail the test, not hang it.
    var limit = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(socketNumber, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var one: Int32 = 1
    setsockopt(socketNumber, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit { close(socketNumber) }

  func send(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Foundation.send(socketNumber, $0.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Failure(what: "cannot send") }
      sent += count
    }
  }

  /// Sends a request with `Host` and, where there is or should be a body, `Content-Length`.
  func request(
    _ method: String, _ target: String, _ fields: [(String, String)] = [], body: String? = nil,
    host: String = "localhost"
  ) throws -> Answer {
    var head = "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n"
    for (name, value) in fields { head += "\(name): \(value)\r\n" }
    if body != nil || ["POST", "PATCH", "PUT"].contains(method) {
      head += "Content-Length: \((body ?? "").utf8.count)\r\n"
    }
    try send(Array((head + "\r\n" + (body ?? "")).utf8))
    return try read(to: method)
  }

  /// Reads one answer.
  func read(to method: String) throws -> Answer {
    var headEnd = Self.endOfHead(buffer)
    while headEnd == nil {
      try fill()
      headEnd = Self.endOfHead(buffer)
    }
    guard let headEnd else { throw Failure(what: "no head") }
    let lines = String(decoding: buffer[..<headEnd], as: UTF8.self).components(separatedBy: "\r\n")
    buffer.removeFirst(headEnd + 4)
    guard let status = Int(lines[0].split(separator: " ")[1]) else { throw Failure(what: "no status") }
    let fields = lines.dropFirst().map { line -> (name: String, value: String) in
      let parts = line.split(separator: ":", maxSplits: 1)
      return (String(parts[0]), parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : "")
    }
    let length = fields.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
    let hasBody = method != "HEAD" && status != 204 && status != 304
    while hasBody, buffer.count < length { try fill() }
    let body = hasBody ? Array(buffer[..<length]) : []
    if hasBody { buffer.removeFirst(length) }
    return Answer(status: status, fields: fields, body: body)
  }

  /// Whether the server has closed the connection.
  func isClosed() -> Bool {
    var byte: UInt8 = 0
    return recv(socketNumber, &byte, 1, 0) <= 0
  }

  private func fill() throws {
    var piece = [UInt8](repeating: 0, count: 65_536)
    let count = recv(socketNumber, &piece, piece.count, 0)
    guard count > 0 else { throw Failure(what: count == 0 ? "closed" : "cannot read") }
    buffer += piece[..<count]
  }

  private static func endOfHead(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= 4 else { return nil }
    return (0...(bytes.count - 4)).first {
      bytes[$0] == 13 && bytes[$0 + 1] == 10 && bytes[$0 + 2] == 13 && bytes[$0 + 3] == 10
    }
  }
}
