import OfflineEngine
import SupabaseAPI

/// A network that only reads: everything but a GET or HEAD fails before it leaves.
struct ReadingExchange: HTTPExchange {
  let http: any HTTPExchange

  func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
    guard ["GET", "HEAD"].contains(request.method) else {
      throw .cannotConnect(origin: "the server", reason: "a dry run sends nothing, not even to renew the access token")
    }
    return try await http.send(request)
  }
}

/// A session that is only read.
struct ReadingSession: SessionStorage {
  let file: WorkspaceSession

  func load() throws -> Session? { try file.load() }
  func save(_ session: Session) {}
  func clear() {}
}
