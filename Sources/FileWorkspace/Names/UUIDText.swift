/// The text form of a UUID.
public enum UUIDText {
  /// Whether a text is a UUID: 8, 4, 4, 4 and 12 hexadecimal digits with dashes between.
  public static func isValid(_ text: String) -> Bool {
    guard text.utf8.count == 36 else { return false }
    for (index, byte) in text.utf8.enumerated() {
      switch index {
      case 8, 13, 18, 23:
        guard byte == UInt8(ascii: "-") else { return false }
      default:
        let letter = byte | 0x20
        guard (0x30...0x39).contains(byte) || (0x61...0x66).contains(letter) else { return false }
      }
    }
    return true
  }
}
