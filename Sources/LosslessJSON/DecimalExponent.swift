/// A power of ten of any size, kept as an integer where it fits and as decimal digits where it does not.
///
/// The two never hold the same value: digits are used only from 18 digits on, far outside what fits `small`.
enum DecimalExponent: Hashable {
  case small(Int)
  case large(isNegative: Bool, digits: [UInt8])

  /// How an exponent compares with anything that fits in memory.
  enum Size {
    case small(Int)
    case hugePositive
    case hugeNegative
  }

  init(_ value: Int) {
    self = .small(value)
  }

  /// Reads the text behind `e` and adds the digits by which the decimal point was moved.
  init(_ text: UnsafeBufferPointer<UInt8>, plus shift: Int) {
    var index = 0
    var isNegative = false
    if let sign = text.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
      isNegative = sign == UInt8(ascii: "-")
      index = 1
    }
    while index < text.count, text[index] == UInt8(ascii: "0") { index += 1 }
    var digits = text[index...].map { $0 - UInt8(ascii: "0") }
    if digits.count < 18 {
      let magnitude = digits.reduce(0) { $0 * 10 + Int($1) }
      self = DecimalExponent.normal((isNegative ? -magnitude : magnitude) + shift)
      return
    }
    // A shift is bounded by the length of the text, so it never changes the sign of eighteen digits.
    DecimalExponent.add(isNegative ? -shift : shift, to: &digits)
    if digits.count < 18 {
      let magnitude = digits.reduce(0) { $0 * 10 + Int($1) }
      self = DecimalExponent.normal(isNegative ? -magnitude : magnitude)
    } else {
      self = .large(isNegative: isNegative, digits: digits)
    }
  }

  var size: Size {
    switch self {
    case .small(let value): .small(value)
    case .large(let isNegative, _): isNegative ? .hugeNegative : .hugePositive
    }
  }

  /// Keeps the one form of each value: a sum that grew to eighteen digits is written as digits.
  private static func normal(_ value: Int) -> DecimalExponent {
    let digits = String(value.magnitude).utf8.map { $0 - UInt8(ascii: "0") }
    return digits.count < 18 ? .small(value) : .large(isNegative: value < 0, digits: digits)
  }

  /// Adds a small number, which may be negative, to decimal digits without a leading zero.
  private static func add(_ amount: Int, to digits: inout [UInt8]) {
    var carry = amount
    var index = digits.count - 1
    while carry != 0, index >= 0 {
      let sum = Int(digits[index]) + carry
      let digit = ((sum % 10) + 10) % 10
      digits[index] = UInt8(digit)
      carry = (sum - digit) / 10
      index -= 1
    }
    while carry > 0 {
      digits.insert(UInt8(carry % 10), at: 0)
      carry /= 10
    }
    digits.removeFirst(digits.prefix { $0 == 0 }.count)
  }
}
