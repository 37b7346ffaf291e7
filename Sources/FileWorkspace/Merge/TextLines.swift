/// Texts as numbered lines: equal lines, in whichever of the texts, have equal numbers.
///
/// A line ends behind its `\n`, which belongs to it, as does a `\r` before it. So a last line without an end is another
/// line than the same one with it, and nothing about line ends is ever lost.
struct TextLines: Sendable {
  /// The text.
  let bytes: [UInt8]
  /// Where each line begins, and the text's end.
  let starts: [Int]
  /// The number of each line.
  let numbers: [Int]

  var count: Int { numbers.count }

  /// The bytes of some lines.
  func bytes(of lines: Range<Int>) -> ArraySlice<UInt8> { bytes[starts[lines.lowerBound]..<starts[lines.upperBound]] }

  /// Whether a line ends with CRLF; of a last line without an end the one before tells, and `nil` is that nothing does.
  func endsWithCRLF(_ line: Int) -> Bool? {
    guard count > 0 else { return nil }
    var end = starts[line + 1]
    if bytes[end - 1] != UInt8(ascii: "\n") {
      guard line > 0 else { return nil }
      end = starts[line]
    }
    return end > 1 && bytes[end - 2] == UInt8(ascii: "\r")
  }

  /// Numbers the lines of several texts together.
  static func numbering(_ texts: [[UInt8]]) -> [TextLines] {
    var known: [ArraySlice<UInt8>: Int] = [:]
    return texts.map { bytes in
      var starts = [0]
      for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: "\n") { starts.append(index + 1) }
      if starts.last != bytes.count { starts.append(bytes.count) }
      let numbers = zip(starts, starts.dropFirst()).map { start, end in
        let line = bytes[start..<end]
        if let number = known[line] { return number }
        known[line] = known.count
        return known.count - 1
      }
      return TextLines(bytes: bytes, starts: starts, numbers: numbers)
    }
  }
}
