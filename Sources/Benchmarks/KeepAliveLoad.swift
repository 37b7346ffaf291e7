import Glibc
import Synchronization

/// Requests over a few connections that stay open, each answered before the next is sent.
struct KeepAliveLoad {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  let port: Int
  let connections: Int

  /// Sends the requests, spread over the connections, and gives the seconds until the last answer.
  ///
  /// - Parameter status: What every answer must begin with, such as `HTTP/1.1 200`.
  func run(_ requests: [[UInt8]], expecting status: String) throws -> Double {
    let port = port
    let failure = Mutex<String?>(nil)
    let start = ContinuousClock.now
    let threads = (0..<connections).map { index in
      PlainThread {
        do {
          let connection = try Connection(port: port)
          for place in stride(from: index, to: requests.count, by: self.connections) {
            try connection.exchange(requests[place], expecting: status)
          }
        } catch {
          failure.withLock { $0 = "\(error)" }
        }
      }
    }
    for thread in threads { thread.join() }
    let seconds = (ContinuousClock.now - start).seconds
    if let failure = failure.withLock({ $0 }) { throw Failure(description: failure) }
    return seconds
  }

  private final class Connection {
    private let socketNumber: Int32
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)

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
      guard code == 0 else { throw Failure(description: "cannot connect: \(String(cString: strerror(errno)))") }
      var one: Int32 = 1
      setsockopt(socketNumber, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(socketNumber) }

    func exchange(_ request: [UInt8], expecting status: String) throws {
      guard send(socketNumber, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
        throw Failure(description: "cannot send")
      }
      var received = 0
      var wanted: Int?
      while received < wanted ?? .max {
        let count = buffer.withUnsafeMutableBytes {
          recv(socketNumber, $0.baseAddress?.advanced(by: received), $0.count - received, 0)
        }
        guard count > 0 else { throw Failure(description: "the server closed the connection") }
        received += count
        if wanted == nil { wanted = answerBytes(received) }
      }
      guard buffer.starts(with: status.utf8) else {
        throw Failure(description: "answered \(String(decoding: buffer[..<min(received, 400)], as: UTF8.self))")
      }
    }

    /// How long the answer is, once its head is there.
    private func answerBytes(_ received: Int) -> Int? {
      buffer.withUnsafeBytes { bytes -> Int? in
        guard let end = Self.place(of: "\r\n\r\n", in: bytes[..<received]) else { return nil }
        guard var place = Self.place(of: "Content-Length: ", in: bytes[..<end]).map({ $0 + 16 }) else { return end + 4 }
        var length = 0
        while (48...57).contains(bytes[place]) {
          length = length * 10 + Int(bytes[place] - 48)
          place += 1
        }
        return end + 4 + length
      }
    }

    private static func place(of text: StaticString, in bytes: Slice<UnsafeRawBufferPointer>) -> Int? {
      let count = text.utf8CodeUnitCount
      guard bytes.count >= count else { return nil }
      return (bytes.startIndex...(bytes.endIndex - count)).first { start in
        (0..<count).allSatisfy { bytes[start + $0] == text.utf8Start[$0] }
      }
    }
  }
}

/// A thread that blocks as it likes.
private final class PlainThread {
  private final class Box {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
  }

  private var handle = pthread_t()

  init(_ body: @escaping () -> Void) {
    let box = Unmanaged.passRetained(Box(body))
    pthread_create(
      &handle, nil,
      { raw in
        guard let raw else { return nil }
        Unmanaged<Box>.fromOpaque(raw).takeRetainedValue().body()
        return nil
      }, box.toOpaque())
  }

  func join() { pthread_join(handle, nil) }
}
