/// The lines that git and merge tools put around two versions of a text.
public struct ConflictMarkers: Sendable, Hashable {
  /// What stands behind the marker of one's own version.
  public var mine: String
  /// What stands behind the marker of the version that both were made from.
  public var base: String
  /// What stands behind the marker of the other version.
  public var theirs: String
  /// How many signs a marker has.
  public var size: Int

  /// Markers with what stands behind them.
  public init(mine: String = "mine", base: String = "base", theirs: String = "theirs", size: Int = 7) {
    self.mine = mine
    self.base = base
    self.theirs = theirs
    self.size = size
  }

  /// Three versions of the same lines between their markers; every version ends with a line's end, or is empty.
  func around(mine: [UInt8], base: [UInt8], theirs: [UInt8], lineEnd: [UInt8]) -> [UInt8] {
    let line = { (sign: Character, label: String?) in
      Array((String(repeating: sign, count: size) + (label.map { " " + $0 } ?? "")).utf8) + lineEnd
    }
    return line("<", self.mine) + mine + line("|", self.base) + base + line("=", nil) + theirs + line(">", self.theirs)
  }

  /// Where the first line begins that is a marker of seven signs, which is what git writes; nil where there is none.
  public static func firstMarker(in text: [UInt8]) -> Int? {
    var start = text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    while start < text.count {
      let end = text[start...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count
      let sign = text[start]
      if "<|=>".utf8.contains(sign), text[start..<end].prefix(while: { $0 == sign }).count == 7 {
        let rest = start + 7 < end ? text[start + 7] : nil
        if rest == nil || rest == UInt8(ascii: " ") || rest == UInt8(ascii: "\r") { return start }
      }
      start = end + 1
    }
    return nil
  }
}
