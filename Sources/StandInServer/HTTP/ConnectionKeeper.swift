import Dispatch
import Glibc
import Synchronization

/// Makes room for new clients: where nearly all connections are taken, it closes the one that has kept the server waiting
/// longest.
///
/// A client that sends a byte now and then is never idle, so that no time limit on silence ends it; alone it does no harm,
/// and together such clients would take every connection. A connection whose request is being answered is left alone.
final class ConnectionKeeper: Sendable {
  private struct State {
    /// The sockets of all connections, by the address of libmicrohttpd's own record.
    var sockets: [Int: Int32] = [:]
    /// Since when a connection has kept the server waiting, as a number that rises with each change.
    var waiting: [Int: Int] = [:]
    var clock = 0
    var isEnding = false
  }

  private let state = Mutex(State())
  /// Holds every open connection once.
  private let open = DispatchGroup()
  /// How many connections may be open before one has to go for the next.
  private let roomyCount: Int

  init(roomyCount: Int) { self.roomyCount = roomyCount }

  /// A client has connected.
  func opened(_ connection: OpaquePointer, socket: Int32) {
    state.withLock { state in
      if state.sockets.count >= roomyCount, let oldest = state.waiting.min(by: { $0.value < $1.value })?.key {
        // Its own thread finds it closed and cleans up; until then it counts, but is not chosen again.
        state.waiting[oldest] = nil
        if let socket = state.sockets[oldest] { _ = shutdown(socket, Int32(SHUT_RDWR)) }
      }
      if state.sockets.updateValue(socket, forKey: Self.key(connection)) == nil { open.enter() }
      Self.wait(Self.key(connection), in: &state)
      // One that was on its way when the others were told.
      if state.isEnding { _ = shutdown(socket, Int32(SHUT_RD)) }
    }
  }

  /// The request is complete and its answer is being made.
  func isServed(_ connection: OpaquePointer) {
    state.withLock { $0.waiting[Self.key(connection)] = nil }
  }

  /// The answer waits for the client to take it, or the client may send the next request.
  func waits(_ connection: OpaquePointer) {
    state.withLock { state in
      guard state.sockets[Self.key(connection)] != nil else { return }
      Self.wait(Self.key(connection), in: &state)
    }
  }

  /// The connection goes on as something else than HTTP, and is none of ours from now on.
  func leaves(_ connection: OpaquePointer) { closed(connection) }

  /// The socket is about to be closed: its number may come to be another's.
  func closed(_ connection: OpaquePointer) {
    state.withLock { state in
      if state.sockets.removeValue(forKey: Self.key(connection)) != nil { open.leave() }
      state.waiting[Self.key(connection)] = nil
    }
  }

  /// Takes no more of what clients send, and waits until every connection has ended, or for so long.
  func endAll(within limit: DispatchTimeInterval) {
    state.withLock { state in
      state.isEnding = true
      for socket in state.sockets.values { _ = shutdown(socket, Int32(SHUT_RD)) }
    }
    _ = open.wait(timeout: .now() + limit)
  }

  private static func key(_ connection: OpaquePointer) -> Int { Int(bitPattern: connection) }

  private static func wait(_ key: Int, in state: inout State) {
    state.clock += 1
    state.waiting[key] = state.clock
  }
}
