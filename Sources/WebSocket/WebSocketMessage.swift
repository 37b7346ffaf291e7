/// What one end of a connection says to the other (RFC 6455).
public enum WebSocketMessage: Sendable, Hashable {
  /// A text, whole.
  case text(String)
  /// Bytes, whole.
  case binary([UInt8])
  /// A question whether the other end is there; it is answered by itself.
  case ping([UInt8])
  /// The answer to a ping.
  case pong([UInt8])
  /// The end of the connection; the answer to it goes out by itself.
  case close(WebSocketCloseCode, reason: String)
}

/// Why a connection ends (RFC 6455, section 7.4).
public struct WebSocketCloseCode: RawRepresentable, Sendable, Hashable {
  /// The number on the wire.
  public var rawValue: UInt16

  /// A code by its number.
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// The work is done.
  public static let normal = Self(rawValue: 1000)
  /// The end goes away: a server that stops, a program that ends.
  public static let goingAway = Self(rawValue: 1001)
  /// The other end broke the protocol.
  public static let protocolError = Self(rawValue: 1002)
  /// No code was sent; never on the wire.
  public static let none = Self(rawValue: 1005)
  /// The message is longer than this end takes.
  public static let tooBig = Self(rawValue: 1009)
  /// The server failed.
  public static let serverError = Self(rawValue: 1011)
}
