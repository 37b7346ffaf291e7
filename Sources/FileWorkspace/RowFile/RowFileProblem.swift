import LosslessJSON

/// Why a file cannot be read as its row: what was found, what was expected, and where.
public struct RowFileProblem: Error, Hashable, Sendable, CustomStringConvertible {
  /// Where in the file.
  public var position: JSONPosition
  /// What was found and what was expected, as a sentence without its place.
  public var message: String
  /// The text of the line, safe to print, cut around the place where it is long.
  public var lineText: String
  /// How many scalars of `lineText` stand before the place.
  public var caret: Int

  /// Makes a problem of an error in the text.
  public init(_ error: JSONError) {
    position = error.position
    message = error.message
    lineText = error.lineText
    caret = error.caret
  }

  /// Makes a problem that is about the whole file.
  public init(wholeFile message: String) {
    position = JSONPosition(line: 1, column: 1, offset: 0)
    self.message = message
    lineText = ""
    caret = 0
  }

  /// The place and the sentence: `line 3, column 5: …`.
  public var description: String { "line \(position.line), column \(position.column): \(message)" }

  /// The place in a named file and the sentence: `tasks/a.json:3:5: …`.
  public func description(in path: String) -> String { "\(path):\(position.line):\(position.column): \(message)" }

  /// The line with a mark below the place, in two lines; empty for a problem with the whole file.
  public var excerpt: String {
    if lineText.isEmpty { return "" }
    let margin = lineText.unicodeScalars.prefix(caret).map { $0 == "\t" ? "\t" : " " }.joined()
    return lineText + "\n" + margin + "^"
  }
}
