/// One request that the server answered.
public struct StandInRecord: Sendable, Hashable {
  /// Counts from 1.
  public let number: Int
  /// The method.
  public let method: String
  /// The path.
  public let path: String
  /// The query as sent, but for keys and tokens.
  public let query: String
  /// The status; 0 when the connection was closed instead.
  public let status: Int
}

/// The last requests, for tests that ask what was sent.
struct RequestLog {
  /// With the queries as they came: few of them are ever asked for.
  private var records: [StandInRecord] = []
  private var count = 0

  /// How many are kept.
  static let recordCountMax = 1_000

  mutating func add(_ request: StandInRequest, status: Int) {
    count += 1
    // Dropping the older half at once keeps each addition cheap.
    if records.count >= 2 * Self.recordCountMax { records.removeFirst(Self.recordCountMax) }
    records.append(
      StandInRecord(
        number: count, method: request.method, path: request.path, query: request.query, status: status))
  }

  /// The last `limit` requests, oldest first.
  func last(_ limit: Int) -> [StandInRecord] {
    records.suffix(min(limit, Self.recordCountMax)).map { record in
      StandInRecord(
        number: record.number, method: record.method, path: record.path, query: Self.withoutSecrets(record.query),
        status: record.status)
    }
  }

  /// The parameters that open something: the project's key, the token of a signed URL.
  private static let secretNames: Set<Substring> = ["apikey", "token", "access_token", "token_hash"]

  private static func withoutSecrets(_ query: String) -> String {
    guard !query.isEmpty else { return query }
    return query.split(separator: "&", omittingEmptySubsequences: false).map { part in
      let name = part.prefix { $0 != "=" }
      return secretNames.contains(name) ? "\(name)=-" : String(part)
    }.joined(separator: "&")
  }
}
