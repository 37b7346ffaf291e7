/// A place in a text.
public struct JSONPosition: Sendable, Hashable {
  /// The line, counted from 1; a line ends with LF, CRLF or a lone CR.
  public var line: Int
  /// The column in Unicode scalars, counted from 1; a byte-order mark does not count.
  public var column: Int
  /// The bytes before the place, a byte-order mark among them.
  public var offset: Int

  /// Makes a place from its parts.
  public init(line: Int, column: Int, offset: Int) {
    self.line = line
    self.column = column
    self.offset = offset
  }
}

/// Finds lines and columns by walking forward through a text, so that many places in order cost one walk.
struct PositionFinder {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var offset: Int
  private var line = 1
  private var lineStart: Int
  private var column = 1

  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    self.bytes = bytes
    offset = JSONParser.startsWithMark(bytes) ? 3 : 0
    lineStart = offset
  }

  /// Returns the position of a place that is not before the last one asked for.
  mutating func position(of target: Int) -> JSONPosition {
    let target = min(target, bytes.count)
    while offset < target {
      let byte = bytes[offset]
      offset += 1
      let endsLine =
        byte == UInt8(ascii: "\n")
        || (byte == UInt8(ascii: "\r") && !(offset < bytes.count && bytes[offset] == UInt8(ascii: "\n")))
      if endsLine {
        line += 1
        lineStart = offset
        column = 1
      } else if byte & 0xC0 != 0x80 {
        column += 1
      }
    }
    return JSONPosition(line: line, column: column, offset: target)
  }

  /// Returns the text of the line of the last place asked for, cut around that place where the line is long.
  ///
  /// - Returns: The text, safe to print, and how many of its scalars stand before the place.
  func lineText(scalarsMax: Int) -> (text: String, caret: Int) {
    var lineEnd = offset
    while lineEnd < bytes.count, bytes[lineEnd] != UInt8(ascii: "\n"), bytes[lineEnd] != UInt8(ascii: "\r") {
      lineEnd += 1
    }
    // Four bytes a scalar at most; cutting first keeps a file that is one long line cheap.
    var from = max(lineStart, offset - scalarsMax * 4)
    while from > lineStart, from < offset, bytes[from] & 0xC0 == 0x80 { from += 1 }
    var until = min(lineEnd, offset + scalarsMax * 4)
    while until < lineEnd, bytes[until] & 0xC0 == 0x80 { until += 1 }
    var before = JSONError.printable(bytes[from..<min(offset, lineEnd)])
    var after = JSONError.printable(bytes[min(offset, lineEnd)..<until])
    if before.count + after.count > scalarsMax {
      let keepBefore = max(scalarsMax * 2 / 3, scalarsMax - after.count)
      if before.count > keepBefore { before = ["…"] + before.suffix(keepBefore) }
      let keepAfter = max(0, scalarsMax - before.count)
      if after.count > keepAfter { after = after.prefix(keepAfter) + ["…"] }
    }
    if from > lineStart, before.first != "…" { before.insert("…", at: 0) }
    if until < lineEnd, after.last != "…" { after.append("…") }
    var text = String.UnicodeScalarView()
    text.append(contentsOf: before)
    text.append(contentsOf: after)
    return (String(text), before.count)
  }
}
