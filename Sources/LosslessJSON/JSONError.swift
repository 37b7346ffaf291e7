/// Why a text is not JSON: what was found, what was expected, and where.
public struct JSONError: Error, Hashable, Sendable {
  /// What is wrong, for code that acts on it.
  public enum Kind: Hashable, Sendable {
    /// The text has no value at all.
    case empty
    /// The text ends within a value.
    case unexpectedEnd
    /// Something stands where a value, a name, a comma or a bracket was expected.
    case unexpected
    /// A comma stands before a closing bracket.
    case trailingComma
    /// A comment, which JSON does not have.
    case comment
    /// A second member of one name in an object.
    case duplicateName(String)
    /// Bytes that are not UTF-8, or a text in another encoding.
    case invalidUTF8
    /// Half of a surrogate pair, raw or escaped.
    case loneSurrogate
    /// A control character within a string.
    case controlCharacter
    /// A backslash with something behind it that is no escape.
    case invalidEscape
    /// A number that JSON writes differently, as with a leading zero.
    case invalidNumber
    /// NaN or an infinity.
    case notFinite
    /// More than 512 levels of arrays and objects.
    case tooDeep
    /// Something stands behind the value.
    case trailingText
  }

  /// What is wrong, for code that acts on it.
  public var kind: Kind
  /// Where.
  public var position: JSONPosition
  /// What was found and what was expected, as a sentence without its place.
  public var message: String
  /// The text of the line, control characters replaced, cut around the place where it is long.
  public var lineText: String
  /// How many scalars of `lineText` stand before the place.
  public var caret: Int

  /// Makes an error about a place in a text.
  ///
  /// - Parameters:
  ///   - kind: What is wrong.
  ///   - message: What was found and what was expected.
  ///   - offset: The place, in bytes from the beginning.
  ///   - bytes: The whole text.
  public init(_ kind: Kind, _ message: String, at offset: Int, in bytes: [UInt8]) {
    self = bytes.withUnsafeBufferPointer { JSONError(kind, message, at: offset, in: $0) }
  }

  init(_ kind: Kind, _ message: String, at offset: Int, in bytes: UnsafeBufferPointer<UInt8>) {
    var finder = PositionFinder(bytes)
    position = finder.position(of: offset)
    self.kind = kind
    self.message = message
    (lineText, caret) = finder.lineText(scalarsMax: JSONError.lineTextScalarsMax)
  }

  /// How much of a long line is shown.
  static let lineTextScalarsMax = 160

  /// The line with a mark below the place, in two lines.
  public var excerpt: String {
    // A tab in the text is repeated below it, so that the mark stands under its place whatever a tab's width.
    let margin = lineText.unicodeScalars.prefix(caret).map { $0 == "\t" ? "\t" : " " }.joined()
    return lineText + "\n" + margin + "^"
  }
}

extension JSONError: CustomStringConvertible {
  /// The place and the sentence: `line 3, column 5: …`.
  public var description: String { "line \(position.line), column \(position.column): \(message)" }
}

extension JSONError {
  /// Decodes bytes to scalars that are safe to show on a terminal, one for one.
  ///
  /// Control characters become their pictures, and what turns the direction of text or is no text becomes U+FFFD:
  /// a file must not be able to play with the terminal of whoever reads about its mistakes.
  static func printable(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> [Unicode.Scalar] {
    String(decoding: bytes, as: UTF8.self).unicodeScalars.map(printable)
  }

  /// Returns a scalar, or what is shown in its place.
  static func printable(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    switch scalar.value {
    case 0x09: scalar
    case 0x00...0x1F: Unicode.Scalar(0x2400 + scalar.value) ?? "\u{FFFD}"
    case 0x7F: "\u{2421}"
    case 0x80...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: "\u{FFFD}"
    default: scalar
    }
  }

  /// Returns text in quotes for a sentence, printable and cut where it is long.
  public static func quoted(_ text: String) -> String {
    var scalars = text.unicodeScalars.prefix(61).map(printable)
    if scalars.count > 60 { scalars = scalars.prefix(60) + ["…"] }
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    return "'\(String(view))'"
  }
}
