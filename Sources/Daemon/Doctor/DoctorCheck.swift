import LosslessJSON

/// One thing that `tidemark doctor` looked at.
public struct DoctorCheck: Sendable, Hashable {
  /// How it stands.
  public enum Level: String, Sendable, Hashable {
    /// As it should be.
    case ok
    /// Worth knowing, and no fault.
    case note
    /// It waits for the network or the server.
    case waiting
    /// It needs a person.
    case trouble
    /// It does not work.
    case failure
  }

  /// What was looked at.
  public var name: String
  /// How it stands.
  public var level: Level
  /// What was found, and what to do where something is to be done: no secrets and no values of rows.
  public var text: String

  init(_ name: String, _ level: Level, _ text: String) {
    self.name = name
    self.level = level
    self.text = text
  }

  /// The check as JSON.
  public var json: JSONValue {
    ["name": .string(name), "level": .string(level.rawValue), "text": .string(text)]
  }
}
