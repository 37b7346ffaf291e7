/// What a monitor says of the network.
public enum NetworkAvailability: Sendable, Hashable {
  /// Nothing; counts as online.
  case unknown
  /// There is one.
  case online
  /// There is none.
  case offline
}

/// What says when the network comes and goes.
public protocol ConnectivitySource: Sendable {
  /// What it says, the state of now first; a source that ends says nothing any more.
  func states() -> AsyncStream<NetworkAvailability>
}
