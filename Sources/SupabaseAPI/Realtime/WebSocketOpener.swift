/// The seam between Realtime and the network: connections that carry whole texts.
public protocol WebSocketOpener: Sendable {
  /// Begins to connect, and returns at once.
  ///
  /// - Parameter deliver: Told what happens, in order and from any thread; it must not wait. `closed` comes once and last.
  func open(
    _ request: WebSocketRequest, deliver: @escaping @Sendable (WebSocketEvent) -> Void
  ) -> any WebSocketConnection
}

/// One connection, from the attempt to make it until its end.
public protocol WebSocketConnection: Sendable {
  /// Sends a text; one that comes before the connection stands, or after its end, is dropped.
  func send(_ text: String)
  /// Ends the connection, or the attempt.
  func close()
}

/// What happens on a connection.
public enum WebSocketEvent: Sendable, Hashable {
  /// The connection stands.
  case opened
  /// A text came.
  case text(String)
  /// The connection is over; without a failure where somebody closed it in order.
  case closed(WebSocketFailure?)
}

/// Why a connection ended or was not made.
public enum WebSocketFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// No connection.
  case http(HTTPError)
  /// The server answered with something else than a WebSocket.
  case refused(origin: String, status: Int)
  /// It answered in a way that no WebSocket server does, or broke the protocol.
  case broken(origin: String, reason: String)

  /// Where and what; never the address's query, which holds the key.
  public var description: String {
    switch self {
    case .http(let error): "\(error)"
    case .refused(let origin, let status):
      switch status {
      case 401, 403: "\(origin) refused the live connection (HTTP \(status)); check the project's key"
      case 404: "\(origin) has no live changes there (HTTP 404)"
      default: "\(origin) refused the live connection (HTTP \(status))"
      }
    case .broken(let origin, let reason): "the live connection to \(origin) broke: \(reason)"
    }
  }
}

/// Where a connection goes.
///
/// Its description shows no query: that holds the key.
public struct WebSocketRequest: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  /// The whole URL, percent-encoded, with `http` or `https`.
  public var url: String
  /// The most bytes that a message may have; a longer one ends the connection.
  public var messageBytesMax: Int

  /// A connection to a URL.
  public init(url: String, messageBytesMax: Int) {
    self.url = url
    self.messageBytesMax = messageBytesMax
  }

  /// The place, without the query.
  public var description: String { String(url.prefix { $0 != "?" }) }
  /// Shows what the description shows.
  public var customMirror: Mirror { Mirror(self, children: ["place": description]) }
}
