import Glibc
import LosslessJSON
import OfflineEngine
import Synchronization
import Threads

/// The end of the control socket that a watcher listens on.
public final class ControlListener: Sendable {
  /// One request and the way back to who sent it.
  public struct Call: Sendable {
    /// What is asked.
    public let request: ControlRequest
    let connection: Connection

    /// Says that the work is going on.
    func sayWorking() { connection.sendBlankLine() }

    /// Sends the answer and ends the connection.
    public func answer(_ answer: ControlAnswer) { connection.send(answer.json) }
  }

  /// The requests in the order they come; ends with `stop`.
  public let calls: AsyncStream<Call>

  private let continuation: AsyncStream<Call>.Continuation
  private let folder: Int32
  private let descriptor: Int32
  private let isStopped = Atomic(false)

  /// Listens in the state folder at `folderPath`, taking the place of a socket that a dead watcher left.
  ///
  /// To be called only by the holder of the workspace's lock.
  public init(folderPath: String) throws(DaemonError) {
    folder = open(folderPath, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw .file(path: folderPath, reason: String(cString: strerror(errno))) }
    unlinkat(folder, ControlPath.name, 0)
    let listening = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    descriptor = listening
    let mask = umask(0o177)  // The socket is made with mode 0600: there is no moment in which others may connect.
    let isBound = ControlPath.withAddress(in: folder) { bind(listening, $0, $1) } == 0 && listen(listening, 16) == 0
    umask(mask)
    guard isBound else {
      let reason = String(cString: strerror(errno))
      close(listening)
      close(folder)
      throw .file(path: "\(folderPath)/\(ControlPath.name)", reason: "cannot listen: \(reason)")
    }
    let stream = AsyncStream.makeStream(of: Call.self)
    calls = stream.stream
    continuation = stream.continuation
    let continuation = stream.continuation
    BlockingThread { ControlListener.serve(listening, continuation) }.start()
  }

  /// Stops listening and removes the socket.
  public func stop() {
    guard isStopped.exchange(true, ordering: .relaxed) == false else { return }
    unlinkat(folder, ControlPath.name, 0)
    shutdown(descriptor, Int32(SHUT_RDWR))  // Wakes the thread in accept, which then closes the descriptor.
    close(folder)
    continuation.finish()
  }

  deinit { stop() }

  private static func serve(_ descriptor: Int32, _ continuation: AsyncStream<Call>.Continuation) {
    while true {
      let accepted = accept(descriptor, nil, nil)
      if accepted < 0 {
        if errno == EINTR || errno == ECONNABORTED { continue }
        close(descriptor)
        return
      }
      let connection = Connection(accepted)
      guard case .json(let json) = connection.receive() else { continue }
      do throws(DaemonError) {
        continuation.yield(Call(request: try ControlRequest(json: json), connection: connection))
      } catch {
        connection.send(ControlAnswer.error(error.description).json)
      }
    }
  }
}

/// Asks a running watcher.
public enum ControlClient {
  /// Sends a request to the watcher of the workspace whose state folder is at `folderPath`.
  ///
  /// Blocks until the answer is there; a command such as `sync` may take as long as the network does. Meanwhile the watcher
  /// says now and then that it is at work: one that is silent is hung, or was stopped with a signal.
  ///
  /// - Parameter silenceSeconds: How long it may be silent.
  /// - Returns: The answer, or `nil` when no watcher runs.
  public static func ask(
    _ request: ControlRequest, folderPath: String, silenceSeconds: Int = 15
  ) throws(DaemonError) -> ControlAnswer? {
    let folder = open(folderPath, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { return nil }
    defer { close(folder) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    let connection = Connection(descriptor, limitSeconds: silenceSeconds)
    guard ControlPath.withAddress(in: folder, { connect(descriptor, $0, $1) }) == 0 else {
      if errno == ENOENT || errno == ECONNREFUSED { return nil }
      if errno == EAGAIN { throw .silentWatcher(seconds: silenceSeconds) }
      throw .control(reason: String(cString: strerror(errno)))
    }
    connection.send(request.json)
    switch connection.receive(skipsBlankLines: true) {
    case .json(let json): return try ControlAnswer(json: json)
    case .silence: throw .silentWatcher(seconds: silenceSeconds)
    case .end: throw .control(reason: "it closed the connection; see its log")
    }
  }
}

/// Where the socket lies.
private enum ControlPath {
  static let name = "control"

  /// Calls `body` with the socket's address.
  ///
  /// A socket's path may have 107 bytes only, a workspace's any number: the address goes through the open folder.
  static func withAddress(in folder: Int32, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { target in
      target.copyBytes(from: Array("/proc/self/fd/\(folder)/\(name)".utf8))
    }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }
}

/// One end of a connection that carries a line each way.
final class Connection: Sendable {
  private let descriptor: Int32
  /// A request is small; an answer may list many files.
  private static let lineBytesMax = 64 << 20

  /// - Parameter limitSeconds: How long the other end may be silent: who connects and says nothing must not keep others
  ///   waiting.
  init(_ descriptor: Int32, limitSeconds: Int = 5) {
    self.descriptor = descriptor
    var limit = timeval(tv_sec: limitSeconds, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  /// What came from the other end.
  enum Received {
    case json(JSONValue)
    /// Nothing came for as long as it may be silent.
    case silence
    /// It closed the connection, or sent no JSON.
    case end
  }

  func send(_ json: JSONValue) { sendAll(Array((json.serialized() + "\n").utf8)[...]) }

  /// Sends an empty line, which says no more than that somebody is there.
  func sendBlankLine() { sendAll([10]) }

  private func sendAll(_ bytes: ArraySlice<UInt8>) {
    var bytes = bytes
    while !bytes.isEmpty {
      let sent = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if sent <= 0 { return }
      bytes = bytes.dropFirst(sent)
    }
  }

  /// The next line.
  ///
  /// - Parameter skipsBlankLines: Whether empty ones mean nothing.
  func receive(skipsBlankLines: Bool = false) -> Received {
    var line: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while line.last != 10 {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { return .silence }
      if count <= 0 || line.count + count > Self.lineBytesMax { return .end }
      line += chunk[..<count]
      if skipsBlankLines { line.removeSubrange(..<(line.firstIndex { $0 != 10 } ?? line.endIndex)) }
    }
    return (try? JSONValue(parsing: line)).map(Received.json) ?? .end
  }
}
