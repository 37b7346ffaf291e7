/// How much the rejected list, and likewise the conflicted list, holds of all users together.
///
/// When a list is full its oldest entries go, and their writes are lost; sizes are in UTF-8 bytes.
public struct ListBounds: Sendable, Hashable {
  /// The most entries.
  public var entries: Int
  /// The most bytes of all entries.
  public var bytes: Int
  /// The most bytes of one body; a larger one is not kept, and its entry can no longer be sent as it is.
  public var bodyBytes: Int
  /// The most bytes of one text of the server's answer.
  public var textBytes: Int

  /// Bounds of the given sizes.
  public init(entries: Int, bytes: Int, bodyBytes: Int, textBytes: Int) {
    self.entries = entries
    self.bytes = bytes
    self.bodyBytes = bodyBytes
    self.textBytes = textBytes
  }

  /// The bounds of the specification (spec 5, "The conflicted list").
  public static let standard = ListBounds(entries: 100, bytes: 512 << 10, bodyBytes: 16 << 10, textBytes: 4 << 10)
}
