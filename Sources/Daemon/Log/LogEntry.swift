import FileWorkspace
import LosslessJSON
import OfflineEngine

/// One thing that happened, as a line of the workspace's log: `{"at":"…","event":"edited","path":"…","detail":"…"}`.
///
/// It names files, columns, places and reasons, never a value of a row, a token or a key.
public struct LogEntry: Sendable, Hashable {
  /// When, as RFC 3339 in UTC.
  public var at: String
  /// What kind of thing, one of `WorkspaceEvent.Kind`.
  public var event: String
  /// The file, relative to the workspace; empty when it is about more than one.
  public var path: String
  /// More about it.
  public var detail: String

  /// A line holds no more of a detail: a server's message may be long.
  static let detailCountMax = 500

  /// The entry for an event.
  ///
  /// - Parameter at: When, as the entry has it: a text that many events of one moment share.
  public init(_ event: WorkspaceEvent, at: String) {
    self.at = at
    self.event = event.kind.rawValue
    path = event.path
    let characters = event.detail.prefix(Self.detailCountMax)
    detail = characters.endIndex == event.detail.endIndex ? event.detail : characters + "…"
  }

  /// The entry of a line; `nil` for a line that is none, such as one that was cut by a crash.
  public init?(line: some Sequence<UInt8>) {
    guard let json = try? JSONValue(parsing: Array(line)), let at = json["at"]?.stringValue,
      let event = json["event"]?.stringValue
    else { return nil }
    self.at = at
    self.event = event
    path = json["path"]?.stringValue ?? ""
    detail = json["detail"]?.stringValue ?? ""
  }

  /// The entry as JSON.
  public var json: JSONValue {
    ["at": .string(at), "event": .string(event), "path": .string(path), "detail": .string(detail)]
  }

  /// Whether it tells the server's answer to a queued change.
  public var isAnswer: Bool { event == WorkspaceEvent.Kind.answered.rawValue }

  /// Whether the entry is about a path: the file itself, one of its side files, or a file in the folder.
  public func isAbout(_ asked: String) -> Bool {
    if path.isEmpty { return false }
    let name = WorkspacePath.name(of: path)
    let folder = WorkspacePath.folder(of: path)
    if PathKey(path) == PathKey(asked) || PathKey(folder) == PathKey(asked) { return true }
    switch FileNames.kind(of: name) {
    case .sideFile(_, let main), .problemNote(let main):
      return PathKey(WorkspacePath.joined(folder, main)) == PathKey(asked)
    default: return false
    }
  }

  /// What a whole sync adds to what happened to files.
  static func events(sent: Int, failure: SyncFailure?) -> [WorkspaceEvent] {
    var events: [WorkspaceEvent] = []
    if sent > 0 { events.append(WorkspaceEvent(.note, "", "sent \(sent)")) }
    if let failure { events.append(WorkspaceEvent(.note, "", "changes wait: \(failure)")) }
    return events
  }
}
