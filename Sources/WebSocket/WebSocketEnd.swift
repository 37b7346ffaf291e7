import CWslay

/// One end of a WebSocket connection without the connection: bytes in, messages out, and the other way round.
///
/// No socket, no thread and no clock is in it: whoever has them hands in the bytes that came and sends what `output` gives.
/// What breaks the protocol, or is too long, ends the connection with the code that the standard has for it; the close then
/// stands in `output`, and nothing more is read. Belongs to one owner at a time.
public final class WebSocketEnd {
  /// Which end it is.
  public enum Role {
    /// The one that connected: what it sends is masked with random bytes that nobody can guess (RFC 6455, section 5.3).
    case client(randomBytes: (Int) -> [UInt8])
    /// The one that was connected to.
    case server
  }

  private var context: wslay_event_context_ptr?
  private let randomBytes: ((Int) -> [UInt8])?
  private var arrived: [UInt8] = []
  private var taken = 0
  private var messages: [WebSocketMessage] = []
  private var written: [UInt8] = []

  /// An end of a connection whose handshake is done.
  ///
  /// - Parameter messageBytesMax: A longer message ends the connection with code 1009.
  public init(_ role: Role, messageBytesMax: Int) {
    if case .client(let randomBytes) = role { self.randomBytes = randomBytes } else { randomBytes = nil }
    var callbacks = Self.callbacks
    let this = Unmanaged.passUnretained(self).toOpaque()
    let result =
      randomBytes == nil
      ? wslay_event_context_server_init(&context, &callbacks, this)
      : wslay_event_context_client_init(&context, &callbacks, this)
    precondition(result == 0, "no memory for a connection")  // The only reason that libwslay has.
    wslay_event_config_set_max_recv_msg_length(context, UInt64(messageBytesMax))
  }

  deinit { wslay_event_context_free(context) }

  /// Takes bytes that came, and gives the messages that they complete, in order.
  public func receive(_ bytes: some Sequence<UInt8>) -> [WebSocketMessage] {
    arrived.append(contentsOf: bytes)
    defer {
      arrived.removeFirst(taken)
      taken = 0
      messages = []
    }
    // Anything but 0 is a fault of memory or of the callbacks, which know none.
    if wslay_event_get_read_enabled(context) != 0, wslay_event_recv(context) != 0 {
      wslay_event_shutdown_read(context)
    }
    if wslay_event_get_read_enabled(context) == 0 { taken = arrived.count }
    return messages
  }

  /// Puts a message into the output; one that comes behind a close is dropped.
  public func send(_ message: WebSocketMessage) {
    switch message {
    case .text(let text): queue(WSLAY_TEXT_FRAME, Array(text.utf8))
    case .binary(let bytes): queue(WSLAY_BINARY_FRAME, bytes)
    case .ping(let bytes): queue(WSLAY_PING, bytes)
    case .pong(let bytes): queue(WSLAY_PONG, bytes)
    case .close(let code, let reason):
      // libwslay sends a close before the messages that wait, which would then never leave.
      if wslay_event_send(context) != 0 { wslay_event_shutdown_write(context) }
      // A control frame has room for 125 bytes, two of them for the code.
      let bytes = Array(reason.utf8.prefix(123))
      // libwslay lets control frames overtake what waits, and sends nothing behind a close.
      wslay_event_send(context)
      wslay_event_queue_close(context, code.rawValue, bytes, bytes.count)
    }
  }

  /// Takes the bytes that are to be sent.
  public func output() -> [UInt8] {
    if wslay_event_send(context) != 0 { wslay_event_shutdown_write(context) }
    defer { written = [] }
    return written
  }

  /// Whether nothing more is to be read or sent: the connection can be closed.
  public var isOver: Bool { wslay_event_want_read(context) == 0 && wslay_event_want_write(context) == 0 }

  private func queue(_ opcode: wslay_opcode, _ bytes: [UInt8]) {
    bytes.withUnsafeBufferPointer { buffer in
      var message = wslay_event_msg(opcode: UInt8(opcode.rawValue), msg: buffer.baseAddress, msg_length: buffer.count)
      wslay_event_queue_msg(context, &message)
    }
  }

  // MARK: libwslay's callbacks

  private static let callbacks = wslay_event_callbacks(
    recv_callback: { context, buffer, room, _, this in
      guard let end = WebSocketEnd.from(this), let buffer else { return -1 }
      let count = min(room, end.arrived.count - end.taken)
      guard count > 0 else {
        wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK.rawValue)
        return -1
      }
      end.arrived.withUnsafeBufferPointer { arrived in
        if let base = arrived.baseAddress { buffer.update(from: base + end.taken, count: count) }
      }
      end.taken += count
      return count
    },
    send_callback: { _, bytes, count, _, this in
      guard let end = WebSocketEnd.from(this) else { return -1 }
      end.written.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
      return count
    },
    genmask_callback: { _, buffer, count, this in
      guard let bytes = WebSocketEnd.from(this)?.randomBytes?(count), let buffer else { return -1 }
      for (place, byte) in bytes.prefix(count).enumerated() { buffer[place] = byte }
      return 0
    },
    on_frame_recv_start_callback: nil, on_frame_recv_chunk_callback: nil, on_frame_recv_end_callback: nil,
    on_msg_recv_callback: { _, message, this in
      guard let end = WebSocketEnd.from(this), let message = message?.pointee else { return }
      let bytes = Array(UnsafeBufferPointer(start: message.msg, count: message.msg_length))
      end.messages.append(WebSocketEnd.message(message.opcode, bytes, code: message.status_code))
    })

  private static func message(_ opcode: UInt8, _ bytes: [UInt8], code: UInt16) -> WebSocketMessage {
    switch UInt32(opcode) {
    // libwslay has looked that it is UTF-8.
    case WSLAY_TEXT_FRAME.rawValue: .text(String(decoding: bytes, as: UTF8.self))
    case WSLAY_PING.rawValue: .ping(bytes)
    case WSLAY_PONG.rawValue: .pong(bytes)
    case WSLAY_CONNECTION_CLOSE.rawValue:
      .close(
        code == 0 ? .none : WebSocketCloseCode(rawValue: code),
        reason: String(decoding: bytes.dropFirst(2), as: UTF8.self))
    default: .binary(bytes)
    }
  }

  private static func from(_ pointer: UnsafeMutableRawPointer?) -> WebSocketEnd? {
    pointer.map { Unmanaged<WebSocketEnd>.fromOpaque($0).takeUnretainedValue() }
  }
}
