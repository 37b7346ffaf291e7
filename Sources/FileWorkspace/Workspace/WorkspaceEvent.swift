import LosslessJSON

/// One thing that happened in a workspace, for the log of `watch` and for `log`.
public struct WorkspaceEvent: Sendable, Hashable {
  /// What kind of thing.
  public enum Kind: String, Sendable, Hashable {
    /// A person's new file is queued as a new row.
    case added
    /// A person's edit is queued.
    case edited
    /// A person's removal of a file is queued.
    case deleted
    /// A file follows its row to another name.
    case moved
    /// The server has answered a queued change of a file.
    case answered
    /// A file was written from the server's row.
    case written
    /// A file went to the trash, since its row is gone.
    case removed
    /// A change met another one: both versions lie side by side.
    case conflict
    /// The server refused a change.
    case refused
    /// A conflict or a refusal was settled, by a person or as the settings say.
    case settled
    /// A file cannot be read as its row.
    case problem
    /// A problem is over.
    case solved
    /// Something waits until a person confirms it.
    case held
    /// Anything else worth a line.
    case note
  }

  /// What kind of thing.
  public var kind: Kind
  /// The file, relative to the workspace; empty when it is about more than one.
  public var path: String
  /// More about it: columns, a reason, a place.
  public var detail: String

  /// An event about a file.
  public init(_ kind: Kind, _ path: String, _ detail: String = "") {
    self.kind = kind
    self.path = path
    self.detail = detail
  }
}

/// What looking at files, or writing them, came to.
public struct WorkspaceReport: Sendable, Hashable {
  /// Writes put into the queue.
  public var queued = 0
  /// Files written from rows, side files among them.
  public var filesWritten = 0
  /// Files moved to the trash, since their rows are gone.
  public var filesRemoved = 0
  /// Photos that there is something to be done about since.
  public var photosToDo = 0
  /// What happened, in order.
  public var events: [WorkspaceEvent] = []

  /// Nothing happened yet.
  public init() {}

  /// Adds what another look came to.
  public mutating func add(_ other: WorkspaceReport) {
    queued += other.queued
    filesWritten += other.filesWritten
    filesRemoved += other.filesRemoved
    photosToDo += other.photosToDo
    events += other.events
  }

  mutating func note(_ kind: WorkspaceEvent.Kind, _ path: String, _ detail: String = "") {
    events.append(WorkspaceEvent(kind, path, detail))
  }

  mutating func note(_ problem: Problem) {
    let place = problem.line.map { "\($0):\(problem.column ?? 1): " } ?? ""
    note(.problem, problem.path, place + problem.message)
  }
}
