/// Where a body that is not held in memory comes from.
///
/// Read by position, since a request that went out on a lost connection begins anew.
public protocol HTTPBodySource: Sendable {
  /// The size in bytes.
  var count: Int64 { get }
  /// Reads from a position into a buffer; returns how many bytes, 0 at the end only.
  ///
  /// Called on the exchange's thread, one call at a time.
  func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}

/// Where the body of an answer goes that is not held in memory.
public protocol HTTPBodySink: Sendable {
  /// Looks at the head of an answer: whether its body goes here.
  ///
  /// A body that does not, such as an error's text, is in the answer as always.
  func takes(_ head: HTTPResponse) -> Bool
  /// Takes the next bytes; called on the exchange's thread, one call at a time.
  func write(_ bytes: UnsafeRawBufferPointer) throws
}

/// How far the bodies of an exchange have come, in bytes.
public struct HTTPProgress: Sendable, Hashable {
  /// How many bytes were sent.
  public var sent: Int64
  /// How many were received.
  public var received: Int64
  /// How many there are to receive; nil while that is not known.
  public var receivedTotal: Int64?

  /// A state of an exchange.
  public init(sent: Int64 = 0, received: Int64 = 0, receivedTotal: Int64? = nil) {
    self.sent = sent
    self.received = received
    self.receivedTotal = receivedTotal
  }
}

/// The bodies of one exchange that are not held in memory, and who wants to know how far they are.
public struct HTTPBodies: Sendable {
  /// The body of the request, in the place of its own.
  public var source: (any HTTPBodySource)?
  /// Where the body of the answer goes.
  public var sink: (any HTTPBodySink)?
  /// Told now and then how far it is, on a thread that must not wait.
  public var progress: (@Sendable (HTTPProgress) -> Void)?

  /// The bodies of one exchange.
  public init(
    source: (any HTTPBodySource)? = nil, sink: (any HTTPBodySink)? = nil,
    progress: (@Sendable (HTTPProgress) -> Void)? = nil
  ) {
    self.source = source
    self.sink = sink
    self.progress = progress
  }
}

extension HTTPExchange {
  /// For exchanges without a network of their own: the bodies pass through memory.
  public func send(_ request: HTTPRequest, _ bodies: HTTPBodies) async throws(HTTPError) -> HTTPResponse {
    var request = request
    if let source = bodies.source { request.body = try Self.whole(source) }
    var response = try await send(request)
    bodies.progress?(
      HTTPProgress(
        sent: Int64(request.body?.count ?? 0), received: Int64(response.body.count),
        receivedTotal: Int64(response.body.count)))
    if let sink = bodies.sink, sink.takes(response) {
      do { try response.body.withUnsafeBytes { try sink.write($0) } } catch { throw .body(reason: "\(error)") }
      response.body = []
    }
    return response
  }

  private static func whole(_ source: any HTTPBodySource) throws(HTTPError) -> [UInt8] {
    do {
      return try [UInt8](unsafeUninitializedCapacity: Int(source.count)) { buffer, count in
        while count < buffer.count {
          let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
          let read = try source.read(at: Int64(count), into: rest)
          if read == 0 { break }
          count += read
        }
      }
    } catch {
      throw .body(reason: "\(error)")
    }
  }
}
