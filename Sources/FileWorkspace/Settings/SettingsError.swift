import LosslessJSON

/// Why tidemark.json cannot be used, with the place in it.
///
/// The line itself is not shown: it may hold the server's key.
public struct SettingsError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Where in tidemark.json.
  public var position: JSONPosition
  /// What was found and what was expected.
  public var message: String

  /// Makes an error about a place in tidemark.json.
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
  public var description: String {
    "\(WorkspaceSettings.fileName):\(position.line):\(position.column): \(message)"
  }
}
