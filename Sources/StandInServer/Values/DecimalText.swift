/// A number of PostgreSQL's `numeric`: text that keeps every digit, and a key that sorts and compares by value.
struct DecimalText {
  /// The digits without sign and point, most significant first, without leading zeros; empty for zero.
  private let digits: [UInt8]
  /// Where the point stands, counted in digits from the left of `digits`: 1.5 has digits 1 5 and point 1.
  private let point: Int
  private let isNegative: Bool
  /// How many digits are shown after the point.
  private let scale: Int
  private let special: Special?

  private enum Special {
    case notANumber
    case infinity
    case minusInfinity
  }

  /// PostgreSQL allows 131,072 digits before the point and 16,383 after it; a stand-in needs far fewer.
  static let digitsMax = 16_383

  /// Reads a number as PostgreSQL does: blanks around, a sign, a point, an exponent, `NaN`, `Infinity`.
  ///
  /// `nil` otherwise.
  init?(_ text: String) {
    var rest = trimmedBytes(text)
    var negative = false
    if let first = rest.first, first == UInt8(ascii: "-") || first == UInt8(ascii: "+") {
      negative = first == UInt8(ascii: "-")
      rest = rest.dropFirst()
    }
    if let word = Self.word(rest, isNegative: negative) {
      (digits, point, isNegative, scale, special) = ([], 0, false, 0, word)
      return
    }
    var found: [UInt8] = []
    var beforePoint = 0
    var afterPoint = 0
    var hasPoint = false
    while let byte = rest.first {
      if isDigit(byte) {
        found.append(byte - UInt8(ascii: "0"))
        if hasPoint { afterPoint += 1 } else { beforePoint += 1 }
      } else if byte == UInt8(ascii: "."), !hasPoint {
        hasPoint = true
      } else {
        break
      }
      rest = rest.dropFirst()
    }
    guard !found.isEmpty else { return nil }
    var exponent = 0
    if let byte = rest.first, byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
      guard let value = Int(String(decoding: rest.dropFirst(), as: UTF8.self)), abs(value) <= Self.digitsMax else {
        return nil
      }
      exponent = value
      rest = []
    }
    guard rest.isEmpty, beforePoint + afterPoint <= 2 * Self.digitsMax else { return nil }
    let leading = found.prefix { $0 == 0 }.count
    let isZero = leading == found.count
    digits = isZero ? [] : Array(found[leading...])
    point = isZero ? 0 : beforePoint + exponent - leading
    isNegative = negative && !isZero
    scale = max(0, afterPoint - exponent)
    special = nil
  }

  /// The number as PostgreSQL prints it: no exponent, as many digits after the point as were given.
  var text: String {
    switch special {
    case .notANumber: return "NaN"
    case .infinity: return "Infinity"
    case .minusInfinity: return "-Infinity"
    case nil: break
    }
    var text: [UInt8] = isNegative ? [UInt8(ascii: "-")] : []
    if point <= 0 {
      text.append(UInt8(ascii: "0"))
    } else {
      for place in 0..<point { text.append(UInt8(ascii: "0") + (place < digits.count ? digits[place] : 0)) }
    }
    if scale > 0 {
      text.append(UInt8(ascii: "."))
      for place in point..<(point + scale) {
        text.append(UInt8(ascii: "0") + (digits.indices.contains(place) ? digits[place] : 0))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The nearest whole number, of two the one further from zero; `nil` for what is no number.
  var roundedText: String? {
    guard special == nil else { return nil }
    guard point >= 0 else { return "0" }
    var whole = (0..<point).map { $0 < digits.count ? digits[$0] : 0 }
    if point < digits.count, digits[point] >= 5 {
      var place = whole.count - 1
      while place >= 0, whole[place] == 9 {
        whole[place] = 0
        place -= 1
      }
      if place >= 0 { whole[place] += 1 } else { whole.insert(1, at: 0) }
    }
    let text = String(decoding: whole.map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
    return (isNegative ? "-" : "") + (text.isEmpty ? "0" : text)
  }

  /// Whether JSON has the number; `NaN` and the infinities travel as strings.
  var isFinite: Bool { special == nil }

  /// Bytes whose order as bytes is the order of the values: equal values, such as 1.5 and 1.50, have equal keys.
  var sortKey: [UInt8] {
    switch special {
    case .notANumber: return [5]
    case .infinity: return [4]
    case .minusInfinity: return [0]
    case nil: break
    }
    guard !digits.isEmpty else { return [2] }
    let biased = UInt32(bitPattern: Int32(clamping: point)) ^ 0x8000_0000
    let exponent = (0..<4).map { UInt8(truncatingIfNeeded: biased >> (24 - 8 * UInt32($0))) }
    var significant = digits
    while significant.last == 0 { significant.removeLast() }
    guard isNegative else { return [3] + exponent + significant }
    // The further from zero, the smaller: every byte is turned round, and a shorter number ends higher.
    return [1] + exponent.map { ~$0 } + significant.map { ~$0 } + [0xFF]
  }

  private static func word(_ bytes: ArraySlice<UInt8>, isNegative: Bool) -> Special? {
    switch String(decoding: bytes, as: UTF8.self).lowercased() {
    case "nan": .notANumber
    case "infinity", "inf": isNegative ? .minusInfinity : .infinity
    default: nil
    }
  }
}

/// The bytes of a text without the blanks around it, which PostgreSQL's input functions skip.
func trimmedBytes(_ text: String) -> ArraySlice<UInt8> {
  var bytes = Array(text.utf8)[...]
  while let first = bytes.first, isSpaceByte(first) { bytes.removeFirst() }
  while let last = bytes.last, isSpaceByte(last) { bytes.removeLast() }
  return bytes
}

private func isSpaceByte(_ byte: UInt8) -> Bool { byte == 0x20 || (byte >= 9 && byte <= 13) }
