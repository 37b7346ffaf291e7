import FileWorkspace
import OfflineEngine

/// The server's changes as they are made, beside a watcher's pulls.
final class LiveWatch: Sendable {
  private let open: OpenWorkspace
  private let live: LiveChanges?
  /// Rung when rows have come that stand in no file yet.
  let arrivals = Wake()
  private let over = Wake()

  /// - Parameter needsPull: Called when something may have been missed.
  init(_ open: OpenWorkspace, needsPull: @escaping @Sendable () -> Void) {
    self.open = open
    let arrivals = arrivals
    live = LiveChanges(
      engine: open.client, tables: open.settings.tables, isWanted: open.isLiveWanted,
      hasChanged: { arrivals.ring() }, needsPull: needsPull)
  }

  /// Runs until `stop`, and tells what changes about it.
  func run(say: @escaping @Sendable (WorkspaceEvent) -> Void) async {
    // Where there is no Realtime the watcher goes on as ever.
    guard let live else { return await over.wait(upTo: nil, clock: open.environment.clock) }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await live.run() }
      group.addTask {
        var told = LiveState.off
        for await state in live.states() {
          self.open.watchState.live = state
          if let sentence = Self.sentence(state, after: &told) { say(WorkspaceEvent(.note, "", sentence)) }
        }
      }
    }
  }

  /// Looks again at what a command may have switched.
  func look() {
    live?.setWanted(open.isLiveWanted)
  }

  /// Has the connection show that it is still alive.
  func noteNetworkChange() { live?.noteNetworkChange() }

  func stop() {
    live?.stop()
    over.finish()
    arrivals.finish()
  }

  /// Whether the server tells its changes now.
  var isLive: Bool { live?.shown.isLive == true }

  /// What is news for a person: that changes begin to come, that they do not, and why, if that differs.
  private static func sentence(_ state: LiveState, after told: inout LiveState) -> String? {
    switch (state, told) {
    case (.connecting, _): return nil
    case (.live, .live): return nil
    case (.waiting(let reason, _), .waiting(let before, _)) where reason == before: return nil
    case (.off, .off): return nil
    default: break
    }
    told = state
    switch state {
    case .live: return "live: the server tells changes as they are made"
    case .waiting(let reason, _): return "live: not now, the server is asked instead: \(reason)"
    case .off, .connecting: return "live: off"
    }
  }
}

extension OpenWorkspace {
  /// Whether live changes are wanted: by the command, or else by the settings.
  var isLiveWanted: Bool {
    let note = (try? client.read { try $0.note(Note.live) }) ?? nil
    return note.map { $0 == LiveSwitch.on.rawValue } ?? settings.live
  }

  /// Turns live changes on or off; the switch outlives the process.
  func setLive(_ switched: LiveSwitch) throws {
    try client.transaction { try $0.setNote(Note.live, switched.rawValue) }
  }
}

/// What the command says of live changes.
public enum LiveSwitch: String, Sendable {
  /// They are wanted, whatever the settings say.
  case on
  /// They are not.
  case off
}
