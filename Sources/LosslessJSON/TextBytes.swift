/// Says whether two strings hold the same UTF-8 bytes.
///
/// Swift's own `==` takes "é" and "e" with a combining accent for one string; a file and a server do not.
func sameBytes(_ left: String, _ right: String) -> Bool {
  let count = left.utf8.count
  guard count == right.utf8.count else { return false }
  let answer = left.utf8.withContiguousStorageIfAvailable { leftBytes in
    right.utf8.withContiguousStorageIfAvailable { rightBytes in sameBytes(leftBytes, rightBytes) }
  }
  if let answer, let answer { return answer }
  return left.utf8.elementsEqual(right.utf8)
}

/// Compares two stretches of memory of one length, eight bytes at a time.
private func sameBytes(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
  guard left.count == right.count else { return false }
  let leftRaw = UnsafeRawBufferPointer(left)
  let rightRaw = UnsafeRawBufferPointer(right)
  var index = 0
  while index + 8 <= leftRaw.count {
    let word = leftRaw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
    guard word == rightRaw.loadUnaligned(fromByteOffset: index, as: UInt64.self) else { return false }
    index += 8
  }
  while index < leftRaw.count {
    guard leftRaw[index] == rightRaw[index] else { return false }
    index += 1
  }
  return true
}

/// Feeds the UTF-8 bytes of a string to a hasher, so that strings hash as they compare.
func hashBytes(of text: String, into hasher: inout Hasher) {
  hasher.combine(text.utf8.count)
  let done: Void? = text.utf8.withContiguousStorageIfAvailable { bytes in
    hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
  }
  if done == nil {
    for byte in text.utf8 { hasher.combine(byte) }
  }
}

/// A member name as a dictionary key: equal when the UTF-8 bytes are equal.
struct NameKey: Hashable {
  var text: String

  static func == (left: NameKey, right: NameKey) -> Bool { sameBytes(left.text, right.text) }

  func hash(into hasher: inout Hasher) { hashBytes(of: text, into: &hasher) }
}
