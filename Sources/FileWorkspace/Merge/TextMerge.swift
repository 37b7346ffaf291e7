/// Two changes of one text, brought together line by line.
///
/// The rules are those of `git merge-file`. A line that one side changed is taken from that side, and what both sides
/// changed in the same way is taken once. Changes overlap when they are about the same lines, and also when no unchanged
/// line lies between them: nothing tells then in which order they belong, or whether either still makes sense beside the
/// other. A line's end belongs to it, so CRLF and a missing last newline stay as they are, and changing them is a change.
///
/// Texts are compared byte by byte. Time is bounded: of very long and very different texts not the shortest difference
/// is taken but a good one, which can make more overlap than need be, never less text come out.
public struct TextMerge: Sendable, Hashable {
  /// A piece of the result.
  public enum Hunk: Sendable, Hashable {
    /// Text on which both sides agree: unchanged, changed by one side, or by both in the same way.
    case settled(String)
    /// Lines that both sides changed to different ones.
    case overlapping(base: String, mine: String, theirs: String)
  }

  /// The pieces of the result, in order.
  ///
  /// No two settled ones follow each other, nor two overlapping ones.
  public let hunks: [Hunk]
  /// How a marker has to end at each hunk, so that it ends as the lines around it do.
  private let markerEnds: [String]

  /// Merges two changes of `base`.
  public init(base: String, mine: String, theirs: String) {
    let texts = TextLines.numbering([base, mine, theirs].map { Array($0.utf8) })
    let regions = MergeRegion.all(
      LineDiff(texts[0].numbers, texts[1].numbers).changes, LineDiff(texts[0].numbers, texts[2].numbers).changes)
    var hunks: [Hunk] = []
    var ends: [String] = []
    var settled: [UInt8] = []
    var baseLine = 0
    func settle() {
      guard !settled.isEmpty else { return }
      hunks.append(.settled(String(decoding: settled, as: UTF8.self)))
      ends.append("\n")
      settled = []
    }
    for region in regions {
      settled += texts[0].bytes(of: baseLine..<region.base.lowerBound)
      baseLine = region.base.upperBound
      let (mine, theirs) = (texts[1].bytes(of: region.mine), texts[2].bytes(of: region.theirs))
      switch region.side {
      case .mine: settled += mine
      case .theirs: settled += theirs
      case .both where mine.elementsEqual(theirs): settled += mine
      case .both:
        settle()
        hunks.append(
          .overlapping(
            base: String(decoding: texts[0].bytes(of: region.base), as: UTF8.self),
            mine: String(decoding: mine, as: UTF8.self), theirs: String(decoding: theirs, as: UTF8.self)))
        ends.append(Self.markerEnd(at: region, texts))
      }
    }
    settled += texts[0].bytes(of: baseLine..<texts[0].count)
    settle()
    self.hunks = hunks
    markerEnds = ends
  }

  /// The merged text; `nil` when changes overlap.
  public var merged: String? {
    var text = ""
    for hunk in hunks {
      guard case .settled(let piece) = hunk else { return nil }
      text += piece
    }
    return text
  }

  /// Whether changes overlap.
  public var overlaps: Bool { merged == nil }

  /// The whole text with both versions of every overlap and what they were made from, between the markers that git and
  /// merge tools know.
  ///
  /// Where nothing overlaps this is the merged text.
  public func marked(mine: String = "mine", base: String = "base", theirs: String = "theirs") -> String {
    var text = ""
    for (hunk, end) in zip(hunks, markerEnds) {
      switch hunk {
      case .settled(let piece): text += piece
      case .overlapping(let before, let ours, let others):
        text += "<<<<<<< \(mine)\(end)" + Self.ended(ours, end)
        text += "||||||| \(base)\(end)" + Self.ended(before, end)
        text += "=======\(end)" + Self.ended(others, end)
        text += ">>>>>>> \(theirs)\(end)"
      }
    }
    return text
  }

  /// Lines of which also the last has an end.
  private static func ended(_ lines: String, _ end: String) -> String {
    lines.isEmpty || lines.utf8.last == UInt8(ascii: "\n") ? lines : lines + end
  }

  private static func markerEnd(at region: MergeRegion, _ texts: [TextLines]) -> String {
    let ends = [
      texts[1].endsWithCRLF(max(0, region.mine.lowerBound - 1)),
      texts[2].endsWithCRLF(max(0, region.theirs.lowerBound - 1)), texts[0].endsWithCRLF(0),
    ]
    return ends.contains(false) || ends.last == .some(nil) ? "\n" : "\r\n"
  }
}

/// A stretch of the three texts that not all of them have alike.
private struct MergeRegion {
  enum Side { case mine, theirs, both }

  var side: Side
  var base: Range<Int>
  var mine: Range<Int>
  var theirs: Range<Int>

  /// The stretches in order, from what each side changed.
  static func all(_ mine: [LineDiff.Change], _ theirs: [LineDiff.Change]) -> [MergeRegion] {
    var regions: [MergeRegion] = []
    var (left, right) = (0, 0)
    /// How many lines the changes before have added to each side.
    var (leftShift, rightShift) = (0, 0)
    while left < mine.count || right < theirs.count {
      var region: Range<Int>
      let (firstLeft, firstRight) = (left, right)
      if right == theirs.count || left < mine.count && mine[left].old.lowerBound <= theirs[right].old.lowerBound {
        region = mine[left].old
      } else {
        region = theirs[right].old
      }
      // Everything that touches what is gathered so far belongs to it.
      while true {
        if left < mine.count, mine[left].old.lowerBound <= region.upperBound {
          region = region.lowerBound..<max(region.upperBound, mine[left].old.upperBound)
          left += 1
        } else if right < theirs.count, theirs[right].old.lowerBound <= region.upperBound {
          region = region.lowerBound..<max(region.upperBound, theirs[right].old.upperBound)
          right += 1
        } else {
          break
        }
      }
      let side: Side = right == firstRight ? .mine : left == firstLeft ? .theirs : .both
      let (leftBefore, rightBefore) = (leftShift, rightShift)
      for change in mine[firstLeft..<left] { leftShift += change.new.count - change.old.count }
      for change in theirs[firstRight..<right] { rightShift += change.new.count - change.old.count }
      regions.append(
        MergeRegion(
          side: side, base: region, mine: region.lowerBound + leftBefore..<region.upperBound + leftShift,
          theirs: region.lowerBound + rightBefore..<region.upperBound + rightShift))
    }
    return regions
  }
}
