/// Whether the server's changes arrive as they are made.
public enum LiveState: Sendable, Hashable {
  /// They are not wanted, or the project has no Realtime.
  case off
  /// A connection is being made, or the server gets ready.
  case connecting
  /// They arrive.
  case live(since: WallTime)
  /// They do not, for this reason; tried again then.
  case waiting(reason: String, until: WallTime)

  /// The state in one word: `off`, `connecting`, `live` or `waiting`.
  public var word: String {
    switch self {
    case .off: "off"
    case .connecting: "connecting"
    case .live: "live"
    case .waiting: "waiting"
    }
  }

  /// Whether changes arrive.
  public var isLive: Bool { if case .live = self { true } else { false } }
}
