import StandInServer
import SupabaseAPI
import Synchronization

/// Live connections to a stand-in without a socket, unless the network is told to fail.
final class StandInSockets: WebSocketOpener {
  private struct State {
    var isOffline = false
    var opened = 0
  }

  private let standIn: StandIn
  private let origin: String
  private let state = Mutex(State())

  init(_ world: World) {
    standIn = world.standIn
    origin = world.project.url
  }

  var isOffline: Bool {
    get { state.withLock(\.isOffline) }
    set { state.withLock { $0.isOffline = newValue } }
  }
  /// How many connections were asked for.
  var opened: Int { state.withLock(\.opened) }

  func open(
    _ request: WebSocketRequest, deliver: @escaping @Sendable (WebSocketEvent) -> Void
  ) -> any WebSocketConnection {
    let isOffline = state.withLock { state in
      state.opened += 1
      return state.isOffline
    }
    guard !isOffline else {
      deliver(.closed(.http(.cannotConnect(origin: origin, reason: "off"))))
      return StandInConnection(link: nil)
    }
    deliver(.opened)
    let link = standIn.openRealtime(String(request.url.dropFirst(origin.count))) { delivery in
      switch delivery {
      case .text(let text): deliver(.text(text))
      case .close, .cut: deliver(.closed(nil))
      }
    }
    if link == nil { deliver(.closed(.refused(origin: origin, status: 401))) }
    return StandInConnection(link: link)
  }
}

private struct StandInConnection: WebSocketConnection {
  let link: RealtimeLink?

  func send(_ text: String) {
    link?.receive(text)
    _ = link?.tick()
  }

  func close() { link?.close() }
}
