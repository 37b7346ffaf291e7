/// A form other than a list of rows in which PostgREST answers a read.
public enum AnswerForm: Sendable, Hashable {
  /// Comma-separated values (RFC 4180), with a line of names first.
  case csv
  /// A GeoJSON feature collection (RFC 7946), for tables with a geometry.
  case geoJSON
  /// How the database would go about the request, where the project shows it (`db-plan-enabled`).
  case plan(PlanOptions)

  /// What is to be said of a plan.
  public struct PlanOptions: Sendable, Hashable {
    /// Whether it is said in JSON, rather than in lines for people.
    public var isJSON = false
    /// The words of PostgreSQL's `EXPLAIN` that PostgREST takes: `analyze`, `verbose`, `settings`, `buffers`, `wal`.
    ///
    /// `analyze` runs the request.
    public var words: [String] = []

    /// A plan in lines for people.
    public init(isJSON: Bool = false, words: [String] = []) {
      self.isJSON = isJSON
      self.words = words
    }
  }

  /// The media type of the answer, without its parameters.
  fileprivate var mediaType: String {
    switch self {
    case .csv: "text/csv"
    case .geoJSON: "application/geo+json"
    case .plan(let options): "application/vnd.pgrst.plan+\(options.isJSON ? "json" : "text")"
    }
  }

  fileprivate var accepted: String {
    guard case .plan(let options) = self else { return mediaType }
    let words = options.words.isEmpty ? "" : "; options=\(options.words.joined(separator: "|"))"
    return "\(mediaType); for=\"application/json\"\(words)"
  }
}

extension TableClient {
  /// Reads in another form than a list of rows.
  ///
  /// - Returns: The answer as text.
  /// - Throws: `SupabaseError`.
  public func text(
    _ request: TableRequest, in form: AnswerForm, accessToken: Secret?
  ) async throws(SupabaseError) -> String {
    var sent = request.httpRequest(project: project, accessToken: accessToken)
    sent.fields["Accept"] = form.accepted
    let response: HTTPResponse
    do { response = try await http.send(sent) } catch { throw .http(error) }
    let answer = RawAnswer(response)
    guard (200...299).contains(response.status) else { throw TableAnswer.failure(answer) }
    // A gateway's page is a success, too.
    guard response.fields["Content-Type"]?.hasPrefix(form.mediaType) ?? false,
      let text = String(validating: response.body, as: UTF8.self)
    else { throw answer.notAnAnswer }
    return text
  }
}
