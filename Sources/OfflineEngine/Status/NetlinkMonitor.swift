import Glibc
import Synchronization
import Threads

/// Linux's word on the network, from the kernel's routing socket (rtnetlink(7)); it needs no rights.
///
/// Each loop has a thread and two sockets of its own. What happens only says that it is time to look again: links,
/// addresses and routes are then read anew, so that no event that was lost or misread leaves a wrong picture.
public struct NetlinkMonitor: ConnectivitySource {
  /// The system's monitor.
  public init() {}

  /// The state of now, then every change; `unknown` and the end when the kernel cannot be asked.
  public func states() -> AsyncStream<NetworkAvailability> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      guard let stop = StopLine() else {
        continuation.yield(.unknown)
        continuation.finish()
        return
      }
      continuation.onTermination = { _ in stop.pull() }
      let hasStarted = BlockingThread {
        NetlinkLoop(stop: stop.reading) { continuation.yield($0) }?.run()
        close(stop.reading)
        continuation.yield(.unknown)
        continuation.finish()
      }.start()
      guard !hasStarted else { return }
      close(stop.reading)
      continuation.yield(.unknown)
      continuation.finish()
    }
  }
}

/// Ends a thread that waits for descriptors: closing one end of a pair wakes who waits at the other.
private final class StopLine: Sendable {
  /// The end that the thread waits at, and closes.
  let reading: Int32
  private let writing: Mutex<Int32?>

  init?() {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else { return nil }
    reading = ends[0]
    writing = Mutex(ends[1])
  }

  func pull() {
    writing.withLock { writing in
      if let writing { close(writing) }
      writing = nil
    }
  }
}

/// The thread's work: waits for events, and reads the whole picture after them.
private struct NetlinkLoop: ~Copyable {
  // linux/rtnetlink.h: RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_IFADDR, RTMGRP_IPV6_ROUTE.
  private static let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400
  /// How long the kernel may take for one datagram of a dump; it takes microseconds.
  private static let answerLimit = timeval(tv_sec: 5, tv_usec: 0)
  private static let dumpTries = 5

  private let stop: Int32
  private let events: Int32
  private let questions: Int32
  private let say: (NetworkAvailability) -> Void

  init?(stop: Int32, say: @escaping (NetworkAvailability) -> Void) {
    guard let events = Self.open(groups: Self.groups) else { return nil }
    guard let questions = Self.open(groups: 0) else {
      close(events)
      return nil
    }
    (self.stop, self.events, self.questions, self.say) = (stop, events, questions, say)
  }

  deinit {
    close(events)
    close(questions)
  }

  /// Runs until it is stopped, or the kernel cannot be asked.
  func run() {
    // The subscription came first, so that nothing falls between it and the first look.
    var last: NetworkAvailability?
    var isTouched = true
    while true {
      if isTouched {
        guard let now = picture()?.availability else { return }
        if now != last { say(now) }
        last = now
      }
      var waiting = [
        pollfd(fd: stop, events: Int16(POLLIN), revents: 0), pollfd(fd: events, events: Int16(POLLIN), revents: 0),
      ]
      if poll(&waiting, 2, -1) < 0 {
        guard errno == EINTR else { return }
        isTouched = false
        continue
      }
      guard waiting[0].revents == 0, let isNews = drain() else { return }
      isTouched = isNews
    }
  }

  /// Takes every event that waits.
  ///
  /// - Returns: Whether one of them matters; `nil` when the socket failed.
  private func drain() -> Bool? {
    var isTouched = false
    while true {
      switch Self.receive(events, flags: Int32(MSG_DONTWAIT)) {
      case .success(let bytes):
        guard let messages = NetlinkMessage.all(in: bytes) else { return true }
        isTouched = isTouched || messages.contains(where: NetworkPicture.isTouched)
      case .failure(let error):
        switch error.number {
        case EAGAIN: return isTouched
        case EINTR: continue
        case ENOBUFS: isTouched = true  // Events were lost: what they said is seen by looking.
        default: return nil
        }
      }
    }
  }

  /// Reads links, addresses and routes.
  private func picture() -> NetworkPicture? {
    for isLast in (1...Self.dumpTries).map({ $0 == Self.dumpTries }) {
      var picture = NetworkPicture()
      var isWhole = true
      for kind in [NetlinkMessage.getLink, NetlinkMessage.getAddress, NetlinkMessage.getRoute] {
        guard let wasWhole = dump(kind, into: &picture) else { return nil }
        isWhole = isWhole && wasWhole
      }
      // Whatever changed meanwhile is an event, too, so that a picture taken in restless times is not the last.
      if isWhole || isLast { return picture }
    }
    return nil
  }

  /// Asks for everything of a kind.
  ///
  /// - Returns: Whether nothing changed meanwhile; `nil` when there was no answer.
  private func dump(_ kind: UInt16, into picture: inout NetworkPicture) -> Bool? {
    guard Self.send(Self.question(kind), to: questions) else { return nil }
    var isWhole = true
    while true {
      switch Self.receive(questions, flags: 0) {
      case .failure(let error):
        guard error.number == EINTR else { return nil }
      case .success(let bytes):
        guard let messages = NetlinkMessage.all(in: bytes) else { return nil }
        for message in messages {
          if message.flags & NetlinkMessage.interrupted != 0 { isWhole = false }
          switch message.kind {
          case NetlinkMessage.done: return isWhole
          case NetlinkMessage.error: return nil
          default: picture.add(message)
          }
        }
      }
    }
  }

  // MARK: The socket

  /// A request for a dump of all families.
  private static func question(_ kind: UInt16) -> [UInt8] {
    var body: [UInt8]
    switch kind {
    case NetlinkMessage.getLink:
      // IFLA_EXT_MASK with RTEXT_FILTER_SKIP_STATS: the counters are most of the answer.
      body = [UInt8](repeating: 0, count: 16) + bytes(UInt16(8)) + bytes(UInt16(29)) + bytes(UInt32(8))
    case NetlinkMessage.getAddress: body = [UInt8](repeating: 0, count: 8)
    default: body = [UInt8](repeating: 0, count: 12)
    }
    let requestAndDump: UInt16 = 0x301  // NLM_F_REQUEST, NLM_F_DUMP
    return bytes(UInt32(NetlinkMessage.headerSize + body.count)) + bytes(kind) + bytes(requestAndDump)
      + bytes(UInt32(1)) + bytes(UInt32(0)) + body
  }

  private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number, Array.init) }

  private static func open(groups: UInt32) -> Int32? {
    let routes: Int32 = 0  // NETLINK_ROUTE
    let descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), routes)
    guard descriptor >= 0 else { return nil }
    var limit = answerLimit
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    // struct sockaddr_nl: family (2), padding (2), port (4, of the kernel's choice), groups (4).
    let address = bytes(UInt16(AF_NETLINK)) + [0, 0] + bytes(UInt32(0)) + bytes(groups)
    let isBound = address.withUnsafeBytes { address in
      bind(descriptor, address.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(address.count)) == 0
    }
    guard isBound else {
      close(descriptor)
      return nil
    }
    return descriptor
  }

  private static func send(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    while true {
      let count = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, 0) }
      if count == bytes.count { return true }
      guard count < 0, errno == EINTR else { return false }
    }
  }

  private struct SystemError: Error { let number: Int32 }

  /// One datagram; one that did not fit fails, since the kernel's own are at most 32 KiB.
  private static func receive(_ descriptor: Int32, flags: Int32) -> Result<[UInt8], SystemError> {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = buffer.withUnsafeMutableBytes {
      recv(descriptor, $0.baseAddress, $0.count, flags | Int32(MSG_TRUNC))
    }
    guard count >= 0 else { return .failure(SystemError(number: errno)) }
    guard count <= buffer.count else { return .failure(SystemError(number: EMSGSIZE)) }
    return .success(Array(buffer[..<count]))
  }
}
