extension TableClient {
  /// Reads rows as comma-separated values (RFC 4180), with a line of names first.
  ///
  /// - Throws: `SupabaseError`.
  public func csv(_ request: TableRequest, accessToken: Secret?) async throws(SupabaseError) -> String {
    var sent = request.httpRequest(project: project, accessToken: accessToken)
    sent.fields["Accept"] = "text/csv"
    let response: HTTPResponse
    do { response = try await http.send(sent) } catch { throw .http(error) }
    let answer = RawAnswer(response)
    guard (200...299).contains(response.status) else { throw TableAnswer.failure(answer) }
    // A gateway's page is a success, too.
    guard response.fields["Content-Type"]?.hasPrefix("text/csv") ?? false,
      let text = String(validating: response.body, as: UTF8.self)
    else { throw answer.notAnAnswer }
    return text
  }
}
