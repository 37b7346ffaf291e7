import Dispatch
import StandInServer
import SupabaseAPI
import Synchronization

/// A PostgREST that answers the stand-in's table requests in its place.
///
/// What only concerns one connection stays here (RFC 9110, section 7.6.1); everything else is handed through as it is.
struct RestForward: Sendable {
  /// The address of the PostgREST, without a slash at the end.
  let address: String
  let http: any HTTPExchange

  /// Asks the PostgREST; blocks until it has answered.
  ///
  /// - Parameter request: With the path as PostgREST has it, beginning with a slash.
  func answer(_ request: StandInRequest) -> StandInAnswer {
    let query = request.query.isEmpty ? "" : "?\(request.query)"
    var forwarded = HTTPRequest(method: request.method, url: address + request.path + query)
    for (name, value) in request.fields where !Self.isOfOneConnection(name, request.fields) {
      forwarded.fields.add(name, value)
    }
    if !request.body.isEmpty { forwarded.body = request.body }
    switch wait(for: forwarded) {
    case .success(let response):
      return StandInAnswer(
        status: response.status,
        fields: response.fields.fields.filter { !Self.isOfOneConnection($0.name, []) }.map { ($0.name, $0.value) },
        body: response.body)
    case .failure(let error):
      // The words of a project's gateway. What may have been done must not look as if it was not.
      return error.mayHaveReachedServer
        ? .gatewayRefusal(502, "An invalid response was received from the upstream server")
        : .gatewayRefusal(503, "The upstream server is currently unavailable")
    }
  }

  private func wait(for request: HTTPRequest) -> Result<HTTPResponse, HTTPError> {
    let result = Answer()
    let http = http
    // The stand-in answers on threads of its own, which may block.
    Task {
      do throws(HTTPError) {
        result.give(.success(try await http.send(request)))
      } catch {
        result.give(.failure(error))
      }
    }
    return result.wait()
  }

  /// An answer that a thread waits for.
  private final class Answer: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let value = Mutex<Result<HTTPResponse, HTTPError>>(.failure(.closed))

    func give(_ answer: Result<HTTPResponse, HTTPError>) {
      value.withLock { $0 = answer }
      semaphore.signal()
    }

    func wait() -> Result<HTTPResponse, HTTPError> {
      semaphore.wait()
      return value.withLock { $0 }
    }
  }

  private static let ofOneConnection: Set<String> = [
    "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "host",
    "content-length", "content-encoding", "accept-encoding", "user-agent", "expect", "date",
  ]

  private static func isOfOneConnection(_ name: String, _ fields: [(name: String, value: String)]) -> Bool {
    let name = name.lowercased()
    if ofOneConnection.contains(name) { return true }
    return fields.contains { field in
      field.name.lowercased() == "connection"
        && field.value.lowercased().split(separator: ",").contains { $0.filter { $0 != " " } == name }
    }
  }
}
