/// Which rows of a result are asked for, from `limit`, `offset` and the `Range` field.
struct RowRange {
  let offset: Int
  /// How many rows at most; `nil` for a write, which is never cut.
  let limit: Int?
  /// Whether a limit or offset was asked for.
  let isGiven: Bool

  init(_ request: StandInRequest, _ query: RestQuery, rowCountMax: Int, reads: Bool) throws(RestError) {
    isGiven = query.limit != nil || query.offset > 0
    if let limit = query.limit, limit < 0 {
      throw RestError(
        416, "PGRST103", "Requested range not satisfiable", details: "Limit should be greater than or equal to zero.")
    }
    guard reads else {
      (offset, limit) = (0, nil)
      return
    }
    var lower = query.offset
    var upper = query.limit.map { lower.addingReportingOverflow($0 - 1) }.map { $0.overflow ? .max : $0.partialValue }
    // HEAD has no use for the Range field: PostgREST looks at it on GET only.
    if request.method == "GET", let header = request.field("Range").flatMap(Self.parse) {
      if let end = header.upper, end < header.lower {
        throw RestError(
          416, "PGRST103", "Requested range not satisfiable",
          details: "The lower boundary must be lower than or equal to the upper boundary in the Range header.")
      }
      lower = max(lower, header.lower)
      upper = [upper, header.upper].compactMap { $0 }.min()
    }
    offset = lower
    let wanted = query.limit == 0 ? 0 : upper.map { max(0, $0 - lower + 1) }
    limit = min(wanted ?? rowCountMax, rowCountMax)
  }

  /// Reads `0-9` or `5-`, also with a unit in front as in `items=0-9`; anything else is no range.
  private static func parse(_ text: String) -> (lower: Int, upper: Int?)? {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, parts[0].utf8.allSatisfy(isDigit), let lower = Int(parts[0]) else {
      return nil
    }
    if parts[1].isEmpty { return (lower, nil) }
    guard parts[1].utf8.allSatisfy(isDigit), let upper = Int(parts[1]) else { return nil }
    return (lower, upper)
  }
}
