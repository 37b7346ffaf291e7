// The standard library normalises strings but shows it only this way; Foundation's function is not in its essentials.
@_spi(_Unicode) import Swift

/// Forms of a text that make names comparable.
enum TextForms {
  /// The text in Unicode's normalisation form C: one scalar for "é" where there is one.
  static func composed(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
    var scalars = String.UnicodeScalarView()
    for scalar in text._nfc { scalars.append(scalar) }
    return String(scalars)
  }

  /// A form in which names are equal that some file system takes for one, whatever their case and composition.
  ///
  /// Upper case first: only that way "ß" meets "SS", as it does on file systems that fold case in full.
  static func folded(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return FileNames.asciiLowered(text) }
    return composed(composed(text).uppercased().lowercased())
  }
}
