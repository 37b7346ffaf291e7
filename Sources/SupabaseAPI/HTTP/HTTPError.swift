/// Why a request got no whole answer.
///
/// Messages name scheme, host and port only: a query holds filter values.
public enum HTTPError: Error, Sendable, Hashable {
  /// How far a request had come when its time was over.
  public enum Phase: Sendable, Hashable {
    /// No connection was made within the connect limit.
    case connecting
    /// The connection was there, but nothing moved for the stall limit.
    case stalled
    /// The limit for the whole exchange was over.
    case whole
  }

  /// The request cannot be sent as it is: a bad URL, or a header with a line break. Trying again cannot help.
  case badRequest(reason: String)
  /// The host has no address, or the name service did not answer.
  case cannotResolve(host: String)
  /// No connection, or the proxy made none.
  case cannotConnect(origin: String, reason: String)
  /// The server's certificate or its TLS was not accepted; a login page of a public network looks like this too.
  case tls(origin: String, reason: String)
  /// Time was over.
  case timedOut(origin: String, phase: Phase, mayHaveReachedServer: Bool)
  /// The connection broke before the answer was whole, or what came was not HTTP.
  case cut(origin: String, reason: String, mayHaveReachedServer: Bool)
  /// The answer was longer than the request allows. The server has acted on the request.
  case bodyTooLarge(origin: String, bytesMax: Int)
  /// The body could not be read or stored on this device; the server may have acted on the request.
  case body(reason: String)
  /// The task that waited was cancelled.
  case cancelled(mayHaveReachedServer: Bool)
  /// The exchange was shut down before the request was sent, or could not start its thread.
  case closed

  /// Whether the server may have acted on the request.
  ///
  /// False only when no byte of the request left: no address, no connection, no TLS, cancelled before. True as soon as
  /// any may have, also where a resend of a request on a lost connection then found no server.
  public var mayHaveReachedServer: Bool {
    switch self {
    case .badRequest, .cannotResolve, .cannotConnect, .tls, .closed: false
    case .timedOut(_, _, let reached), .cut(_, _, let reached), .cancelled(let reached): reached
    case .bodyTooLarge, .body: true
    }
  }

  /// Whether this is a want of a connection, which passes by itself when the network or the server comes back.
  public var isConnectivity: Bool {
    switch self {
    case .cannotResolve, .cannotConnect, .tls, .timedOut, .cut: true
    case .badRequest, .bodyTooLarge, .body, .cancelled, .closed: false
    }
  }
}

extension HTTPError: CustomStringConvertible {
  /// What happened, where, and what to do next.
  public var description: String {
    switch self {
    case .badRequest(let reason):
      "the request cannot be sent: \(reason)"
    case .cannotResolve(let host):
      "the name '\(host)' has no address; check the server's URL and the network"
    case .cannotConnect(let origin, let reason):
      "cannot connect to \(origin): \(reason)"
    case .tls(let origin, let reason):
      "no secure connection to \(origin): \(reason); check the server's URL, a login page of this network, "
        + "and the certificate authorities in use"
    case .timedOut(let origin, .connecting, _):
      "no connection to \(origin) in time; check the network"
    case .timedOut(let origin, .stalled, _):
      "\(origin) stopped sending"
    case .timedOut(let origin, .whole, _):
      "\(origin) did not finish its answer in time"
    case .cut(let origin, let reason, _):
      "the connection to \(origin) broke before the answer was whole: \(reason)"
    case .bodyTooLarge(let origin, let bytesMax):
      "the answer of \(origin) is longer than the \(bytesMax) bytes that were allowed"
    case .body(let reason):
      "the file could not be read or written: \(reason)"
    case .cancelled:
      "the request was cancelled"
    case .closed:
      "the connection to the network is shut down"
    }
  }
}
