import Randomness
import StandInServer
import SupabaseAPI
import Synchronization

/// Live connections of one run of the program: late, cut, or silent without a word.
final class SimulatedSockets: WebSocketOpener {
  private let server: SimulatedServer
  private let timeline: Timeline
  private let life: Life
  private let weather: @Sendable () -> Weather
  private let random: Mutex<SeededRandom>
  private let trace: @Sendable (String) -> Void

  init(
    _ server: SimulatedServer, _ timeline: Timeline, _ life: Life, random: SeededRandom,
    weather: @escaping @Sendable () -> Weather, trace: @escaping @Sendable (String) -> Void
  ) {
    self.server = server
    self.timeline = timeline
    self.life = life
    self.weather = weather
    self.random = Mutex(random)
    self.trace = trace
  }

  func open(
    _ request: WebSocketRequest, deliver: @escaping @Sendable (WebSocketEvent) -> Void
  ) -> any WebSocketConnection {
    let (weather, mayAct) = (weather(), life.mayAct())
    let connection = SimulatedConnection(timeline, delay: Int64(weather.delayMilliseconds) * 1_000_000) {
      [weather = self.weather, random = draws] in
      let weather = weather()
      if !weather.isConnected { return .silence }
      // Each text counts as a request does; a connection that breaks is seldom told of it.
      guard random() < weather.trouble / 4 else { return nil }
      switch random() {
      case ..<250: return .silence
      case ..<500: return .cut
      case ..<750: return .twice
      default: return .late
      }
    }
    guard mayAct, weather.isConnected, !server.isDown else {
      connection.tell {
        deliver(.closed(.http(.cannotConnect(origin: SimulatedServer.origin, reason: "the network is unreachable"))))
      }
      return connection
    }
    let (server, trace) = (server, trace)
    connection.tell { deliver(.opened) }
    connection.link = server.standIn.openRealtime(String(request.url.dropFirst(SimulatedServer.origin.count))) {
      delivery in
      switch delivery {
      case .text(let text):
        connection.hear(mayMove: text.holds(bytesOf: "postgres_changes")) {
          deliver(.text(text))
        } cut: {
          deliver(.closed(nil))
        }
      case .close, .cut: connection.tell { deliver(.closed(nil)) }
      }
    }
    trace("live: \(connection.link == nil ? "refused" : "connected")")
    if connection.link == nil {
      connection.tell { deliver(.closed(.refused(origin: SimulatedServer.origin, status: 401))) }
    }
    return connection
  }

  private var draws: @Sendable () -> Int { { [self] in random.withLock { $0.draw(below: 1_000) } } }
}

/// One connection: what is sent on either side arrives in order, or not at all.
private final class SimulatedConnection: WebSocketConnection {
  enum Mishap {
    /// Nothing arrives any more, and neither side is told.
    case silence
    case cut
    /// A change comes twice.
    case twice
    /// A change comes behind those that follow it.
    case late
  }

  private struct State {
    var link: RealtimeLink?
    var isOver = false
    /// When the last text arrives at each side.
    var here: Int64 = 0
    var there: Int64 = 0
    var isTicking = false
  }

  private let state = Mutex(State())
  private let timeline: Timeline
  private let delay: Int64
  private let mishap: @Sendable () -> Mishap?

  init(_ timeline: Timeline, delay: Int64, mishap: @escaping @Sendable () -> Mishap?) {
    self.timeline = timeline
    self.delay = delay
    self.mishap = mishap
  }

  var link: RealtimeLink? {
    get { state.withLock(\.link) }
    set {
      state.withLock { $0.link = newValue }
      tick()
    }
  }

  /// Has the server do what is due, now and later.
  private func tick() {
    let link = state.withLock { state -> RealtimeLink? in
      guard !state.isTicking else { return nil }
      state.isTicking = true
      return state.link
    }
    let next = link?.tick()
    state.withLock { $0.isTicking = false }
    if let next { timeline.schedule(after: next * 1_000 + 1_000_000) { [weak self] in self?.tick() } }
  }

  /// Tells this side something that cannot get lost.
  func tell(_ body: @escaping @Sendable () -> Void) {
    let wait = state.withLock { state in
      state.here = max(state.here, timeline.now + delay)
      return state.here - timeline.now
    }
    timeline.schedule(after: wait, body)
  }

  /// Tells this side something, or cuts it off.
  ///
  /// - Parameter mayMove: Whether it may come twice, or behind what follows it.
  func hear(mayMove: Bool, _ body: @escaping @Sendable () -> Void, cut: @escaping @Sendable () -> Void) {
    guard !state.withLock(\.isOver) else { return }
    switch mishap() {
    case .twice where mayMove:
      tell(body)
      tell(body)
    case .late where mayMove: timeline.schedule(after: 3 * delay + 1_000_000_000, body)
    case .silence: state.withLock { $0.isOver = true }
    case .cut:
      state.withLock { $0.isOver = true }
      tell(cut)
      timeline.schedule(after: 0) { [self] in link?.close() }  // Not within what the server does just now.
    case .twice, .late, nil: tell(body)
    }
  }

  func send(_ text: String) {
    let wait = state.withLock { state -> Int64? in
      if state.isOver { return nil }
      state.there = max(state.there, timeline.now + delay)
      return state.there - timeline.now
    }
    guard let wait else { return }
    timeline.schedule(after: wait) { [self] in
      guard !state.withLock(\.isOver) else { return }
      link?.receive(text)
      tick()
    }
  }

  func close() {
    state.withLock { $0.isOver = true }
    link?.close()
  }
}
