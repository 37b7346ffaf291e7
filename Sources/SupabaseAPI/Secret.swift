/// A key, token or password that no message, log or dump shows.
public struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The text itself, for the one place that sends or stores it.
  public let revealed: String

  /// Wraps a text.
  public init(_ text: String) {
    revealed = text
  }

  /// Always `[secret]`.
  public var description: String { "[secret]" }
  /// Always `[secret]`.
  public var debugDescription: String { "[secret]" }
  /// No children, so that `dump` and a mirror show nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
