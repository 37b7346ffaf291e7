import Synchronization

/// What a client knows of the network: its own switch, which is a gate, and the monitor's word, which is a hint.
final class NetworkSwitch: Sendable {
  private struct State {
    var isDisabled = false
    var availability = NetworkAvailability.unknown
  }

  private let state = Mutex(State())

  /// Whether requests may be sent at all.
  var isEnabled: Bool { state.withLock { !$0.isDisabled } }

  /// Whether the monitor says that there is no network.
  var isKnownOffline: Bool { state.withLock { $0.availability == .offline } }

  /// What a status shows.
  var status: NetworkStatus {
    state.withLock { state in
      if state.isDisabled { return .disabled }
      return switch state.availability {
      case .unknown: .unknown
      case .online: .online
      case .offline: .offline
      }
    }
  }

  /// Turns access on or off.
  ///
  /// - Returns: Whether that was a change.
  func setEnabled(_ isEnabled: Bool) -> Bool {
    state.withLock { state in
      defer { state.isDisabled = !isEnabled }
      return state.isDisabled == isEnabled
    }
  }

  /// Takes the monitor's word.
  ///
  /// - Returns: Whether the network has come back by it.
  func note(_ availability: NetworkAvailability) -> Bool {
    state.withLock { state in
      defer { state.availability = availability }
      return availability == .online && state.availability != .online
    }
  }
}
