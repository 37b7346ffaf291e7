/// Moves over text that is known to be JSON, to find where its parts stand.
struct JSONWalker {
  private let bytes: UnsafeBufferPointer<UInt8>
  private(set) var offset: Int

  init(_ bytes: UnsafeBufferPointer<UInt8>, at offset: Int? = nil) {
    self.bytes = bytes
    self.offset = offset ?? (JSONParser.startsWithMark(bytes) ? 3 : 0)
    skipSpace()
  }

  /// The byte at the place, or nil at the end.
  var byte: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  mutating func skipSpace() {
    while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { offset += 1 }
  }

  /// Moves behind the bracket, comma or colon at the place, and the space that follows.
  mutating func skipByte() {
    offset += 1
    skipSpace()
  }

  /// Moves behind the value at the place, and returns where it stands; counts brackets instead of descending.
  mutating func skipValue() -> Range<Int> {
    let start = offset
    var depth = 0
    repeat {
      switch byte {
      case nil:
        return start..<offset
      case UInt8(ascii: "\""):
        skipString()
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        offset += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        offset += 1
      case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x0A, 0x0D, 0x09:
        offset += 1
      default:
        skipWord()
      }
    } while depth > 0
    return start..<offset
  }

  private mutating func skipString() {
    offset += 1
    while let byte {
      offset += 1
      if byte == UInt8(ascii: "\"") { return }
      if byte == UInt8(ascii: "\\") { offset += 1 }
    }
  }

  /// Moves behind a number, `true`, `false` or `null`.
  private mutating func skipWord() {
    while let byte {
      switch byte {
      case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ":"), 0x20, 0x0A, 0x0D, 0x09: return
      default: offset += 1
      }
    }
  }

  /// Where a member's name and value stand.
  struct MemberSpan: Sendable {
    var name: Range<Int>
    var value: Range<Int>
  }

  /// Moves behind the object at the place, and returns where its members stand.
  mutating func members() -> [MemberSpan] {
    var spans: [MemberSpan] = []
    skipByte()
    while byte == UInt8(ascii: "\"") {
      let name = skipValue()
      skipSpace()
      skipByte()
      let value = skipValue()
      spans.append(MemberSpan(name: name, value: value))
      skipSpace()
      if byte == UInt8(ascii: ",") { skipByte() }
    }
    offset += 1
    return spans
  }

  /// Moves to an element of the array at the place; false where there is none of that number.
  mutating func enterElement(_ index: Int) -> Bool {
    skipByte()
    var left = index
    while let byte, byte != UInt8(ascii: "]") {
      if left == 0 { return true }
      left -= 1
      _ = skipValue()
      skipSpace()
      if self.byte == UInt8(ascii: ",") { skipByte() }
    }
    return false
  }
}
