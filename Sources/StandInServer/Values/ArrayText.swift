/// PostgreSQL's text of one-dimensional arrays: `{red,"a,b",NULL}`.
enum ArrayText {
  /// The elements, `nil` for SQL NULL; no elements at all, not even an empty list, when the text is no such array.
  static func parse(_ text: String) -> [String?]? {
    var bytes = trimmedBytes(text)
    guard bytes.first == UInt8(ascii: "{"), bytes.last == UInt8(ascii: "}"), bytes.count >= 2 else { return nil }
    bytes = bytes.dropFirst().dropLast()
    if bytes.allSatisfy({ $0 == UInt8(ascii: " ") }) { return [] }
    var elements: [String?] = []
    while true {
      while bytes.first == UInt8(ascii: " ") { bytes.removeFirst() }
      guard let element = element(&bytes) else { return nil }
      elements.append(element)
      guard let next = bytes.first else { return elements }
      guard next == UInt8(ascii: ",") else { return nil }
      bytes.removeFirst()
    }
  }

  /// The text of an array whose elements are texts.
  static func text(of elements: [String?]) -> String {
    "{" + elements.map { $0.map(quotedIfNeeded) ?? "NULL" }.joined(separator: ",") + "}"
  }

  private static func element(_ bytes: inout ArraySlice<UInt8>) -> String?? {
    var found: [UInt8] = []
    if bytes.first == UInt8(ascii: "\"") {
      bytes.removeFirst()
      while let byte = bytes.popFirst(), byte != UInt8(ascii: "\"") {
        guard byte == UInt8(ascii: "\\") else {
          found.append(byte)
          continue
        }
        guard let escaped = bytes.popFirst() else { return nil }
        found.append(escaped)
      }
      while bytes.first == UInt8(ascii: " ") { bytes.removeFirst() }
      return .some(String(decoding: found, as: UTF8.self))
    }
    while let byte = bytes.first, byte != UInt8(ascii: ",") {
      bytes.removeFirst()
      switch byte {
      case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "\""): return nil
      case UInt8(ascii: "\\"):
        guard let escaped = bytes.popFirst() else { return nil }
        found.append(escaped)
      default: found.append(byte)
      }
    }
    while found.last == UInt8(ascii: " ") { found.removeLast() }
    guard !found.isEmpty else { return nil }
    let text = String(decoding: found, as: UTF8.self)
    return .some(text.uppercased() == "NULL" ? nil : text)
  }

  private static func quotedIfNeeded(_ text: String) -> String {
    let needsQuotes =
      text.isEmpty || text.uppercased() == "NULL"
      || text.unicodeScalars.contains { "{},\"\\ \t\n\r\u{B}\u{C}".unicodeScalars.contains($0) }
    guard needsQuotes else { return text }
    var quoted = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
      quoted.unicodeScalars.append(scalar)
    }
    return quoted + "\""
  }
}
