import SQLite

/// Turns the rows of a table or function into an answer: count, range, status, form.
struct ReadAnswer {
  let request: StandInRequest
  let range: RowRange
  let preferences: Preferences
  let media: MediaType
  let profile: String?
  let allowsRollback: Bool
  /// The function whose rows they are; `nil` for a table's.
  var function: StoredFunction?

  func answer(_ read: ReadQuery, in database: Database) throws -> StandInAnswer {
    let total = preferences.count == nil ? nil : try read.count(in: database)
    let rows = try read.rows(limit: range.limit, offset: range.offset, in: database)
    if let total, range.offset > total {
      var error = RestError(
        416, "PGRST103", "Requested range not satisfiable",
        details: "An offset of \(range.offset) was requested, but there are only \(total) rows.",
        fields: [("Content-Range", "*/\(total)")] + appliedField)
      error.namesCode = false
      throw error
    }
    if let function, function.returnsSet, preferences.isStrict == true, let limit = preferences.affectedMax,
      total ?? rows.count > limit
    {
      throw RestTask.tooManyAffected(total ?? rows.count)
    }
    if media.isSingular, rows.count != 1 { throw Self.notSingular(rows.count) }
    return StandInAnswer(
      status: total.map { rows.count < $0 } ?? false ? 206 : 200,
      fields: [
        ("Content-Type", media.contentType),
        ("Content-Range", Self.contentRange(from: range.offset, count: rows.count, total: total)),
      ] + (profile.map { [("Content-Profile", $0)] } ?? []) + appliedField,
      body: request.method == "HEAD" ? [] : try body(rows, read, in: database))
  }

  private func body(_ rows: [ReadQuery.Row], _ read: ReadQuery, in database: Database) throws -> [UInt8] {
    let output = RowOutput(query: read, database: database, media: media)
    guard media != .csv, let function else { return try output.body(rows) }
    switch function.returns {
    case .void, .scalar: return try output.values(rows, asArray: false)
    case .scalars: return try output.values(rows, asArray: !media.isSingular)
    case .row: return try output.object(rows)
    case .rows, .table: return try output.body(rows)
    }
  }

  private var appliedField: [(name: String, value: String)] {
    preferences.applied(to: request.method, allowsRollback: allowsRollback, function: function)
      .map { [("Preference-Applied", $0)] } ?? []
  }

  static func notSingular(_ count: Int) -> RestError {
    RestError(
      406, "PGRST116", "Cannot coerce the result to a single JSON object", details: "The result contains \(count) rows")
  }

  static func contentRange(from lower: Int, count: Int, total: Int?) -> String {
    let rows = count > 0 && total != 0 ? "\(lower)-\(lower + count - 1)" : "*"
    return "\(rows)/\(total.map(String.init) ?? "*")"
  }
}
