/// The live HTTP exchange: libcurl on one thread of its own.
///
/// Keeps connections and uses them again, speaks HTTP/2 over TLS where the server does, unpacks gzip, follows no
/// redirects, and reads nothing from the environment. Ends its thread when it goes away or is shut down.
public final class CurlExchange: HTTPExchange {
  private let loop: CurlLoop

  /// Starts the thread.
  ///
  /// Cannot fail: if the system has no thread or no memory left, every request throws `HTTPError.closed`.
  public init(_ settings: CurlSettings = CurlSettings()) {
    loop = CurlLoop(settings)
    loop.start()
  }

  deinit {
    loop.post(.stop)
  }

  /// Sends one request and waits for its whole answer.
  ///
  /// Cancelling the task removes the transfer at once; the error says whether the request may have left. No total limit
  /// applies unless the settings name one, but a transfer that stalls ends by the stall limit.
  public func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
    try await send(request, HTTPBodies())
  }

  /// The same with bodies that go from and to where they lie, piece by piece.
  public func send(_ request: HTTPRequest, _ bodies: HTTPBodies) async throws(HTTPError) -> HTTPResponse {
    let address = try request.validated()
    guard !Task.isCancelled else { throw .cancelled(mayHaveReachedServer: false) }
    let id = loop.nextID()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>) in
        let start = CurlLoop.Start(
          id: id, request: request, bodies: bodies, address: address, continuation: continuation)
        guard loop.post(.start(start)) else { return continuation.resume(returning: .failure(.closed)) }
        // A cancellation that came before the start was posted has found nothing to cancel: say it again.
        if Task.isCancelled { loop.post(.cancel(id)) }
      }
    } onCancel: {
      loop.post(.cancel(id))
    }
    return try result.get()
  }

  /// Ends every transfer with `HTTPError.cut`, and closes all connections.
  public func forgetConnections() { loop.post(.forgetConnections) }

  /// Ends every transfer with `HTTPError.cancelled`, closes all connections and waits until the thread has ended.
  public func shutDown() async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      if !loop.post(.stop, whenEnded: continuation) { continuation.resume() }
    }
  }
}
