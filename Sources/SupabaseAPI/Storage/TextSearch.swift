extension StringProtocol {
  /// Where a text stands in this one for the first time, byte by byte.
  func range(of text: String) -> Range<Index>? {
    var place = startIndex
    while place < endIndex {
      if utf8[place...].starts(with: text.utf8) {
        return place..<utf8.index(place, offsetBy: text.utf8.count)
      }
      utf8.formIndex(after: &place)
    }
    return nil
  }
}
