import Synchronization

/// A stand-in for a Supabase project on 127.0.0.1: REST and Auth over SQLite, for trying, developing and testing.
///
/// ```swift
/// let server = try StandInServer(StandInConfiguration())
/// try server.start()
/// print(server.url, server.publishableKey)
/// server.stop()
/// ```
public final class StandInServer: Sendable {
  /// The project without its socket.
  public let standIn: StandIn
  private let configuration: StandInConfiguration
  private let front = Mutex<HTTPFront?>(nil)

  /// Opens or makes the data; nothing listens yet.
  public init(_ configuration: StandInConfiguration = StandInConfiguration()) throws(StandInError) {
    self.configuration = configuration
    standIn = try StandIn(configuration)
  }

  /// Begins to listen.
  ///
  /// Does nothing when it listens already.
  public func start() throws(StandInError) {
    try front.withLock { (front) throws(StandInError) in
      guard front == nil else { return }
      let standIn = standIn
      front = try HTTPFront(
        port: configuration.port, bodyPlan: { standIn.bodyPlan($0) }, uploadSpeed: { standIn.uploadSpeed(for: $0) },
        handler: { standIn.answer($0) }, tooLarge: { standIn.tooLarge($0) })
    }
  }

  /// Closes the port and every connection.
  ///
  /// It may be started again; a port of 0 is then another one.
  public func stop() {
    let stopped = front.withLock { front in
      let running = front
      front = nil
      return running
    }
    stopped?.stop()
  }

  /// The port that it listens on, 0 when it does not.
  public var port: Int { front.withLock { $0?.port ?? 0 } }
  /// The project's URL, without a slash at the end: `http://127.0.0.1:54321`.
  public var url: String { "http://127.0.0.1:\(port == 0 ? configuration.port : port)" }
  /// The key that clients carry.
  public var publishableKey: String { standIn.publishableKey }
  /// The key that sees every row and opens `/stand-in/`.
  public var serviceKey: String { standIn.serviceKey }
  /// Misbehaviour for the next requests.
  public var faults: [StandInFault] {
    get { standIn.faults }
    set { standIn.faults = newValue }
  }
  /// The last requests, oldest first, at most 1,000.
  public var requests: [StandInRecord] { standIn.requests }
}
