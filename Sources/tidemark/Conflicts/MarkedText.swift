import FileWorkspace

/// A text with what was removed and added marked in it, to be laid into a column of a terminal.
struct MarkedText {
  /// What a part of the text is.
  enum Mark {
    case kept
    case removed
    case added
    /// Left out.
    case aside
  }

  /// The smallest part that is never torn apart.
  private struct Glyph {
    var text: String
    var width: Int
    var mark: Mark
    var isSpace = false
    var endsLine = false
  }

  private var glyphs: [Glyph] = []

  /// How much of an unchanged stretch is shown beside a change.
  private static let neighbourhood = 100
  /// How much of a changed stretch is shown.
  private static let changeMax = 2_000

  /// A text as it is.
  init(_ text: String) { append(shortened(text, .kept, head: Self.changeMax, tail: Self.neighbourhood)) }

  /// What became of a text.
  ///
  /// - Parameter isColored: Whether colours tell what was removed and added; else brackets do, as git's word diff has them.
  init(_ diff: WordDiff, isColored: Bool) {
    let hasChanges = diff.pieces.count > 1
    for (index, piece) in diff.pieces.enumerated() {
      switch piece {
      case .kept(let text):
        let head = hasChanges ? index == 0 ? 0 : Self.neighbourhood : Self.changeMax
        let tail = hasChanges && index < diff.pieces.count - 1 ? Self.neighbourhood : 0
        append(shortened(text, .kept, head: head, tail: tail))
      case .removed(let text): append(text, .removed, isColored ? nil : ("[-", "-]"))
      case .added(let text): append(text, .added, isColored ? nil : ("{+", "+}"))
      }
    }
  }

  private mutating func append(_ text: String, _ mark: Mark, _ brackets: (String, String)?) {
    if let brackets { glyphs.append(Glyph(text: brackets.0, width: 2, mark: mark)) }
    append(shortened(text, mark, head: Self.changeMax, tail: Self.neighbourhood))
    if let brackets { glyphs.append(Glyph(text: brackets.1, width: 2, mark: mark)) }
  }

  private mutating func append(_ more: ArraySlice<Glyph>) { glyphs += more }

  /// The parts of a stretch, of a long one only those at its ends.
  private func shortened(_ text: String, _ mark: Mark, head: Int, tail: Int) -> ArraySlice<Glyph> {
    let aside = [Glyph(text: "…", width: 1, mark: .aside)]
    let glyphs = { (part: Substring) in Glyphs(part, mark, showsLineEnds: mark != .kept).glyphs }
    // A long text is not looked at between its ends.
    let most = head + tail + Self.neighbourhood / 2
    let isLong = text.index(text.startIndex, offsetBy: most + 1, limitedBy: text.endIndex) != nil
    guard isLong else { return glyphs(text[...])[...] }
    var front = glyphs(text.prefix(head))[...]
    var back = glyphs(text.suffix(tail))[...]
    // At a word's end, unless a word is longer than all that is shown.
    if let space = front.lastIndex(where: \.isSpace), space > head / 2 { front = front[...space] }
    if let space = back.firstIndex(where: \.isSpace), space < back.count / 2 { back = back[space...] }
    return front + aside + back
  }

  /// The text in lines of at most `width` cells; a word that is longer than a line is torn.
  ///
  /// - Parameter isColored: Whether colours tell what was removed and added.
  func lines(width: Int, isColored: Bool) -> [MarkedLine] {
    var lines: [[Glyph]] = [[]]
    var used = 0
    for glyph in glyphs {
      if glyph.endsLine {
        lines[lines.count - 1].append(glyph)
        lines.append([])
        used = 0
        continue
      }
      if used + glyph.width > width {
        // The space between two lines needs no cell.
        if glyph.isSpace, glyph.mark == .kept {
          lines.append([])
          used = 0
          continue
        }
        var next: [Glyph] = []
        let line = lines[lines.count - 1]
        if !glyph.isSpace, let space = line.lastIndex(where: \.isSpace), space > 0 {
          next = Array(line[(space + 1)...])
          lines[lines.count - 1] = Array(line[...space])
        }
        lines.append(next)
        used = next.reduce(0) { $0 + $1.width }
      }
      lines[lines.count - 1].append(glyph)
      used += glyph.width
    }
    return lines.map { glyphs in
      var line = glyphs
      while let last = line.last, last.isSpace, last.mark == .kept { line.removeLast() }
      var text = ""
      var mark = Mark.kept
      for glyph in line where !glyph.text.isEmpty {
        if isColored, glyph.mark != mark {
          if mark != .kept { text += "\u{1B}[0m" }
          text += Self.colour(glyph.mark)
          mark = glyph.mark
        }
        text += glyph.text
      }
      if mark != .kept, isColored { text += "\u{1B}[0m" }
      return MarkedLine(text: text, width: line.reduce(0) { $0 + $1.width })
    }
  }

  /// The colour of a mark; not only the colour tells them apart.
  private static func colour(_ mark: Mark) -> String {
    switch mark {
    case .kept: ""
    case .removed: "\u{1B}[9;31m"
    case .added: "\u{1B}[1;32m"
    case .aside: "\u{1B}[2m"
    }
  }

  /// A text in parts, each made harmless.
  private struct Glyphs {
    var glyphs: [Glyph] = []

    init(_ text: Substring, _ mark: Mark, showsLineEnds: Bool) {
      for character in text {
        if character == "\n" || character == "\r\n" {
          if character == "\r\n" { glyphs.append(Glyph(text: "\\r", width: 2, mark: mark)) }
          let sign = showsLineEnds ? "↵" : ""
          glyphs.append(Glyph(text: sign, width: sign.count, mark: mark, endsLine: true))
        } else if character == "\t" {
          glyphs.append(Glyph(text: "\\t", width: 2, mark: mark, isSpace: true))
        } else {
          let shown = Terminal.safe(String(character))
          glyphs.append(Glyph(text: shown, width: TextWidth.of(shown), mark: mark, isSpace: character == " "))
        }
      }
    }
  }
}

/// A line of a marked text, with its colours.
struct MarkedLine: Equatable {
  var text: String
  /// The cells that it takes.
  var width: Int
}
