/// Regular expressions for `match` and `imatch`, by Swift's engine: close to PostgreSQL's for everyday patterns.
enum RegularExpression {
  /// Whether a pattern can be read.
  static func isValid(_ pattern: String) -> Bool { (try? Regex(pattern)) != nil }

  /// Whether the pattern is found somewhere in the text; a pattern that cannot be read is found nowhere.
  static func matches(_ text: String, _ pattern: String, ignoringCase: Bool) -> Bool {
    guard let regex = try? Regex(pattern) else { return false }
    let tuned = regex.matchingSemantics(.unicodeScalar).ignoresCase(ignoringCase)
    return (try? tuned.firstMatch(in: text)) ?? nil != nil
  }
}
