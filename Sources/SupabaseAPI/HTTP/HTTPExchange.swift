/// The seam between the protocols and the network: one request in, one whole answer or an error out.
///
/// An answer with any status is an answer; judging it is the caller's. Redirects are answers and are not followed.
public protocol HTTPExchange: Sendable {
  /// Sends one request and waits for its whole answer.
  ///
  /// Cancelling the task ends the transfer and throws `HTTPError.cancelled`.
  func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse

  /// Does the same with bodies that are not held in memory.
  func send(_ request: HTTPRequest, _ bodies: HTTPBodies) async throws(HTTPError) -> HTTPResponse

  /// Ends what is on its way as cut off, and opens new connections from now on: those of before lead nowhere once the
  /// network has changed or the machine has slept, and would be found dead only after the stall limit.
  func forgetConnections()
}

extension HTTPExchange {
  /// Nothing, for an exchange without connections.
  public func forgetConnections() {}
}
