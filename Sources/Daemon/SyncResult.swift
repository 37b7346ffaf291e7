import FileWorkspace
import LosslessJSON
import OfflineEngine

/// What a sync says to the person, whether this process or a watcher did it.
public struct SyncResult: Sendable, Equatable {
  /// Why it did not reach its end.
  public struct Failure: Sendable, Equatable {
    /// What happened and what to do.
    public var message: String
    /// Whether it simply waits for the network or the server.
    public var mayPass: Bool
  }

  /// The counts, by their names in `--json`.
  public var counts: JSONObject
  /// What happened, a line each.
  public var lines: [String]
  /// Whether anything waits for a person.
  public var needsPerson: Bool
  /// Why it did not reach its end.
  public var failure: Failure?

  /// One of the counts.
  public func count(_ name: String) -> Int { Int(counts[name]?.int64Value ?? 0) }

  /// The result of an outcome in this process.
  public init(_ outcome: SyncOutcome) {
    counts = outcome.json
    lines = outcome.files.events.map(EventLine.text)
    needsPerson = outcome.summary.needsPerson
    failure = outcome.failure.map { Failure(message: "\($0)", mayPass: $0.mayPass) }
  }

  var wireJSON: JSONValue {
    [
      "counts": .object(counts), "lines": .array(lines.map(JSONValue.string)), "needsPerson": .bool(needsPerson),
      "failure": failure.map { ["message": .string($0.message), "mayPass": .bool($0.mayPass)] } ?? .null,
    ]
  }

  /// The result as a watcher sent it.
  public init(wireJSON json: JSONValue) {
    counts = json["counts"]?.objectValue ?? [:]
    lines = json["lines"]?.arrayValue?.compactMap(\.stringValue) ?? []
    needsPerson = json["needsPerson"]?.boolValue ?? false
    failure = json["failure"]?.objectValue.map { failure in
      Failure(message: failure["message"]?.stringValue ?? "", mayPass: failure["mayPass"]?.boolValue ?? false)
    }
  }
}

/// Events as lines of a log.
public enum EventLine {
  /// The kind of event, the file and more about it: `edited   tasks/a.json  title`.
  public static func text(_ event: WorkspaceEvent) -> String {
    let word = event.kind.rawValue
    let padding = String(repeating: " ", count: max(1, 9 - word.count))
    return word + padding + [event.path, event.detail].filter { !$0.isEmpty }.joined(separator: "  ")
  }
}
