import Glibc

extension UnsafeRawBufferPointer {
  /// Where a text begins, from a place on.
  func place(of text: StaticString, from start: Int = 0) -> Int? {
    guard let base = baseAddress else { return nil }
    var place = start
    while count - place >= text.utf8CodeUnitCount,
      let hit = memchr(base + place, Int32(text.utf8Start.pointee), count - place - text.utf8CodeUnitCount + 1)
    {
      place = base.distance(to: UnsafeRawPointer(hit))
      if memcmp(base + place, text.utf8Start, text.utf8CodeUnitCount) == 0 { return place }
      place += 1
    }
    return nil
  }
}
