/// How many cells of a terminal a text takes.
///
/// Terminals disagree about emoji made of several characters. The larger number is taken then: a gap is a smaller evil than
/// a line that runs over its end.
enum TextWidth {
  /// The cells of a text without control characters; see `Terminal.safe`.
  static func of(_ text: String) -> Int { text.reduce(0) { $0 + of($1) } }

  /// The cells of a character: 0 for a mark that stands on the one before it, 2 for a wide one, else 1.
  static func of(_ character: Character) -> Int {
    let scalars = character.unicodeScalars
    let width = scalars.reduce(0) { $0 + of($1) }
    // A sign that is asked to show itself as an emoji.
    return width == 1 && scalars.contains { $0.value == 0xFE0F } ? 2 : width
  }

  private static func of(_ scalar: Unicode.Scalar) -> Int {
    if scalar.value < 0x7F { return 1 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return 0
    default: break
    }
    if scalar.properties.isEmojiPresentation { return 2 }
    switch scalar.value {
    case 0x1160...0x11FF: return 0  // The later parts of a Korean syllable.
    case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x3247, 0x3250...0x4DBF, 0x4E00...0xA4CF,
      0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60,
      0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F1E6...0x1F2FF, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }

  /// Whether a text has letters of a script that is written from right to left, so that a terminal may turn a line round.
  static func isRightToLeft(_ text: String) -> Bool {
    text.unicodeScalars.contains { scalar in
      switch scalar.value {
      case 0x0590...0x08FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFF, 0x10800...0x10FFF, 0x1E800...0x1EFFF: true
      default: false
      }
    }
  }
}
