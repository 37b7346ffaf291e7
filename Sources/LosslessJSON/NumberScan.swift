/// The number grammar of RFC 8259, shared by the parser and by `JSONNumber`.
enum NumberScan {
  /// What is wrong with a number, and where.
  struct Failure: Error {
    enum Reason {
      case noDigitAfterMinus
      case leadingZero
      case noDigitAfterPoint
      case noDigitInExponent
    }

    var reason: Reason
    var offset: Int
  }

  /// Returns the place behind the number that begins at `start`.
  static func end(of bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Result<Int, Failure> {
    var index = start
    if index < bytes.count, bytes[index] == UInt8(ascii: "-") { index += 1 }
    guard index < bytes.count, isDigit(bytes[index]) else {
      return .failure(Failure(reason: .noDigitAfterMinus, offset: index))
    }
    if bytes[index] == UInt8(ascii: "0") {
      index += 1
      if index < bytes.count, isDigit(bytes[index]) {
        return .failure(Failure(reason: .leadingZero, offset: index - 1))
      }
    } else {
      skipDigits(of: bytes, from: &index)
    }
    if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
      index += 1
      guard index < bytes.count, isDigit(bytes[index]) else {
        return .failure(Failure(reason: .noDigitAfterPoint, offset: index))
      }
      skipDigits(of: bytes, from: &index)
    }
    if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
      index += 1
      if index < bytes.count, bytes[index] == UInt8(ascii: "+") || bytes[index] == UInt8(ascii: "-") { index += 1 }
      guard index < bytes.count, isDigit(bytes[index]) else {
        return .failure(Failure(reason: .noDigitInExponent, offset: index))
      }
      skipDigits(of: bytes, from: &index)
    }
    return .success(index)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    byte &- UInt8(ascii: "0") < 10
  }

  private static func skipDigits(of bytes: UnsafeBufferPointer<UInt8>, from index: inout Int) {
    while index < bytes.count, isDigit(bytes[index]) { index += 1 }
  }
}
