import OfflineEngine
import Synchronization

/// What a device's kernel says of its network, to each run of the program: hints that may come late, never, or be wrong.
final class SimulatedConnectivity: ConnectivitySource {
  private struct State {
    var now = NetworkAvailability.online
    var listeners: [Int: AsyncStream<NetworkAvailability>.Continuation] = [:]
    var lastNumber = 0
  }

  private let state = Mutex(State())

  func states() -> AsyncStream<NetworkAvailability> {
    let (stream, continuation) = AsyncStream.makeStream(of: NetworkAvailability.self)
    let (number, now) = state.withLock { state in
      state.lastNumber += 1
      state.listeners[state.lastNumber] = continuation
      return (state.lastNumber, state.now)
    }
    continuation.onTermination = { [self] _ in state.withLock { _ = $0.listeners.removeValue(forKey: number) } }
    continuation.yield(now)
    return stream
  }

  /// Tells the program something of the network, be it true or not.
  func tell(_ availability: NetworkAvailability) {
    let listeners = state.withLock { state in
      state.now = availability
      return state.listeners.sorted { $0.key < $1.key }.map(\.value)
    }
    for listener in listeners { listener.yield(availability) }
  }
}
