/// Everything that was saved in a world, by words that are used once: where each of them went is the account of "nothing
/// is lost".
struct SavedWords {
  private(set) var saved: Set<String> = []
  /// Words that somebody replaced or removed while they stood before their eyes.
  private(set) var replaced: Set<String> = []
  /// Words that stood in a copied text, which may be in several rows.
  private(set) var copied: Set<String> = []
  private var lastNumber = 0

  /// A word that was never used.
  mutating func new() -> String {
    lastNumber += 1
    return "w\(lastNumber)w"
  }

  /// Notes a text that was saved by somebody who saw another.
  mutating func save(_ text: String, over seen: String?) {
    let words = Self.words(in: text)
    saved.formUnion(words)
    replace(Self.words(in: seen ?? "").subtracting(words))
  }

  mutating func replace(_ words: Set<String>) { replaced.formUnion(words) }

  mutating func copy(_ text: String) { copied.formUnion(Self.words(in: text)) }

  /// The words that must be found somewhere.
  var expected: Set<String> { saved.subtracting(replaced) }

  /// The words `w1w`, `w2w`, … in a text.
  static func words(in text: String) -> Set<String> {
    var words: Set<String> = []
    var digits: String?
    for character in text.utf8 {
      switch character {
      case UInt8(ascii: "w"):
        if let found = digits, !found.isEmpty { words.insert("w\(found)w") }
        digits = ""
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digits?.append(Character(UnicodeScalar(character)))
      default: digits = nil
      }
    }
    return words
  }
}
