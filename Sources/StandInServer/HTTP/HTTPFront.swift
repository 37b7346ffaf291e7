import CMicrohttpd
import Dispatch
import Glibc
import Synchronization

/// The socket: libmicrohttpd on 127.0.0.1 with one thread a connection, so that a slow client or a held-back answer
/// keeps nobody else waiting, and an answer leaves on the thread that read the request.
final class HTTPFront: Sendable {
  private struct Running: @unchecked Sendable {  // Proof: the daemon's functions may be called from every thread.
    let daemon: OpaquePointer
    let wakeReader: Int32
    let wakeWriter: Int32
    let handling: Unmanaged<Handling>
  }

  private let running: Mutex<Running?>
  /// The port that it listens on.
  let port: Int

  /// Connections at one time; a client beyond them waits to be accepted.
  fileprivate static let connectionCountMax: UInt32 = 512
  /// From so many on, those that keep the server waiting go to make room.
  fileprivate static let roomyConnectionCount = 256
  /// A connection without traffic is closed after this.
  private static let idleSeconds: UInt32 = 120
  /// How long a connection may take to end when the server stops; then it is cut off.
  private static let endLimit = DispatchTimeInterval.seconds(2)
  /// Memory for the head of a request, somewhat more than the 50 KiB that PostgREST takes; cleared for every request.
  private static let headMemoryBytes = 80 << 10

  /// Begins to listen.
  ///
  /// - Parameters:
  ///   - port: 0 picks a free one.
  ///   - bodyPlan: Says from a request's head how its body is taken; called, as all of them, on the connection's thread.
  ///   - uploadSpeed: Says from a request's head how fast its body is read, in bytes a second; `nil` for as it comes.
  ///   - handler: Answers a request.
  ///   - tooLarge: Answers a request whose body is larger than the plan allows; it gets it without the body.
  init(
    port: Int, bodyPlan: @escaping @Sendable (StandInRequest) -> BodyPlan,
    uploadSpeed: @escaping @Sendable (StandInRequest) -> Int?,
    handler: @escaping @Sendable (StandInRequest) -> StandInAnswer,
    tooLarge: @escaping @Sendable (StandInRequest) -> StandInAnswer
  ) throws(StandInError) {
    guard let number = UInt16(exactly: port) else {
      throw .cannotListen(port: port, reason: "a port is a number from 0 to 65535")
    }
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw .cannotListen(port: port, reason: String(cString: strerror(errno))) }
    let handling = Unmanaged.passRetained(
      Handling(
        wakeReader: ends[0], bodyPlan: bodyPlan, uploadSpeed: uploadSpeed, handler: handler, tooLarge: tooLarge))
    errno = 0
    let daemon = tm_mhd_start(
      number, Self.connectionCountMax, Self.idleSeconds, Self.headMemoryBytes, Exchange.begin, Exchange.step,
      Exchange.end, Handling.connected, handling.toOpaque())
    guard let daemon else {
      let reason = errno == 0 ? "the address is in use or may not be used" : String(cString: strerror(errno))
      handling.release()
      close(ends[0])
      close(ends[1])
      throw .cannotListen(port: port, reason: reason)
    }
    self.port = Int(tm_mhd_port(daemon))
    running = Mutex(
      Running(daemon: daemon, wakeReader: ends[0], wakeWriter: ends[1], handling: handling))
  }

  deinit { stop() }

  /// Closes the port and every connection; answers that are held back are let go of.
  ///
  /// Does nothing the second time.
  func stop() {
    guard let state = running.withLock({ running in exchange(&running, with: nil) }) else { return }
    var byte: UInt8 = 1
    _ = write(state.wakeWriter, &byte, 1)
    let handling = state.handling.takeUnretainedValue()
    // libmicrohttpd wants those that are no longer its own to be ended before it stops.
    handling.sockets.stop()
    // It dies of what is no request if that comes in at the moment in which it is stopped: nothing may come in any more.
    let listener = MHD_quiesce_daemon(state.daemon)
    handling.keeper.endAll(within: Self.endLimit)
    MHD_stop_daemon(state.daemon)
    if listener >= 0 { close(listener) }
    close(state.wakeReader)
    close(state.wakeWriter)
    state.handling.release()
  }
}

private func exchange<Value>(_ place: inout Value, with value: Value) -> Value {
  let old = place
  place = value
  return old
}

/// What every exchange needs to know.
private final class Handling: Sendable {
  let wakeReader: Int32
  let bodyPlan: @Sendable (StandInRequest) -> BodyPlan
  let uploadSpeed: @Sendable (StandInRequest) -> Int?
  let handler: @Sendable (StandInRequest) -> StandInAnswer
  let tooLarge: @Sendable (StandInRequest) -> StandInAnswer
  let keeper = ConnectionKeeper(roomyCount: HTTPFront.roomyConnectionCount)
  let sockets = RealtimeSockets()

  /// Called when a client has connected and before its socket is closed.
  static let connected:
    @convention(c) (
      UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
      MHD_ConnectionNotificationCode
    ) -> Void = { context, connection, _, code in
      guard let context, let connection else { return }
      let keeper = Unmanaged<Handling>.fromOpaque(context).takeUnretainedValue().keeper
      if tm_mhd_is_start(code) {
        keeper.opened(connection, socket: tm_mhd_socket(connection))
      } else {
        keeper.closed(connection)
      }
    }

  init(
    wakeReader: Int32, bodyPlan: @escaping @Sendable (StandInRequest) -> BodyPlan,
    uploadSpeed: @escaping @Sendable (StandInRequest) -> Int?,
    handler: @escaping @Sendable (StandInRequest) -> StandInAnswer,
    tooLarge: @escaping @Sendable (StandInRequest) -> StandInAnswer
  ) {
    self.wakeReader = wakeReader
    self.bodyPlan = bodyPlan
    self.uploadSpeed = uploadSpeed
    self.handler = handler
    self.tooLarge = tooLarge
  }

  /// Waits, but no longer than until the server stops.
  func hold(milliseconds: Int) {
    var wake = pollfd(fd: wakeReader, events: Int16(POLLIN), revents: 0)
    poll(&wake, 1, Int32(clamping: milliseconds))
  }
}

/// One request on its way in and its answer on its way out; lives from the request line to the end of the answer.
private final class Exchange {
  private let target: String
  private var request: StandInRequest?
  /// What takes the body in pieces; a body without one is kept in the request.
  private var receiver: (any BodyReceiver)?
  private var bodyBytesMax = Int.max
  private var bytesPerSecond: Int?
  private var isTooLarge = false
  private var receivedBytes = 0
  private var unwantedBytes = 0

  /// How much of a body that nobody wants is read and thrown away.
  private static let unwantedBytesMax = 1 << 20

  private init(target: String) { self.target = target }

  /// Called with the request line, before libmicrohttpd decodes or cuts anything of it.
  static let begin:
    @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?) -> UnsafeMutableRawPointer? = {
      _, target, _ in
      Unmanaged.passRetained(Exchange(target: target.map { String(cString: $0) } ?? "/")).toOpaque()
    }

  /// Called when the answer has left or the connection is gone.
  static let end:
    @convention(c) (
      UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
      MHD_RequestTerminationCode
    ) -> Void = { context, connection, place, _ in
      if let context, let connection {
        Unmanaged<Handling>.fromOpaque(context).takeUnretainedValue().keeper.waits(connection)
      }
      guard let raw = place?.pointee else { return }
      place?.pointee = nil
      let exchange = Unmanaged<Exchange>.fromOpaque(raw).takeRetainedValue()
      exchange.receiver?.end()
    }

  /// Called with the head, then with each piece of the body, then once more.
  static let step:
    @convention(c) (
      UnsafeMutableRawPointer?, OpaquePointer?, UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?,
      UnsafePointer<CChar>?, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> MHD_Result = { context, connection, _, method, _, data, size, place in
      guard let context, let connection, let raw = place?.pointee, let size else { return .NO }
      let handling = Unmanaged<Handling>.fromOpaque(context).takeUnretainedValue()
      let exchange = Unmanaged<Exchange>.fromOpaque(raw).takeUnretainedValue()
      return exchange.step(handling, connection, method: method, data: data, size: size)
    }

  private func step(
    _ handling: Handling, _ connection: OpaquePointer, method: UnsafePointer<CChar>?, data: UnsafePointer<CChar>?,
    size: UnsafeMutablePointer<Int>
  ) -> MHD_Result {
    if request == nil {
      let method = method.map { String(cString: $0) } ?? ""
      return begin(
        StandInRequest(method: method, target: target, fields: Self.fields(of: connection)), handling, connection)
    }
    if size.pointee > 0, let data {
      let count = size.pointee
      size.pointee = 0
      guard take(UnsafeRawBufferPointer(start: data, count: count)) else { return .NO }
      // What is not read yet fills the buffers on the way, and the client must wait.
      if let bytesPerSecond { handling.hold(milliseconds: count * 1_000 / bytesPerSecond) }
      return .YES
    }
    return answer(handling, connection)
  }

  /// The head is in.
  private func begin(_ head: StandInRequest, _ handling: Handling, _ connection: OpaquePointer) -> MHD_Result {
    request = head
    bytesPerSecond = handling.uploadSpeed(head)
    let length = head.field("Content-Length").flatMap { Int($0) } ?? 0
    switch handling.bodyPlan(head) {
    case .memory(let bytesMax):
      bodyBytesMax = bytesMax
      // A body that says itself that it is too large is refused before it is sent.
      if length > bytesMax { return Self.send(handling.tooLarge(head), on: connection, handling) }
    case .pieces(let receiver):
      self.receiver = receiver
      request?.receiver = receiver
      if !receiver.wantsMore, length > Self.unwantedBytesMax { return answer(handling, connection) }
    }
    return .YES
  }

  /// Takes a piece of the body; `false` when the client sends what nobody wants, and too much of it.
  private func take(_ piece: UnsafeRawBufferPointer) -> Bool {
    receivedBytes += piece.count
    if let receiver {
      if receiver.wantsMore {
        receiver.take(piece)
      } else {
        unwantedBytes += piece.count
      }
    } else if receivedBytes > bodyBytesMax {
      isTooLarge = true
      unwantedBytes = receivedBytes - bodyBytesMax
    } else {
      request?.body.append(contentsOf: piece)
    }
    // It is read a little further, so that the client hears why; not for ever.
    return unwantedBytes <= Self.unwantedBytesMax
  }

  private func answer(_ handling: Handling, _ connection: OpaquePointer) -> MHD_Result {
    guard var request else { return .NO }
    // The handler's copy is the only one, so that a body is not held twice.
    self.request?.body = []
    if isTooLarge { request.body = [] }
    handling.keeper.isServed(connection)
    defer { handling.keeper.waits(connection) }
    let answer = isTooLarge ? handling.tooLarge(request) : handling.handler(request)
    return Self.send(answer, on: connection, handling)
  }

  private static func fields(of connection: OpaquePointer) -> [(name: String, value: String)] {
    var fields: [(name: String, value: String)] = []
    withUnsafeMutablePointer(to: &fields) { place in
      _ = MHD_get_connection_values(
        connection, .HEADER_KIND,
        { place, _, name, value in
          guard let place, let name else { return .YES }
          place.assumingMemoryBound(to: [(name: String, value: String)].self).pointee
            .append((String(cString: name), value.map { String(cString: $0) } ?? ""))
          return .YES
        }, place)
    }
    return fields
  }

  private static func send(
    _ answer: StandInAnswer, on connection: OpaquePointer, _ handling: Handling
  ) -> MHD_Result {
    if answer.delayMilliseconds > 0 { handling.hold(milliseconds: answer.delayMilliseconds) }
    // MHD_NO closes the connection without a word.
    if answer.delivery == .dropped { return .NO }
    guard let response = response(answer, handling) else { return .NO }
    if answer.opening != nil { handling.keeper.leaves(connection) }
    defer { MHD_destroy_response(response) }
    for (name, value) in answer.fields { MHD_add_response_header(response, name, value) }
    return MHD_queue_response(connection, UInt32(answer.status), response)
  }

  private static func response(_ answer: StandInAnswer, _ handling: Handling) -> OpaquePointer? {
    if let opening = answer.opening { return Upgrade.response(opening, handling.sockets) }
    if answer.delivery == .truncated { return CutBody.response(answer) }
    if let file = answer.file {
      let descriptor = file.duplicate()
      guard descriptor >= 0 else { return nil }
      // libmicrohttpd closes the descriptor with the response.
      return MHD_create_response_from_fd_at_offset64(UInt64(file.count), descriptor, UInt64(file.offset))
    }
    return answer.body.withUnsafeBytes { bytes in
      // libmicrohttpd takes a mutable pointer but copies at once.
      MHD_create_response_from_buffer(
        bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
    }
  }
}

/// A connection that goes on as a WebSocket.
private final class Upgrade {
  private let opening: RealtimeOpening
  private let sockets: RealtimeSockets

  private init(_ opening: RealtimeOpening, _ sockets: RealtimeSockets) {
    self.opening = opening
    self.sockets = sockets
  }

  /// The handle of an upgraded connection, which any thread may end.
  private struct Handle: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  static func response(_ opening: RealtimeOpening, _ sockets: RealtimeSockets) -> OpaquePointer? {
    let upgrade = Unmanaged.passRetained(Upgrade(opening, sockets))
    let response = MHD_create_response_for_upgrade(
      { context, _, _, early, earlyCount, socket, handle in
        guard let context, let handle else { return }
        let upgrade = Unmanaged<Upgrade>.fromOpaque(context).takeRetainedValue()
        let held = Handle(pointer: handle)
        let early = UnsafeRawBufferPointer(start: early, count: earlyCount)
        let isServed = upgrade.sockets.serve(socket, early: Array(early), opening: upgrade.opening) {
          tm_mhd_close_upgraded(held.pointer)
        }
        if !isServed { tm_mhd_close_upgraded(handle) }
      }, upgrade.toOpaque())
    if response == nil { upgrade.release() }
    return response
  }
}

/// A body of which the head promises all: the reader gives half of it and then fails, which closes the connection.
private final class CutBody {
  private let bytes: [UInt8]
  private let file: AnswerFile?

  private init(_ answer: StandInAnswer) {
    bytes = answer.body
    file = answer.file
  }

  static func response(_ answer: StandInAnswer) -> OpaquePointer? {
    let body = Unmanaged.passRetained(CutBody(answer))
    return MHD_create_response_from_callback(
      UInt64(answer.file?.count ?? answer.body.count), 4_096,
      { context, position, buffer, room in
        guard let context, let buffer else { return -2 }
        let body = Unmanaged<CutBody>.fromOpaque(context).takeUnretainedValue()
        return body.read(at: Int(position), into: UnsafeMutableRawBufferPointer(start: buffer, count: room))
      }, body.toOpaque(), { context in context.map { Unmanaged<CutBody>.fromOpaque($0).release() } })
  }

  private func read(at place: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let left = (file?.count ?? bytes.count) / 2 - place
    guard left > 0 else { return -2 }
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(left, buffer.count)])
    if let file { return file.read(at: place, into: room) }
    room.copyBytes(from: bytes[place..<place + room.count])
    return room.count
  }
}
