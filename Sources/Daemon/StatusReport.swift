import FileWorkspace
import LosslessJSON
import OfflineEngine

/// What `tidemark status` says.
public struct StatusReport: Sendable, Equatable {
  /// The project's URL.
  public var server: String
  /// The user's id.
  public var user: String
  /// `unknown`, `online`, `offline` or `disabled`.
  public var network: String
  /// Whether a watcher runs.
  public var isWatching: Bool
  /// Writes that wait to be sent.
  public var pending: Int
  /// Writes that the server refused.
  public var rejected: Int
  /// Writes that met another change.
  public var conflicted: Int
  /// Files with a trouble of their own.
  public var problems: [Problem]
  /// What is not queued because it needs a person.
  public var held: Int
  /// What that is and what to do about it, a sentence each.
  public var holds: [String] = []
  /// When everything was last in step, as RFC 3339; `nil` when it never was.
  public var lastSyncedAt: String?
  /// Whether that is so long ago that nobody can say they still are, although a watcher runs.
  public var isOutdated = false
  /// How many of the conflicts are deletes that met a change.
  public var conflictedDeletes = 0
  /// Why the last pass stopped.
  public var lastError: String?
  /// Whether a person must do something about that, such as sign in.
  public var errorNeedsPerson = false
  /// When a watcher asks the server again after a failure, as RFC 3339.
  public var nextTryAt: String?
  /// Whether changes on the server arrive as they are made: `off`, `connecting`, `live` or `waiting`.
  public var live = "off"
  /// Why they do not; `nil` where there is no reason.
  public var liveReason: String?
  /// Files and rows of each collection.
  public var collections: [WorkspaceSummary.CollectionCounts]
  /// What single files wait for, a sentence each.
  public var waits: [String]
  /// How the photos stand.
  public var photos: JSONValue = PhotoSummary().json

  /// The counts, as `tidemark status --json` prints them.
  ///
  /// `problems` is a count there.
  public var json: JSONObject {
    [
      "server": .string(server), "user": .string(user), "network": .string(network), "watching": .bool(isWatching),
      "pending": .integer(Int64(pending)), "rejected": .integer(Int64(rejected)),
      "conflicted": .integer(Int64(conflicted)), "conflictedDeletes": .integer(Int64(conflictedDeletes)),
      "problems": .integer(Int64(problems.count)),
      "held": .integer(Int64(held)), "holds": .array(holds.map(JSONValue.string)),
      "lastSyncedAt": lastSyncedAt.map(JSONValue.string) ?? .null,
      "outdated": .bool(isOutdated),
      "lastError": lastError.map(JSONValue.string) ?? .null,
      "nextTryAt": nextTryAt.map(JSONValue.string) ?? .null, "live": .string(live),
      "liveReason": liveReason.map(JSONValue.string) ?? .null, "waits": .array(waits.map(JSONValue.string)),
      "photos": photos,
      "collections": .array(
        collections.map { collection in
          [
            "table": .string(collection.table), "folder": .string(collection.folder),
            "files": .integer(Int64(collection.files)), "rows": .integer(Int64(collection.rows)),
          ]
        }),
    ]
  }

  /// The report with the problems spelt out, as it travels over the control socket.
  var wireJSON: JSONValue {
    var json = json
    json["problemList"] = .array(
      problems.map { problem in
        [
          "path": .string(problem.path), "line": problem.line.map { .integer(Int64($0)) } ?? .null,
          "column": problem.column.map { .integer(Int64($0)) } ?? .null, "message": .string(problem.message),
          "since": .integer(problem.since.nanoseconds),
        ]
      })
    json["errorNeedsPerson"] = .bool(errorNeedsPerson)
    return .object(json)
  }

  /// The report as a watcher sent it.
  public init(wireJSON json: JSONValue) {
    let number = { (name: String) in Int(json[name]?.int64Value ?? 0) }
    server = json["server"]?.stringValue ?? ""
    user = json["user"]?.stringValue ?? ""
    network = json["network"]?.stringValue ?? NetworkStatus.unknown.rawValue
    isWatching = json["watching"]?.boolValue ?? false
    pending = number("pending")
    rejected = number("rejected")
    conflicted = number("conflicted")
    conflictedDeletes = number("conflictedDeletes")
    isOutdated = json["outdated"]?.boolValue ?? false
    held = number("held")
    holds = json["holds"]?.arrayValue?.compactMap(\.stringValue) ?? []
    lastSyncedAt = json["lastSyncedAt"]?.stringValue
    lastError = json["lastError"]?.stringValue
    errorNeedsPerson = json["errorNeedsPerson"]?.boolValue ?? false
    nextTryAt = json["nextTryAt"]?.stringValue
    live = json["live"]?.stringValue ?? "off"
    liveReason = json["liveReason"]?.stringValue
    photos = json["photos"] ?? PhotoSummary().json
    waits = json["waits"]?.arrayValue?.compactMap(\.stringValue) ?? []
    problems = (json["problemList"]?.arrayValue ?? []).map { problem in
      Problem(
        path: problem["path"]?.stringValue ?? "", line: problem["line"]?.int64Value.map(Int.init),
        column: problem["column"]?.int64Value.map(Int.init), message: problem["message"]?.stringValue ?? "",
        since: WallTime(nanoseconds: problem["since"]?.int64Value ?? 0))
    }
    collections = (json["collections"]?.arrayValue ?? []).map { collection in
      WorkspaceSummary.CollectionCounts(
        table: collection["table"]?.stringValue ?? "", folder: collection["folder"]?.stringValue ?? "",
        files: Int(collection["files"]?.int64Value ?? 0), rows: Int(collection["rows"]?.int64Value ?? 0))
    }
  }
}

extension StatusReport {
  /// A watcher asks at least once a minute; one that has not for so long may not say that all is in step.
  private static let outdatedAfter = Duration.seconds(300)

  /// Whether a watcher that was in step at a time cannot say any more that it is.
  static func isOutdated(_ lastSyncedAt: WallTime?, at now: WallTime, pullEvery: Duration) -> Bool {
    guard let lastSyncedAt else { return false }
    return now - lastSyncedAt > max(outdatedAfter, pullEvery * 3)
  }

  init(_ summary: WorkspaceSummary, server: String, user: String, network: String, isWatching: Bool) {
    self.server = server
    self.user = user
    self.network = network
    self.isWatching = isWatching
    pending = summary.counts.queued
    rejected = summary.counts.rejected
    conflicted = summary.counts.conflicted
    conflictedDeletes = summary.conflictedDeletes
    problems = summary.problems
    held = summary.held
    holds = summary.holds
    collections = summary.collections
    waits = summary.adopting.map { "\($0): its files are looked at once the server's rows were all read" }
    waits += summary.missing.map { file in
      "\(file.path): it is missing, so its row is deleted unless it comes back "
        + (isWatching ? "until \(file.until.text)" : "before the next sync")
    }
    photos = summary.photos.json
    if let transfer = summary.photos.transfer { waits.append("\(transfer.path): \(transfer.percent) % has passed") }
    waits += summary.photos.waits
  }

  /// Reads the status of a workspace from its state, without a watcher and without its lock.
  public static func read(_ folder: WorkspaceFolder, clock: any EngineClock) throws -> StatusReport {
    try WorkspaceState.read(folder, clock: clock) { transaction, settings, files in
      let isDisabled = try transaction.note(OpenWorkspace.Note.network) == NetworkStatus.disabled.rawValue
      let network = isDisabled ? NetworkStatus.disabled : .unknown
      var report = StatusReport(
        try WorkspaceSummary(transaction, settings, files: files), server: settings.server.url, user: transaction.user,
        network: network.rawValue, isWatching: false)
      report.lastSyncedAt = try transaction.note(OpenWorkspace.Note.lastSyncedAt).flatMap { Int64($0) }
        .map { WallTime(nanoseconds: $0).text }
      report.lastError = try transaction.note(OpenWorkspace.Note.lastError)
      let session = try? folder.session.load()
      report.errorNeedsPerson = try session == nil || transaction.note(OpenWorkspace.Note.sessionEnded) != nil
      return report
    }
  }
}

extension OpenWorkspace {
  /// The status as this process knows it.
  public func status(isWatching: Bool) async throws -> StatusReport {
    let status = client.syncStatus
    var report = StatusReport(
      try await workspace.summary(), server: settings.server.url, user: client.user, network: status.network.rawValue,
      isWatching: isWatching)
    report.lastSyncedAt = status.lastSyncedAt?.text
    report.isOutdated =
      isWatching && StatusReport.isOutdated(status.lastSyncedAt, at: client.now, pullEvery: settings.pullEvery)
    report.lastError = status.lastSyncError.map { "\($0)" }
    switch status.lastSyncError {
    case .session(.ended)?, .session(.signedOut)?, .session(.otherUser)?: report.errorNeedsPerson = true
    default: break
    }
    report.nextTryAt = watchState.nextTry?.text
    report.live = watchState.live.word
    if case .waiting(let reason, _) = watchState.live { report.liveReason = reason }
    report.waits += await workspace.waits()
    if let trouble = watchState.trouble {
      report.waits.append("files are not looked at: \(trouble.reason); tried again at \(trouble.again.text)")
    }
    return report
  }
}
