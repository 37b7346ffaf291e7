/// How a write deals with the want of a connection (spec 1, "The two strategies").
public enum MutationStrategy: Sendable, Hashable {
  /// The write is saved first, sent at once when nothing of its user waits ahead of it, and kept until the server has
  /// accepted or refused it.
  case queueIfOffline
  /// The write is sent now or not at all: never queued, never laid into a cached list.
  case onlineOnly
}

/// What became of a write (spec 1, "What a write returns").
public enum MutationOutcome<Value: Sendable>: Sendable {
  /// The server has it.
  case applied(result: OfflineResponse<Value>)
  /// It waits on this device, and is sent by a later pass.
  case queued(pendingMutation: PendingMutation)

  /// Whether it waits.
  public var isQueued: Bool {
    if case .queued = self { true } else { false }
  }

  /// The server's answer, where there is one.
  public var result: OfflineResponse<Value>? {
    if case .applied(let result) = self { result } else { nil }
  }

  /// The outcome with another value in its answer.
  func map<Other: Sendable>(_ transform: (Value) throws -> Other) rethrows -> MutationOutcome<Other> {
    switch self {
    case .applied(let result):
      .applied(
        result: OfflineResponse(
          value: try transform(result.value), count: result.count, isFromCache: result.isFromCache,
          fetchedAt: result.fetchedAt, hasPendingMutations: result.hasPendingMutations))
    case .queued(let mutation): .queued(pendingMutation: mutation)
    }
  }
}
