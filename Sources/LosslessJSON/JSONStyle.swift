/// How JSON text is laid out.
public struct JSONStyle: Sendable, Hashable {
  /// What each level is indented by, or nil for everything on one line.
  public var indent: String?
  /// What ends a line, where there are lines.
  public var lineEnd: String
  /// What stands between a name and its value.
  public var colon: String
  /// What stands between two members or elements, where they share a line.
  public var comma: String
  /// Put before every line but the first, for a value that stands inside other text.
  public var margin: String

  /// Makes a style from its parts.
  public init(
    indent: String?, lineEnd: String = "\n", colon: String = ": ", comma: String = ", ", margin: String = ""
  ) {
    self.indent = indent
    self.lineEnd = lineEnd
    self.colon = colon
    self.comma = comma
    self.margin = margin
  }

  /// Everything on one line without a space: `{"a":1,"b":[2]}`.
  public static let compact = JSONStyle(indent: nil, colon: ":", comma: ",")

  /// Everything on one line with spaces: `{"a": 1, "b": [2]}`.
  public static let oneLine = JSONStyle(indent: nil)

  /// A member or element a line, two spaces a level, lines ended by a line feed, no line end at the end.
  public static let pretty = JSONStyle(indent: "  ")
}
