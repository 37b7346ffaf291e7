/// What a connectivity monitor says of the network (spec 4): a hint, never a gate.
public enum NetworkAvailability: Sendable, Hashable {
  /// Nothing has said yet, or the monitor failed or ended; counts as online.
  case unknown
  /// There is a network.
  case online
  /// There is none.
  case offline
}

/// Where news of the network come from.
public protocol ConnectivitySource: Sendable {
  /// The state of now as soon as it is known, then every change, until the source fails or ends.
  ///
  /// Each loop watches for itself, and ending it ends the watching.
  func states() -> AsyncStream<NetworkAvailability>
}

/// A caller's own sequence as the source, in place of the system's monitor.
public struct SequenceConnectivity<States: AsyncSequence & Sendable>: ConnectivitySource
where States.Element == NetworkAvailability {
  private let sequence: States

  /// A source that says what the sequence says, and `unknown` when it fails or ends.
  public init(_ sequence: States) { self.sequence = sequence }

  /// The sequence from its start, or from where it is when it has but one reader.
  public func states() -> AsyncStream<NetworkAvailability> {
    let reader = Reader(sequence.makeAsyncIterator())
    return AsyncStream { await reader.next() }
  }

  /// Reads the sequence.
  ///
  /// Sendable although the iterator is not: one loop asks for one element at a time.
  private final class Reader: @unchecked Sendable {
    private var iterator: States.AsyncIterator?

    init(_ iterator: States.AsyncIterator) { self.iterator = iterator }

    func next() async -> NetworkAvailability? {
      guard var iterator else { return nil }
      let state = (try? await iterator.next()) ?? nil
      self.iterator = state == nil ? nil : iterator
      return state ?? .unknown
    }
  }
}
