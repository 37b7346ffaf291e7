import LosslessJSON

/// Why tidemark.json, or another file of settings, cannot be used, with the place in it.
///
/// The line itself is not shown: it may hold the server's key.
public struct SettingsError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Where in the file.
  public var position: JSONPosition
  /// What was found and what was expected.
  public var message: String

  /// Makes an error about a place in the file.
  public init(_ message: String, at position: JSONPosition) {
    self.message = message
    self.position = position
  }

  /// Makes an error of one that says why the text is not JSON.
  init(_ error: JSONError) {
    position = error.position
    message = error.message
    // The parser quotes what it found, and on such a line that may be the server's key without its quotes.
    if error.lineText.contains("key"), error.kind == .unexpected || error.kind == .invalidNumber {
      message = "this is not JSON; expected a value in double quotes (\")"
    }
  }

  /// The place and the sentence: `tidemark.json:3:5: …`.
  public var description: String { description(in: WorkspaceSettings.fileName) }

  /// The place in a file of another name and the sentence.
  public func description(in name: String) -> String { "\(name):\(position.line):\(position.column): \(message)" }
}
