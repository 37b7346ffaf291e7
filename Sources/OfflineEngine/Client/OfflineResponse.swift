import FoundationEssentials

/// What a request gave, and where it came from.
public struct OfflineResponse<Value: Sendable>: Sendable {
  /// The rows, or the row, as they were asked for.
  public var value: Value
  /// How many rows match in all, where the request asked for a count.
  public var count: Int?
  /// Whether the rows are this device's copy, not this request's answer.
  public var isFromCache: Bool
  /// When the server sent the rows, by this device's clock; `nil` for what no cache holds.
  public var fetchedAt: Date?
  /// Whether a queued write changed the rows.
  public var hasPendingMutations: Bool
  /// Whether the server stopped at the project's row limit before it had given all that was asked for, as far as can be
  /// told: read on in pages.
  public var isCut: Bool

  /// A response of the given parts.
  public init(
    value: Value, count: Int? = nil, isFromCache: Bool = false, fetchedAt: Date? = nil,
    hasPendingMutations: Bool = false, isCut: Bool = false
  ) {
    self.value = value
    self.count = count
    self.isFromCache = isFromCache
    self.fetchedAt = fetchedAt
    self.hasPendingMutations = hasPendingMutations
    self.isCut = isCut
  }
}

extension OfflineResponse: Equatable where Value: Equatable {}

extension WallTime {
  /// The time as a `Date`, to the microsecond or so that a `Date` can hold.
  public var date: Date { Date(timeIntervalSince1970: Double(nanoseconds) / 1_000_000_000) }
}
