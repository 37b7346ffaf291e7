/// A JSON number as its text, so that `1.10`, `1e400` and integers of any size survive.
///
/// Equality and hashing go by numeric value: `1.10 == 1.1`, `1e2 == 100` and `-0 == 0`, exact at any size.
public struct JSONNumber: Sendable {
  /// The number as it was written.
  public let text: String

  /// Makes a number from text, or returns nil unless the text is a number as RFC 8259 writes it.
  public init?(_ text: String) {
    var copy = text
    let isNumber = copy.withUTF8 { bytes in
      guard case .success(let end) = NumberScan.end(of: bytes, from: 0) else { return false }
      return end == bytes.count
    }
    guard isNumber else { return nil }
    self.text = text
  }

  /// Makes a number from an integer.
  public init(_ value: Int64) {
    text = String(value)
  }

  /// Makes a number from a floating-point value, or returns nil for infinities and NaN, which JSON does not have.
  public init?(_ value: Double) {
    guard value.isFinite else { return nil }
    text = "\(value)"
  }

  init(unchecked text: String) {
    self.text = text
  }

  /// The value as a 64-bit integer, or nil when it has a fraction or does not fit; `1e2` is 100.
  public var int64: Int64? {
    if let plain = Int64(text) { return plain }
    return withScale { scale in scale.int64 }
  }

  /// Whether the value has no fraction, whatever its size: true of `1e400` and `2.0`, false of `2.5`.
  public var isIntegral: Bool {
    withScale { scale in scale.isIntegral }
  }

  /// The nearest floating-point value; infinite where the number is too large for one.
  public var double: Double {
    Double(text) ?? .nan
  }

  /// Runs `body` with the number taken apart.
  private func withScale<Result>(_ body: (NumberScale) -> Result) -> Result {
    var copy = text
    return copy.withUTF8 { bytes in body(NumberScale(bytes)) }
  }
}

extension JSONNumber: Hashable {
  /// Compares by numeric value.
  public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
    if sameBytes(left.text, right.text) { return true }
    return left.withScale { leftScale in
      right.withScale { rightScale in leftScale.isSameValue(as: rightScale) }
    }
  }

  /// Hashes the numeric value, so that `1.10` and `1.1` hash alike.
  public func hash(into hasher: inout Hasher) {
    withScale { scale in scale.hash(into: &hasher) }
  }
}

extension JSONNumber: CustomStringConvertible {
  /// The number as it was written.
  public var description: String { text }
}

extension JSONNumber: ExpressibleByIntegerLiteral {
  /// Makes a number from an integer literal.
  public init(integerLiteral value: Int64) { self.init(value) }
}
