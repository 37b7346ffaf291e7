import Foundation
import Glibc
import Testing

@Suite("serve, from the command line", .timeLimit(.minutes(5))) struct ServeTests {
  static let mistakes: [(words: [String], message: String)] = [
    (["--misbehave", "latenzy"], "latenzy"), (["--misbehave", "latency milliseconds=-1"], "milliseconds"),
    (["--misbehave", "dropAfter probability=2"], "probability"), (["--auth", "confirmEmail"], "confirmEmail"),
    (["--auth", "tokenSeconds=0"], "tokenSeconds"), (["--seed", "-1"], "--seed"),
    (["--auth", "keyPair", "--rest", "http://127.0.0.1:9", "--jwt-secret-file", "x"], "keyPair"),
  ]

  @Test("settings and faults that mean nothing are named, and nothing is started", arguments: mistakes)
  func mistake(_ words: [String], message: String) async throws {
    let done = try await Tidemark.run(["serve", "--port", "0"] + words)
    #expect(done.status == 2 && done.output.isEmpty && done.errors.contains(message), "\(done.errors)")
  }

  @Test("help names every kind of fault and every setting")
  func help() async throws {
    let help = try await Tidemark.run(["help", "serve"]).output
    for word in ["dropAfter", "realtimeSilence", "clockSkew seconds", "confirmEmails", "tokenSeconds=N", "--misbehave"]
    {
      #expect(help.contains(word), "\(word)")
    }
  }

  /// Sends bytes as they are to a port of this machine, and gives what comes back.
  private func exchange(_ bytes: [UInt8], port: UInt16) throws -> String {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(connected == 0 && send(socket, bytes, bytes.count, 0) == bytes.count)
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = recv(socket, &buffer, buffer.count, 0)
      guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
      answer += buffer[..<count]
    }
  }

  @Test("what a request is called cannot take hold of the terminal that shows the log")
  func log() async throws {
    let server = try Program(["serve", "--json", "--port", "0", "--log"])
    try await server.line(with: "publishable_key")
    let url = try #require(server.firstLineAsJSON?["url"] as? String)
    let port = try #require(URL(string: url)?.port.flatMap { UInt16(exactly: $0) })
    for path in ["/\u{1B}[31mred", "/\u{202E}txt.exe", "/\u{9B}2J", "/a\u{8}b", "/%1B%0A"] {
      _ = try exchange(
        Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8), port: port)
    }
    let done = await server.stop()
    #expect(done.errors.contains(" 404 ") || done.errors.contains(" 400 "), "\(done.errors)")
    for scalar in done.errors.unicodeScalars where scalar != "\n" {
      let category = scalar.properties.generalCategory
      #expect(category != .control && category != .format, "\(scalar.value)")
    }
  }
}
