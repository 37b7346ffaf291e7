import CCurl
import Glibc
import Synchronization
import Threads
import WebSocket

/// Live connections over libcurl, with its TLS, proxies and name look-ups; each has a thread of its own.
public struct CurlWebSocketOpener: WebSocketOpener {
  private let settings: CurlSettings

  /// Connections with the same way out as the exchange that has these settings.
  public init(_ settings: CurlSettings = CurlSettings()) { self.settings = settings }

  /// Begins to connect on a thread of its own, which ends with the connection.
  public func open(
    _ request: WebSocketRequest, deliver: @escaping @Sendable (WebSocketEvent) -> Void
  ) -> any WebSocketConnection {
    let address: HTTPAddress
    do {
      address = try HTTPAddress(request.url)
    } catch {
      deliver(.closed(.http(error)))
      return ClosedConnection()
    }
    let connection = CurlWebSocket(request, address, settings, deliver)
    connection.start()
    return connection
  }
}

private struct ClosedConnection: WebSocketConnection {
  func send(_ text: String) {}
  func close() {}
}

/// One connection and its thread.
///
/// Unchecked because the compiler cannot see the thread: `easy` and `multi` are used by it alone, except for
/// `curl_multi_wakeup`, which is called only under the lock that the thread takes before it frees the handle.
private final class CurlWebSocket: WebSocketConnection, @unchecked Sendable {
  private struct Inbox {
    var texts: [String] = []
    var isClosing = false
    var isOver = false
  }

  private let request: WebSocketRequest
  private let address: HTTPAddress
  private let settings: CurlSettings
  private let deliver: @Sendable (WebSocketEvent) -> Void
  private let inbox = Mutex(Inbox())
  private let multi: UnsafeMutableRawPointer?
  private let easy: UnsafeMutableRawPointer?
  /// Bytes on their way to the server.
  private var unsent: [UInt8] = []

  init(
    _ request: WebSocketRequest, _ address: HTTPAddress, _ settings: CurlSettings,
    _ deliver: @escaping @Sendable (WebSocketEvent) -> Void
  ) {
    self.request = request
    self.address = address
    self.settings = settings
    self.deliver = deliver
    multi = CurlLoop.isReady ? curl_multi_init() : nil
    easy = curl_easy_init()
  }

  deinit {
    curl_easy_cleanup(easy)
    curl_multi_cleanup(multi)
  }

  func send(_ text: String) { change { $0.texts.append(text) } }

  func close() { change { $0.isClosing = true } }

  private func change(_ change: (inout Inbox) -> Void) {
    inbox.withLock { inbox in
      guard !inbox.isOver else { return }
      change(&inbox)
      curl_multi_wakeup(multi)
    }
  }

  // MARK: The thread

  func start() {
    let isStarted = multi != nil && easy != nil && BlockingThread { self.run() }.start()
    if !isStarted { finish(.http(.closed)) }
  }

  private func run() {
    CurlLoop.blockSignals()
    var failure: WebSocketFailure?
    do throws(WebSocketFailure) {
      try connect()
      try serve()
    } catch {
      failure = error
    }
    if let easy { curl_multi_remove_handle(multi, easy) }
    finish(failure)
  }

  private func finish(_ failure: WebSocketFailure?) {
    inbox.withLock { $0.isOver = true }
    deliver(.closed(failure))
  }

  private var isClosing: Bool { inbox.withLock(\.isClosing) }

  /// Makes the connection, through the proxy and with TLS where there are any.
  private func connect() throws(WebSocketFailure) {
    guard let easy, settings.setRoute(of: easy, url: request.url, to: address),
      tm_setopt_long(easy, CURLOPT_CONNECT_ONLY, 1) == CURLE_OK,
      // A WebSocket needs HTTP/1.1, and through a proxy a tunnel also without TLS.
      tm_setopt_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)) == CURLE_OK,
      tm_setopt_long(easy, CURLOPT_HTTPPROXYTUNNEL, 1) == CURLE_OK,
      curl_multi_add_handle(multi, easy) == CURLM_OK
    else { throw .http(.closed) }
    while true {
      if isClosing { throw .http(.cancelled(mayHaveReachedServer: false)) }
      var running: Int32 = 0
      curl_multi_perform(multi, &running)
      var left: Int32 = 0
      if let message = curl_multi_info_read(multi, &left), message.pointee.msg == CURLMSG_DONE {
        let code = message.pointee.data.result
        guard code == CURLE_OK else { throw .http(failure(code)) }
        return
      }
      curl_multi_poll(multi, nil, 0, 1_000, nil)
    }
  }

  /// Carries texts until one of the ends has enough.
  private func serve() throws(WebSocketFailure) {
    var generator = SystemRandomNumberGenerator()
    let randomBytes: (Int) -> [UInt8] = { count in (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
    var handshake = WebSocketClientHandshake(
      host: address.authority, target: address.rest.isEmpty ? "/" : address.rest,
      fields: [("User-Agent", settings.userAgent)], randomBytes: randomBytes(16))
    unsent = handshake.request
    let deadline = ContinuousClock.now + settings.connectLimit
    var first: [UInt8] = []
    opening: while true {
      if isClosing { throw .http(.cancelled(mayHaveReachedServer: false)) }
      try flush()
      switch handshake.receive(try arrived()) {
      case .unfinished: break
      case .opened(let rest):
        first = rest
        break opening
      case .refused(let status, _): throw .refused(origin: address.origin, status: status)
      case .broken(let reason): throw .broken(origin: address.origin, reason: reason)
      }
      guard ContinuousClock.now < deadline else {
        throw .http(.timedOut(origin: address.origin, phase: .connecting, mayHaveReachedServer: true))
      }
      wait(milliseconds: 1_000)
    }
    deliver(.opened)
    let end = WebSocketEnd(.client(randomBytes: randomBytes), messageBytesMax: request.messageBytesMax)
    var bytes = first
    while true {
      for message in end.receive(bytes) { if case .text(let text) = message { deliver(.text(text)) } }
      let isClosing = queue(on: end)
      unsent += end.output()
      try flush()
      if end.isOver || isClosing { return }
      bytes = try arrived()
      // An hour is as good as for ever: whoever has something to send wakes the wait.
      if bytes.isEmpty { wait(milliseconds: 3_600_000) }
    }
  }

  /// Takes what was handed over; whether that was the end.
  private func queue(on end: WebSocketEnd) -> Bool {
    let (texts, isClosing) = inbox.withLock { inbox in
      defer { inbox.texts = [] }
      return (inbox.texts, inbox.isClosing)
    }
    for text in texts { end.send(.text(text)) }
    // The server's answer is not waited for: it may be long gone.
    if isClosing { end.send(.close(.normal, reason: "")) }
    return isClosing
  }

  /// Sends what the connection takes now.
  private func flush() throws(WebSocketFailure) {
    while !unsent.isEmpty {
      var count = 0
      let code = curl_easy_send(easy, unsent, unsent.count, &count)
      if code == CURLE_AGAIN { return }
      guard code == CURLE_OK else { throw .http(cut(code)) }
      unsent.removeFirst(count)
    }
  }

  /// What has come; empty where nothing has.
  ///
  /// TLS may hold back decoded bytes that no socket tells of, so it is asked before every wait.
  private func arrived() throws(WebSocketFailure) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 32 << 10)
    var count = 0
    let code = curl_easy_recv(easy, &buffer, buffer.count, &count)
    if code == CURLE_AGAIN { return [] }
    guard code == CURLE_OK else { throw .http(cut(code)) }
    guard count > 0 else { throw .broken(origin: address.origin, reason: "the server closed it") }
    return Array(buffer[..<count])
  }

  private func wait(milliseconds: Int32) {
    var socket: curl_socket_t = -1
    tm_getinfo_socket(easy, &socket)
    let events = CURL_WAIT_POLLIN | (unsent.isEmpty ? 0 : CURL_WAIT_POLLOUT)
    var waited = curl_waitfd(fd: socket, events: Int16(events), revents: 0)
    curl_multi_poll(multi, &waited, 1, milliseconds, nil)
  }

  // MARK: Failures

  private func failure(_ code: CURLcode) -> HTTPError {
    let reason = String(cString: curl_easy_strerror(code))
    switch code {
    case CURLE_OPERATION_TIMEDOUT:
      return .timedOut(origin: address.origin, phase: .connecting, mayHaveReachedServer: false)
    case CURLE_COULDNT_RESOLVE_HOST: return .cannotResolve(host: address.host)
    case _ where CurlTransfer.isAboutTLS(code): return .tls(origin: address.origin, reason: reason)
    default: return .cannotConnect(origin: address.origin, reason: reason)
    }
  }

  private func cut(_ code: CURLcode) -> HTTPError {
    .cut(origin: address.origin, reason: String(cString: curl_easy_strerror(code)), mayHaveReachedServer: true)
  }
}
