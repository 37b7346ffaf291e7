/// Everything that was saved in a world, by words that are used once: where each of them went is the account of "nothing
/// is lost".
final class SavedWords: @unchecked Sendable {  // Proof: one thread runs everything in a world.
  private(set) var saved: Set<String> = []
  /// Words that somebody replaced or removed while they stood before their eyes.
  private(set) var replaced: Set<String> = []
  /// Words that stood in a copied text, which may be in several rows.
  private(set) var copied: Set<String> = []
  /// The words that people brought into the folder of each device: only these may its writes hold.
  private var typed: [String: Set<String>] = [:]
  private var lastNumber = 0

  /// A word that was never used.
  func new() -> String {
    lastNumber += 1
    return "w\(lastNumber)w"
  }

  /// A word that no file is ever called by, so that it has no place in a log.
  func newPrivate() -> String { new() + Self.privateMark }

  private static let privateMark = "n"

  /// Notes a text that was saved by somebody who saw another.
  ///
  /// - Parameter device: Where it was saved; `nil` for the server.
  func save(_ text: String, over seen: String?, on device: Device? = nil) {
    let words = Self.words(in: text)
    let before = Self.words(in: seen ?? "")
    saved.formUnion(words)
    replace(before.subtracting(words))
    if let device { typed[device.name, default: []].formUnion(words.subtracting(before)) }
  }

  /// Notes a text that somebody put at another place of a device's folder: all of it may be an edit of what lay there.
  func bring(_ text: String, on device: Device) { typed[device.name, default: []].formUnion(Self.words(in: text)) }

  /// The words of a text that nobody has brought into the folder of a device.
  func untyped(in text: String, on device: Device) -> [String] {
    Self.words(in: text).subtracting(typed[device.name] ?? []).sorted()
  }

  func replace(_ words: Set<String>) { replaced.formUnion(words) }

  func copy(_ text: String) { copied.formUnion(Self.words(in: text)) }

  /// The words that must be found somewhere.
  var expected: Set<String> { saved.subtracting(replaced) }

  /// The words of a text that nobody has replaced or removed.
  func unreplaced(in text: String) -> [String] { Self.words(in: text).subtracting(replaced).sorted() }

  /// The words `w1w`, `w2w`, … in a text.
  static func words(in text: String) -> Set<String> {
    var words: Set<String> = []
    scan(text) { word, _ in words.insert(word) }
    return words
  }

  /// Whether a text holds a private word.
  static func showsPrivate(_ text: String) -> Bool {
    var shows = false
    scan(text) { if $1 { shows = true } }
    return shows
  }

  private static func scan(_ text: String, _ body: (_ word: String, _ isPrivate: Bool) -> Void) {
    var digits: String?
    var found: String?
    func tell(_ next: UInt8?) {
      if let word = found { body("w\(word)w", next == privateMark.utf8.first) }
      found = nil
    }
    for character in text.utf8 {
      tell(character)
      switch character {
      case UInt8(ascii: "w"):
        found = digits.flatMap { $0.isEmpty ? nil : $0 }
        digits = ""
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digits?.append(Character(UnicodeScalar(character)))
      default: digits = nil
      }
    }
    tell(nil)
  }
}
