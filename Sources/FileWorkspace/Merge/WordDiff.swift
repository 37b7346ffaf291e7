/// What became of a text, word by word, for a person to read.
///
/// A word is a run of letters and digits; every other character is one of its own, and so is every character of a script
/// that is written without spaces. Texts are compared byte by byte, so that two spellings of one letter are a change.
public struct WordDiff: Sendable, Hashable {
  /// A stretch of one of the texts, or of both.
  public enum Piece: Sendable, Hashable {
    /// Text that both have.
    case kept(String)
    /// Text that only the old one has.
    case removed(String)
    /// Text that only the new one has.
    case added(String)

    /// The stretch, whatever became of it.
    public var text: String {
      switch self {
      case .kept(let text), .removed(let text), .added(let text): text
      }
    }
  }

  /// The stretches in order; what took the place of a removed one follows it at once.
  ///
  /// The kept and the removed ones make the old text, the kept and the added ones the new text. None is empty, and no two of
  /// a kind follow each other.
  public let pieces: [Piece]

  /// Compares two texts.
  public init(from old: String, to new: String) {
    let (oldWords, newWords) = (Self.words(old), Self.words(new))
    var numbers: [[UInt8]: Int] = [:]
    func number(_ word: Substring) -> Int {
      let bytes = Array(word.utf8)
      if let known = numbers[bytes] { return known }
      numbers[bytes] = numbers.count
      return numbers.count - 1
    }
    let changes = Self.joined(LineDiff(oldWords.map(number), newWords.map(number)).changes) { range in
      oldWords[range].allSatisfy { $0.allSatisfy { $0.isWhitespace && !$0.isNewline } }
    }
    var pieces: [Piece] = []
    func add(_ words: ArraySlice<Substring>, _ piece: (String) -> Piece) {
      if !words.isEmpty { pieces.append(piece(words.joined())) }
    }
    var done = 0
    for change in changes {
      add(oldWords[done..<change.old.lowerBound], Piece.kept)
      add(oldWords[change.old], Piece.removed)
      add(newWords[change.new], Piece.added)
      done = change.old.upperBound
    }
    add(oldWords[done...], Piece.kept)
    self.pieces = pieces
  }

  /// Changes between which only a space stays become one: two new words read better than two half changes.
  private static func joined(_ changes: [LineDiff.Change], isGap: (Range<Int>) -> Bool) -> [LineDiff.Change] {
    var joined: [LineDiff.Change] = []
    for change in changes {
      guard let last = joined.last, isGap(last.old.upperBound..<change.old.lowerBound) else {
        joined.append(change)
        continue
      }
      joined[joined.count - 1] = LineDiff.Change(
        old: last.old.lowerBound..<change.old.upperBound, new: last.new.lowerBound..<change.new.upperBound)
    }
    return joined
  }

  /// The words of a text and what stands between them, in order; together they are the text.
  static func words(_ text: String) -> [Substring] {
    var words: [Substring] = []
    var start = text.startIndex
    var isInWord = false
    for index in text.indices {
      let belongs = isPartOfWord(text[index])
      if index > start, !(belongs && isInWord) {
        words.append(text[start..<index])
        start = index
      }
      isInWord = belongs
    }
    if start < text.endIndex { words.append(text[start...]) }
    return words
  }

  private static func isPartOfWord(_ character: Character) -> Bool {
    guard character.isLetter || character.isNumber, let first = character.unicodeScalars.first else { return false }
    // Kana, Thai, Lao, Khmer and Burmese have no spaces between words either.
    switch first.value {
    case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3040...0x30FF: return false
    default: return !first.properties.isIdeographic
    }
  }
}
