import Glibc
import Synchronization
import Threads
import WebSocket

/// The sockets of all WebSocket connections, so that a server that stops can end them first.
final class RealtimeSockets: Sendable {
  private struct State {
    var open: [ObjectIdentifier: RealtimeSocket] = [:]
    var isStopping = false
  }

  private let state = Mutex(State())
  private let ended = EndCount()

  /// Serves a connection on a thread of its own.
  ///
  /// - Parameters:
  ///   - early: What the client sent right behind its request.
  ///   - onEnd: Called when the socket is not used any more.
  /// - Returns: Whether there was a thread for it.
  func serve(
    _ descriptor: Int32, early: [UInt8], opening: RealtimeOpening, onEnd: @escaping @Sendable () -> Void
  ) -> Bool {
    guard let socket = RealtimeSocket(descriptor) else { return false }
    let id = ObjectIdentifier(socket)
    let isWelcome = state.withLock { state in
      guard !state.isStopping else { return false }
      state.open[id] = socket
      return true
    }
    guard isWelcome else { return false }
    let isStarted = BlockingThread {
      socket.run(early: early, opening: opening)
      onEnd()
      self.remove(id)
    }.start()
    if !isStarted { remove(id) }
    return isStarted
  }

  private func remove(_ id: ObjectIdentifier) {
    let isStopping = state.withLock { state in
      state.open[id] = nil
      return state.isStopping
    }
    if isStopping { ended.add() }
  }

  /// Ends every connection and waits until none uses its socket.
  func stop() {
    let open = state.withLock { state in
      guard !state.isStopping else { return [RealtimeSocket]() }
      state.isStopping = true
      return Array(state.open.values)
    }
    for socket in open { socket.deliver(.close(reason: "")) }
    ended.wait(for: open.count)
  }
}

/// How one WebSocket connection is opened: with its way back to the client.
struct RealtimeOpening: Sendable {
  /// Takes the client on.
  let open: @Sendable (_ deliver: @escaping @Sendable (RealtimeDelivery) -> Void) -> RealtimeLink
}

/// One WebSocket connection on its thread.
final class RealtimeSocket: Sendable {
  private struct Outbox {
    var deliveries: [RealtimeDelivery] = []
    var bytes = 0
  }

  private let descriptor: Int32
  /// A pipe that is made readable by whoever has something to send.
  private let wakeReader: Int32
  private let wakeWriter: Int32
  private let outbox = Mutex(Outbox())

  /// A client that does not take what it is sent is cut off beyond this.
  private static let unsentBytesMax = 16 << 20
  /// The server's clock may be set: it is looked at so often.
  private static let waitMillisecondsMax: Int64 = 1_000
  /// How long a client may take to answer a close, in microseconds.
  private static let closeLimit: Int64 = 200_000

  fileprivate init?(_ descriptor: Int32) {
    self.descriptor = descriptor
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    (wakeReader, wakeWriter) = (ends[0], ends[1])
    var isOn: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
  }

  deinit {
    close(wakeReader)
    close(wakeWriter)
  }

  /// Hands over what is to be sent; from any thread.
  fileprivate func deliver(_ delivery: RealtimeDelivery) {
    outbox.withLock { outbox in
      if case .text(let text) = delivery { outbox.bytes += text.utf8.count }
      outbox.deliveries.append(outbox.bytes > Self.unsentBytesMax ? .cut : delivery)
    }
    // A pipe that is full wakes as well.
    var byte: UInt8 = 1
    _ = write(wakeWriter, &byte, 1)
  }

  /// Serves the connection until it ends.
  fileprivate func run(early: [UInt8], opening: RealtimeOpening) {
    let end = WebSocketEnd(.server, messageBytesMax: RealtimeRules.messageBytesMax)
    let link = opening.open { [weak self] in self?.deliver($0) }
    defer { link.close() }
    var unsent: [UInt8] = []
    var isClosing = false
    take(end.receive(early), link)
    while true {
      let due = link.tick()
      guard queueDeliveries(on: end, isClosing: &isClosing) else { return }
      unsent += end.output()
      guard send(&unsent), unsent.count <= Self.unsentBytesMax else { return }
      if end.isOver, unsent.isEmpty { return }
      guard let arrived = wait(upTo: isClosing ? Self.closeLimit : due, isSending: !unsent.isEmpty) else { return }
      if isClosing, arrived.isEmpty { return }
      take(end.receive(arrived), link)
    }
  }

  private func take(_ messages: [WebSocketMessage], _ link: RealtimeLink) {
    for message in messages {
      switch message {
      case .text(let text): link.receive(text)
      // Binary messages are broadcasts of the newer form, which the stand-in does not pass on.
      case .binary, .ping, .pong: break
      case .close: link.close()
      }
    }
  }

  /// `false` where the connection is to break.
  private func queueDeliveries(on end: WebSocketEnd, isClosing: inout Bool) -> Bool {
    let deliveries = outbox.withLock { outbox in
      defer { outbox = Outbox() }
      return outbox.deliveries
    }
    for delivery in deliveries {
      switch delivery {
      case .text(let text): end.send(.text(text))
      case .close(let reason):
        end.send(.close(.normal, reason: reason))
        isClosing = true
      case .cut: return false
      }
    }
    return true
  }

  /// Sends what the socket takes; `false` when it is broken.
  private func send(_ unsent: inout [UInt8]) -> Bool {
    while !unsent.isEmpty {
      let count = Glibc.send(descriptor, unsent, unsent.count, Int32(MSG_NOSIGNAL))
      if count < 0 { return errno == EAGAIN || errno == EINTR }
      unsent.removeFirst(count)
    }
    return true
  }

  /// Waits for bytes, for something to send, or for the time; gives what came, or `nil` at the end.
  private func wait(upTo microseconds: Int64?, isSending: Bool) -> [UInt8]? {
    let wait = microseconds.map { min($0, Self.waitMillisecondsMax * 1_000) + 999 } ?? 1_000_000
    var waited = [
      pollfd(fd: descriptor, events: Int16(POLLIN) | (isSending ? Int16(POLLOUT) : 0), revents: 0),
      pollfd(fd: wakeReader, events: Int16(POLLIN), revents: 0),
    ]
    poll(&waited, 2, Int32(wait / 1_000))
    var wakes = [UInt8](repeating: 0, count: 256)
    _ = read(wakeReader, &wakes, wakes.count)
    guard waited[0].revents & ~Int16(POLLOUT) != 0 else { return [] }
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let arrived = recv(descriptor, &buffer, buffer.count, 0)
    if arrived < 0 { return errno == EAGAIN || errno == EINTR ? [] : nil }
    return arrived == 0 ? nil : Array(buffer[..<arrived])
  }
}

/// Counts what ends, for one who waits for all of it.
private final class EndCount: @unchecked Sendable {  // Proof: a semaphore is made for several threads.
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { sem_init(semaphore, 0, 0) }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  func add() { sem_post(semaphore) }

  func wait(for count: Int) {
    for _ in 0..<count { while sem_wait(semaphore) != 0 && errno == EINTR {} }
  }
}
