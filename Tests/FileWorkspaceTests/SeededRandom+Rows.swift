import FileWorkspace
import LosslessJSON
import Randomness

/// Rows and texts by chance, so that one number repeats one run.
extension SeededRandom {
  mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: 0..<elements.count, using: &self)]
  }

  /// Text of hostile pieces, joined at random; now and then of any scalars.
  mutating func text(piecesMax: Int) -> String {
    let pieces = [
      "a", "Milk", "0", " ", ".", "..", "/", "\\", "\0", "\n", "\u{1B}", ":", "?", "*", "\"", "<", ">", "|", "#", "~",
      "-",
      "é", "e\u{301}", "\u{301}", "ß", "日本", "👩‍👩‍👧", "\u{200B}", "\u{202E}", "\u{FEFF}", "\u{10FFFF}", "con", "nul",
      "COM1", ".mine",
      ".json", ".problem.txt", "ﷺ", "Å", "\u{1E9B}\u{323}", "각", "ᄀ", "ᅡ", "tmp", "_original",
    ]
    return (0..<Int.random(in: 0...piecesMax, using: &self)).map { _ in
      if Int.random(in: 0..<4, using: &self) > 0 { return pick(pieces) }
      return Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &self)).map { String($0) } ?? "x"
    }.joined()
  }

  mutating func uuid() -> String {
    let digits = (String(next(), radix: 16) + String(next(), radix: 16) + String(repeating: "0", count: 32)).prefix(32)
    var text = ""
    for (index, digit) in digits.enumerated() {
      if [8, 12, 16, 20].contains(index) { text += "-" }
      text.append(digit)
    }
    return text
  }
}
