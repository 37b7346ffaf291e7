/// A number taken apart as ±0.d₁d₂d₃… × 10^exponent, where neither the first nor the last digit is zero.
///
/// Only the ends of the digits and the exponent are looked at, so `1e999999999` costs no more than `1`.
struct NumberScale {
  private let bytes: UnsafeBufferPointer<UInt8>
  private let isNegative: Bool
  /// The first significant digit, and the place behind the last; both zero for the number zero.
  private let digits: Range<Int>
  private let exponent: DecimalExponent

  /// Takes apart text that is known to be a number.
  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    self.bytes = bytes
    var index = 0
    let hasMinus = bytes.first == UInt8(ascii: "-")
    if hasMinus { index = 1 }
    var first = -1
    var last = -1
    var digitsBeforePoint = 0
    var digitsUntilFirst = 0
    var pointSeen = false
    scan: while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "."):
        pointSeen = true
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        if bytes[index] != UInt8(ascii: "0") {
          if first < 0 { first = index }
          last = index
        }
        if first < 0 { digitsUntilFirst += 1 }
        if !pointSeen { digitsBeforePoint += 1 }
      default:
        break scan
      }
      index += 1
    }
    guard first >= 0 else {
      isNegative = false
      digits = 0..<0
      exponent = DecimalExponent(0)
      return
    }
    isNegative = hasMinus
    digits = first..<(last + 1)
    let shift = digitsBeforePoint - digitsUntilFirst
    exponent =
      index < bytes.count
      ? DecimalExponent(UnsafeBufferPointer(rebasing: bytes[(index + 1)...]), plus: shift) : DecimalExponent(shift)
  }

  /// Whether two numbers are the same value.
  func isSameValue(as other: NumberScale) -> Bool {
    guard isNegative == other.isNegative, exponent == other.exponent else { return false }
    var left = digits.lowerBound
    var right = other.digits.lowerBound
    while true {
      if left < digits.upperBound, bytes[left] == UInt8(ascii: ".") { left += 1 }
      if right < other.digits.upperBound, other.bytes[right] == UInt8(ascii: ".") { right += 1 }
      guard left < digits.upperBound, right < other.digits.upperBound else {
        return left == digits.upperBound && right == other.digits.upperBound
      }
      guard bytes[left] == other.bytes[right] else { return false }
      left += 1
      right += 1
    }
  }

  /// Hashes what `isSameValue` compares.
  func hash(into hasher: inout Hasher) {
    hasher.combine(isNegative)
    hasher.combine(exponent)
    for index in digits where bytes[index] != UInt8(ascii: ".") { hasher.combine(bytes[index]) }
  }

  /// How many significant digits there are, leaving out the point.
  private var significantDigits: Int {
    digits.count - (digits.contains { bytes[$0] == UInt8(ascii: ".") } ? 1 : 0)
  }

  /// Whether no digit stands behind the decimal point.
  var isIntegral: Bool {
    if digits.isEmpty { return true }
    switch exponent.size {
    case .hugePositive: return true
    case .hugeNegative: return false
    case .small(let exponent): return exponent >= significantDigits
    }
  }

  /// The value as an integer, or nil where it has a fraction or does not fit.
  var int64: Int64? {
    if digits.isEmpty { return 0 }
    guard isIntegral, case .small(let exponent) = exponent.size, exponent <= 19 else { return nil }
    var magnitude: Int64 = 0
    var written = 0
    for index in digits where bytes[index] != UInt8(ascii: ".") {
      guard let next = magnitude.appending(digit: Int64(bytes[index] - UInt8(ascii: "0"))) else { return nil }
      magnitude = next
      written += 1
    }
    while written < exponent {
      guard let next = magnitude.appending(digit: 0) else { return nil }
      magnitude = next
      written += 1
    }
    // Counted downwards, because the smallest integer has no positive twin.
    if isNegative { return magnitude }
    return magnitude == .min ? nil : -magnitude
  }
}

extension Int64 {
  /// Ten times this number (zero or below) less a digit, or nil where that does not fit.
  fileprivate func appending(digit: Int64) -> Int64? {
    let (tens, tensOverflow) = multipliedReportingOverflow(by: 10)
    let (sum, sumOverflow) = tens.subtractingReportingOverflow(digit)
    return tensOverflow || sumOverflow ? nil : sum
  }
}
