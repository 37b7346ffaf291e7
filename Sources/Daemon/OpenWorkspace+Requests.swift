import FileWorkspace
import LosslessJSON
import OfflineEngine

/// The one way in which commands change a workspace.
public enum WorkspaceDoor {
  /// Has a request done by the running watcher, or by this process under the workspace's lock: by the same function.
  ///
  /// A process that has the workspace without answering, such as a one-shot sync, is waited for, if not for long.
  ///
  /// - Throws: `DaemonError.refused` with the watcher's sentence, or the error itself.
  public static func ask(
    _ request: ControlRequest, of folder: WorkspaceFolder, environment: EngineEnvironment
  ) async throws -> JSONValue {
    for _ in 0..<lockedTries {
      do {
        return try await askOnce(request, of: folder, environment: environment)
      } catch DaemonError.locked {
        try await environment.clock.sleep(for: lockedPause)
      }
    }
    return try await askOnce(request, of: folder, environment: environment)
  }

  private static let lockedTries = 50
  private static let lockedPause = Duration.milliseconds(100)

  private static func askOnce(
    _ request: ControlRequest, of folder: WorkspaceFolder, environment: EngineEnvironment
  ) async throws -> JSONValue {
    switch try ControlClient.ask(request, folderPath: folder.statePath) {
    case .result(let json)?: return json
    case .error(let sentence)?: throw DaemonError.refused(sentence)
    case nil: break
    }
    let open = try OpenWorkspace(folder, environment: environment)
    return try await open.answer(request, isWatching: false).result
  }
}

extension OpenWorkspace {
  /// What a request came to.
  struct Answer {
    /// What the command is told.
    var result: JSONValue
    /// What was done to files and queue; its events stand in the log already.
    var report = WorkspaceReport()
    /// Whether the network is to be tried at once.
    var wakesNetwork = false
  }

  /// Does what a command asks: called by a watcher, and by a command where none runs.
  func answer(_ request: ControlRequest, isWatching: Bool) async throws -> Answer {
    switch request.command {
    case "status": return Answer(result: try await status(isWatching: isWatching).wireJSON)
    case "sync", "confirm":
      let outcome = try await sync(isConfirmed: request.command == "confirm", isWatching: isWatching)
      return Answer(result: SyncResult(outcome).wireJSON, report: outcome.files)
    case "offline", "online":
      let isOn = request.command == "online"
      try setNetwork(isEnabled: isOn)
      var report = WorkspaceReport()
      report.events = [WorkspaceEvent(.note, "", "network access is \(isOn ? "on" : "off")")]
      record(report.events)
      return Answer(result: .null, report: report, wakesNetwork: true)
    case "live":
      let isOn = request.arguments["on"]?.boolValue ?? true
      try setLive(isOn ? .on : .off)
      return Answer(result: .null)
    case "undo":
      var before = WorkspaceReport()
      if !isWatching { before = try await workspace.start() }
      let undone = try await workspace.undo(isAddedToo: request.arguments["added"]?.boolValue ?? false)
      before.add(undone.report)
      record(before.events)
      // A single run has no later in which a listing could show them.
      if !isWatching { try await workspace.seeWrittenFiles() }
      return Answer(result: UndoResult(undone).json, report: before)
    default:
      if let result = try await answerPhotos(request) {
        return Answer(
          result: result, wakesNetwork: request.command == "photos-get" || request.command == "photos-retry")
      }
      if let result = try await answerAccount(request) { return Answer(result: result, wakesNetwork: true) }
      guard let command = ChangeCommand(rawValue: request.command) else {
        throw DaemonError.control(reason: "it does not know '\(request.command)'; stop it and start it again")
      }
      var change = try await change(command, request.arguments, isWatching: isWatching)
      change.report.events.append(WorkspaceEvent(.note, "", "\(command.rawValue): \(change.message)"))
      record(change.report.events)
      return Answer(result: ChangeResult(change).json, report: change.report)
    }
  }

  private func change(
    _ command: ChangeCommand, _ arguments: JSONObject, isWatching: Bool
  ) async throws -> WorkspaceChange {
    var before = WorkspaceReport()
    if !isWatching { before = try await workspace.start() }
    let target = WorkspaceTarget(json: arguments)
    var change =
      switch command {
      case .add:
        try await workspace.add(
          title: arguments["title"]?.stringValue ?? "", to: arguments["folder"]?.stringValue)
      case .done: try await workspace.setDone(target, to: arguments["done"]?.boolValue ?? true)
      case .discard: try await workspace.discard(target)
      case .retry: try await workspace.retry(target)
      case .dismiss: try await workspace.dismiss(target)
      case .resolve: try await workspace.resolve(target, keepsMine: arguments["mine"]?.boolValue ?? false)
      case .resolveMerged: try await workspace.resolve(target, with: MergedText(json: arguments))
      case .restore:
        try await workspace.restore(
          arguments["name"]?.stringValue ?? "", path: arguments["path"]?.stringValue)
      }
    before.add(change.report)
    change.report = before
    // A single run has no later in which a listing could show them.
    if !isWatching, before.filesWritten > 0 { try await workspace.seeWrittenFiles() }
    return change
  }
}

/// The commands that change one row.
public enum ChangeCommand: String, Sendable {
  /// Makes the file of a new row.
  case add
  /// Sets or clears the column that says whether a row is done.
  case done
  /// Drops queued writes.
  case discard
  /// Tries a refused write again.
  case retry
  /// Accepts a refusal.
  case dismiss
  /// Settles a conflict for one side.
  case resolve
  /// Settles a conflict with a merged text; a name of its own, since a watcher that does not know it must not take a side.
  case resolveMerged = "resolve-merged"
  /// Brings a text back from the trash.
  case restore
}

/// What such a command tells.
public struct ChangeResult: Sendable, Equatable {
  /// The file that it is about, relative to the workspace.
  public var path: String
  /// The numbers of the entries that it settled.
  public var entries: [Int64]
  /// What was done, in one sentence.
  public var message: String

  init(_ change: WorkspaceChange) {
    path = change.path
    entries = change.entries
    message = change.message
  }

  /// The result as it travels, and as `--json` prints it.
  public var json: JSONValue {
    [
      "path": .string(path), "entries": .array(entries.map(JSONValue.integer)), "message": .string(message),
    ]
  }

  /// The result as a watcher sent it.
  public init(json: JSONValue) {
    path = json["path"]?.stringValue ?? ""
    entries = json["entries"]?.arrayValue?.compactMap(\.int64Value) ?? []
    message = json["message"]?.stringValue ?? ""
  }
}

extension MergedText {
  /// The text as members of a request's arguments.
  public var json: JSONObject {
    var json: JSONObject = ["merged": .string(text), "name": .string(name)]
    json["entries"] = entries.map { .array($0.map(JSONValue.integer)) }
    return json
  }

  init(json: JSONObject) {
    self.init(
      json["merged"]?.stringValue ?? "", name: json["name"]?.stringValue ?? "",
      entries: json["entries"]?.arrayValue?.compactMap(\.int64Value))
  }
}

extension WorkspaceTarget {
  /// The target as a member of a request's arguments.
  public var json: JSONObject {
    switch self {
    case .entry(let id): ["entry": .integer(id)]
    case .path(let path): ["path": .string(path)]
    case .key(let key): ["key": .string(key)]
    }
  }

  init(json: JSONObject) {
    if let id = json["entry"]?.int64Value {
      self = .entry(id)
    } else if let path = json["path"]?.stringValue {
      self = .path(path)
    } else {
      self = .key(json["key"]?.stringValue ?? "")
    }
  }
}
