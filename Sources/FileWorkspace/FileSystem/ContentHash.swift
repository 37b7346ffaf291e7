/// A 128-bit hash of a file's bytes, for telling whether a file still says what it said.
///
/// MurmurHash3's x64 128-bit form with seed 0, written from its published definition. It is not cryptographic, and need
/// not be: both texts that are ever compared belong to one person's folder, so nobody gains by building two that
/// collide, and by chance two of 2^40 different texts collide with a probability of about 2^-49. It costs a
/// multiplication or two for eight bytes, and needs no library and no second copy of a text.
public struct ContentHash: Sendable, Hashable, CustomStringConvertible {
  /// The first 64 bits.
  public let high: UInt64
  /// The last 64 bits.
  public let low: UInt64

  /// Makes a hash from its two halves.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Reads the 32 hexadecimal digits that `description` gives; nil for anything else.
  public init?(_ text: String) {
    let digits = Array(text.utf8)
    guard digits.count == 32, digits.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
      let high = UInt64(String(decoding: digits[..<16], as: UTF8.self), radix: 16),
      let low = UInt64(String(decoding: digits[16...], as: UTF8.self), radix: 16)
    else { return nil }
    self.init(high: high, low: low)
  }

  /// Thirty-two hexadecimal digits.
  public var description: String {
    String(unsafeUninitializedCapacity: 32) { digits in
      for place in 0..<16 {
        digits[place] = Self.digit(high >> UInt64(60 - 4 * place))
        digits[16 + place] = Self.digit(low >> UInt64(60 - 4 * place))
      }
      return 32
    }
  }

  /// The digit of the last four bits.
  private static func digit(_ value: UInt64) -> UInt8 {
    let number = UInt8(truncatingIfNeeded: value & 15)
    return number < 10 ? UInt8(ascii: "0") + number : UInt8(ascii: "a") - 10 + number
  }

  /// Hashes bytes; O(n).
  public init(of bytes: [UInt8]) {
    var (first, second) = (UInt64(0), UInt64(0))
    bytes.withUnsafeBytes { buffer in
      let whole = buffer.count & ~15
      var offset = 0
      while offset < whole {
        let one = UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        let two = UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self))
        first = (Self.rotated(first ^ Self.scrambledFirst(one), by: 27) &+ second) &* 5 &+ 0x52dc_e729
        second = (Self.rotated(second ^ Self.scrambledSecond(two), by: 31) &+ first) &* 5 &+ 0x3849_5ab5
        offset += 16
      }
      var (restFirst, restSecond) = (UInt64(0), UInt64(0))
      for index in whole..<buffer.count {
        let place = UInt64(index - whole)
        if place < 8 {
          restFirst |= UInt64(buffer[index]) << (8 * place)
        } else {
          restSecond |= UInt64(buffer[index]) << (8 * (place - 8))
        }
      }
      // A rest of zero bytes scrambles to zero, so both can be mixed in whether or not there is one.
      second ^= Self.scrambledSecond(restSecond)
      first ^= Self.scrambledFirst(restFirst)
    }
    first ^= UInt64(bytes.count)
    second ^= UInt64(bytes.count)
    first &+= second
    second &+= first
    first = Self.finished(first)
    second = Self.finished(second)
    first &+= second
    second &+= first
    self.init(high: first, low: second)
  }

  private static func rotated(_ value: UInt64, by bits: UInt64) -> UInt64 { value << bits | value >> (64 - bits) }

  private static func scrambledFirst(_ value: UInt64) -> UInt64 {
    rotated(value &* 0x87c3_7b91_1142_53d5, by: 31) &* 0x4cf5_ad43_2745_937f
  }

  private static func scrambledSecond(_ value: UInt64) -> UInt64 {
    rotated(value &* 0x4cf5_ad43_2745_937f, by: 33) &* 0x87c3_7b91_1142_53d5
  }

  private static func finished(_ value: UInt64) -> UInt64 {
    var value = value
    value ^= value >> 33
    value = value &* 0xff51_afd7_ed55_8ccd
    value ^= value >> 33
    value = value &* 0xc4ce_b9fe_1a85_ec53
    return value ^ value >> 33
  }
}
