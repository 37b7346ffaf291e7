import LosslessJSON

/// A request to a running watcher: one line of JSON, `{"version":1,"command":"sync","arguments":{}}`.
///
/// The connection carries one request and one answer, and the watcher closes it. Empty lines before the answer say that it
/// is at work. The socket lies in `.tidemark/control`
/// with mode 0600: whoever may open it may change the workspace's files anyhow.
///
/// | command | arguments |
/// | --- | --- |
/// | `status`, `sync`, `confirm`, `offline`, `online` | none |
/// | `live` | `on`: whether the server is asked to tell changes as they are made |
/// | `add` | `title`, and `folder` for another collection than the first |
/// | `done` | a target, and `done`: the value to be set |
/// | `discard`, `retry`, `dismiss` | a target |
/// | `resolve` | a target, and `mine`: whose version is kept |
/// | `resolve-merged` | a target, `merged`: a row file's text, `name`: what messages call it, `entries`: the conflict it is of |
/// | `restore` | `name`: of the text in the trash; `path`: where it lay |
/// | `undo` | `added`: whether files that came new go, too |
/// | `photos-get`, `photos-retry`, `photos-info` | `paths`: in the workspace |
/// | `photos-share` | `paths`, `seconds` for which the links work, and `width` in pixels of smaller copies |
/// | `login` | `session`: one that was just made; it never stands in a log |
/// | `logout` | `everywhere`, and `abandon`: whether an anonymous account may be lost |
/// | `verify` | none; asks the server whether the session lives |
///
/// A target is one of `entry` (an entry's number), `path` (in the workspace) and `key` (a row's, or its beginning).
public struct ControlRequest: Sendable, Equatable {
  /// The protocol's version; a watcher refuses any other than its own.
  public static let version: Int64 = 1

  /// What is asked for: a command's name.
  public var command: String
  /// The command's own members.
  public var arguments: JSONObject

  /// A request for a command.
  public init(_ command: String, _ arguments: JSONObject = [:]) {
    self.command = command
    self.arguments = arguments
  }

  var json: JSONValue {
    .object([
      "version": .integer(Self.version), "command": .string(command), "arguments": .object(arguments),
    ])
  }

  init(json: JSONValue) throws(DaemonError) {
    guard json["version"]?.int64Value == Self.version, let command = json["command"]?.stringValue else {
      throw .control(reason: "it speaks another version of the protocol; stop it and start it again")
    }
    self.command = command
    arguments = json["arguments"]?.objectValue ?? [:]
  }
}

/// A watcher's answer: `{"version":1,"result":…}`, or `{"version":1,"error":"…"}` with a sentence for the person.
public enum ControlAnswer: Sendable, Equatable {
  /// What the command came to.
  case result(JSONValue)
  /// Why it was not done.
  case error(String)

  var json: JSONValue {
    switch self {
    case .result(let value): .object(["version": .integer(ControlRequest.version), "result": value])
    case .error(let text): .object(["version": .integer(ControlRequest.version), "error": .string(text)])
    }
  }

  init(json: JSONValue) throws(DaemonError) {
    if let result = json["result"] {
      self = .result(result)
    } else if let error = json["error"]?.stringValue {
      self = .error(error)
    } else {
      throw .control(reason: "its answer is none")
    }
  }
}
