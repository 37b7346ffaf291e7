import LosslessJSON
import Synchronization

/// All connections of Realtime, and the changes that are told on them.
///
/// Where the bytes go is not known here: a socket or a simulation opens a link, hands texts in, and is called with what to
/// send.
final class RealtimeHub: Sendable {
  private struct Client {
    var connection: RealtimeConnection
    /// What opened it: faults may be for some connections only.
    let request: StandInRequest
    let deliver: @Sendable (RealtimeDelivery) -> Void
  }

  private struct State {
    var clients: [Int: Client] = [:]
    var lastID = 0
  }

  private let rules: RealtimeRules
  private let misbehaviour: Misbehaviour
  private let state = Mutex(State())

  init(_ rules: RealtimeRules, misbehaviour: Misbehaviour) {
    self.rules = rules
    self.misbehaviour = misbehaviour
  }

  private func now() -> Int64 { misbehaviour.now() }

  // MARK: Clients

  /// Takes a client on; `deliver` is called in the order in which it is to be sent, and must not wait.
  func open(
    _ form: RealtimeFrame.Form, role: Role, request: StandInRequest,
    deliver: @escaping @Sendable (RealtimeDelivery) -> Void
  ) -> RealtimeLink {
    let now = now()
    let id = state.withLock { state in
      state.lastID += 1
      state.clients[state.lastID] = Client(
        connection: RealtimeConnection(form, role: role, rules: rules, now: now), request: request, deliver: deliver)
      cutIfLaidOut(state.lastID, in: &state)
      return state.lastID
    }
    return RealtimeLink(hub: self, id: id)
  }

  fileprivate func receive(_ text: String, from id: Int) {
    let now = now()
    state.withLock { state in
      guard let actions = state.clients[id]?.connection.receive(text, now: now) else { return }
      perform(actions, of: id, in: &state)
    }
  }

  /// Does what is due on a connection, and says in how many microseconds it is to be called again; `nil` once the
  /// connection is gone.
  fileprivate func tick(_ id: Int) -> Int64? {
    let now = now()
    return state.withLock { state in
      guard let actions = state.clients[id]?.connection.tick(now: now) else { return nil }
      perform(actions, of: id, in: &state)
      return state.clients[id].map { max(0, $0.connection.nextDue - now) }
    }
  }

  fileprivate func close(_ id: Int) {
    state.withLock { state in
      guard let client = state.clients.removeValue(forKey: id) else { return }
      perform(client.connection.departures(), of: id, in: &state)
    }
  }

  // MARK: Changes

  /// Whether anybody may be listening.
  var isListenedTo: Bool { state.withLock { !$0.clients.isEmpty } }

  /// Tells what a transaction has changed.
  ///
  /// To be called in the order of the commits.
  func publish(_ changes: [RowChange]) {
    guard !changes.isEmpty else { return }
    state.withLock { state in
      guard !state.clients.isEmpty else { return }
      // A row's times are told in UTC, whatever zone the writer asked for.
      TimeZoneRules.$current.withValue(nil) {
        for id in state.clients.keys.sorted() {
          if let actions = state.clients[id]?.connection.commit(changes) { perform(actions, of: id, in: &state) }
        }
      }
    }
  }

  /// Tells everybody on a topic a message, as the HTTP side of broadcast does.
  func broadcast(_ payload: JSONValue, topic: String) {
    state.withLock { state in
      perform([.broadcast(topic: topic, payload: payload, includesSelf: true)], of: 0, in: &state)
    }
  }

  // MARK: Misbehaviour

  /// Breaks the connections that a fault has been laid out for.
  func cutWhereLaidOut() {
    state.withLock { state in for id in state.clients.keys.sorted() { cutIfLaidOut(id, in: &state) } }
  }

  private func cutIfLaidOut(_ id: Int, in state: inout State) {
    guard let client = state.clients[id], misbehaviour.disconnects(client.request) else { return }
    state.clients[id] = nil
    client.deliver(.cut)
  }

  // MARK: Actions

  private func perform(_ actions: [RealtimeConnection.Action], of id: Int, in state: inout State) {
    for action in actions {
      switch action {
      case .send(let frame): send(frame, to: id, in: &state)
      case .close(let reason):
        state.clients.removeValue(forKey: id)?.deliver(.close(reason: reason))
      case .broadcast(let topic, let payload, let includesSelf):
        tell(topic, "broadcast", payload, in: &state) { other, _ in other != id || includesSelf }
      case .tellPresence(let topic):
        guard let channel = state.clients[id]?.connection.channels[topic] else { continue }
        var present = JSONObject()
        for other in state.clients.keys.sorted() {
          guard let theirs = state.clients[other]?.connection.channels[topic], let key = theirs.presenceKey else {
            continue
          }
          for (name, value) in RealtimeConnection.present(theirs.presence, as: key) { present[name] = value }
        }
        send(RealtimeFrame(topic, "presence_state", joinReference: channel.joinReference, present), to: id, in: &state)
      case .presence(let topic, let joins, let leaves):
        tell(topic, "presence_diff", ["joins": .object(joins), "leaves": .object(leaves)], in: &state) { _, channel in
          channel.presenceKey != nil
        }
      }
    }
  }

  private func tell(
    _ topic: String, _ event: String, _ payload: JSONValue, in state: inout State,
    to isWanted: (Int, RealtimeChannel) -> Bool
  ) {
    let payload = payload.serializedBytes()
    for id in state.clients.keys.sorted() {
      guard let channel = state.clients[id]?.connection.channels[topic], isWanted(id, channel) else { continue }
      send(RealtimeFrame(topic, event, joinReference: channel.joinReference, payload: payload), to: id, in: &state)
    }
  }

  private func send(_ frame: RealtimeFrame, to id: Int, in state: inout State) {
    cutIfLaidOut(id, in: &state)
    guard let client = state.clients[id], !misbehaviour.silences(client.request) else { return }
    client.deliver(.text(frame.text(client.connection.form)))
  }
}

/// What a client's end of a connection is told.
public enum RealtimeDelivery: Sendable, Equatable {
  /// A text to send.
  case text(String)
  /// The end of the connection.
  case close(reason: String)
  /// The connection breaks without a word.
  case cut
}

/// A client's hold on its connection.
public struct RealtimeLink: Sendable {
  fileprivate let hub: RealtimeHub
  fileprivate let id: Int

  /// Takes one text of the client's.
  public func receive(_ text: String) { hub.receive(text, from: id) }

  /// Does what is due, and says in how many microseconds by the server's clock it is to be called again; `nil` once the
  /// connection is gone.
  public func tick() -> Int64? { hub.tick(id) }

  /// Says that the connection is gone.
  public func close() { hub.close(id) }
}
