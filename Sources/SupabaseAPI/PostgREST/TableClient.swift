/// Sends requests on tables and judges the answers; it waits for nothing and sends nothing twice.
public struct TableClient: Sendable {
  /// The project.
  public let project: Project
  let http: any HTTPExchange

  /// Makes a client of one project.
  public init(project: Project, http: any HTTPExchange) {
    self.project = project
    self.http = http
  }

  /// Sends one request.
  ///
  /// - Parameter accessToken: The user's token; without one the project's key stands in its place, and row policies
  ///   show an empty table instead of an error.
  /// - Throws: `SupabaseError`, of which only `refused` decides anything about the request.
  public func send(_ request: TableRequest, accessToken: Secret?) async throws(SupabaseError) -> TableAnswer {
    let response: HTTPResponse
    do { response = try await http.send(request.httpRequest(project: project, accessToken: accessToken)) } catch {
      throw .http(error)
    }
    return try TableAnswer(judging: response, to: request)
  }
}
