import Glibc

extension String {
  /// Whether a text is in this one, byte by byte: `contains` compares characters, which takes a good part of a day.
  func holds(bytesOf part: StaticString) -> Bool {
    var text = self
    return text.withUTF8 { text in
      let length = part.utf8CodeUnitCount
      guard let start = text.baseAddress, text.count >= length else { return false }
      return (0...text.count - length).contains { offset in
        start[offset] == part.utf8Start.pointee && memcmp(start + offset, part.utf8Start, length) == 0
      }
    }
  }
}
