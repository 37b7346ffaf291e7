/// Text from outside, made fit for one line of a terminal or a log.
enum PrintableText {
  private static let lengthMax = 300

  /// The text with blanks for control characters, cut where it is too long.
  static func of(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars.prefix(lengthMax) {
      // A terminal would obey an escape sequence, and a line break would forge a second line of a log.
      let isControl = scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
      result.append(isControl ? " " : scalar)
    }
    return String(result) + (text.unicodeScalars.count > lengthMax ? "…" : "")
  }
}
