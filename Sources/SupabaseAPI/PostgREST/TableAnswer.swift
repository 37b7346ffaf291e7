import LosslessJSON

/// What PostgREST answered to a request that it did.
public struct TableAnswer: Sendable, Hashable {
  /// The rows; empty for a count and for a write that asked for none.
  public var rows: [JSONObject]
  /// How many rows match in all, where the request asked for a count.
  public var total: Int?
  /// How many rows the answer speaks of, from `Content-Range`; nil where it names none.
  ///
  /// An update without rows in its answer shows here whether it matched any; an insert and a delete do not.
  public var rangeCount: Int?
  /// The server's clock when it answered, in Unix seconds.
  public var serverDate: Int64?
  /// The HTTP status.
  public var status: Int
  /// Which of the request's preferences the server says it has met, such as `tx=rollback`.
  public var appliedPreferences: [String]
  /// How many times the request was begun, as in `HTTPResponse.sends`.
  ///
  /// With 2 a guarded write that matched no row may have been done by the first send.
  public var sends: Int

  /// Makes an answer.
  public init(
    rows: [JSONObject] = [], total: Int? = nil, rangeCount: Int? = nil, serverDate: Int64? = nil, status: Int = 200,
    appliedPreferences: [String] = [], sends: Int = 1
  ) {
    self.rows = rows
    self.total = total
    self.rangeCount = rangeCount
    self.serverDate = serverDate
    self.status = status
    self.appliedPreferences = appliedPreferences
    self.sends = sends
  }
}

extension TableAnswer: CustomStringConvertible, CustomReflectable {
  /// The status and the number of rows.
  public var description: String { "HTTP \(status), \(rows.count) rows" }

  /// Shows what the description shows, so that no dump holds a row.
  public var customMirror: Mirror { Mirror(self, children: ["answer": description]) }
}

/// The header that tells which rows an answer holds: `0-3/4`, `0-3/*`, `*/0`, `*/*`.
struct ContentRange {
  let count: Int?
  let total: Int?

  init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    total = ASCII.number(parts[1]).map { Int($0) }
    guard parts[1] == "*" || total != nil else { return nil }
    guard parts[0] != "*" else {
      count = nil
      return
    }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false).compactMap { ASCII.number($0) }
    guard ends.count == 2, ends[0] <= ends[1] else { return nil }
    count = Int(ends[1] - ends[0] + 1)
  }
}
