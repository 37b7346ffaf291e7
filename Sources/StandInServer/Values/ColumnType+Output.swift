import LosslessJSON
import SQLite

extension ColumnType {
  /// Appends a stored value as PostgREST writes it in JSON.
  func appendJSON(_ value: SQLiteValue, to output: inout [UInt8]) {
    switch (self, value) {
    case (_, .null): output.append(contentsOf: "null".utf8)
    case (.boolean, .integer(let number)): output.append(contentsOf: (number == 0 ? "false" : "true").utf8)
    case (.date, .integer(let day)): JSONText.append(Self.dateText(day), to: &output)
    case (.timestamptz, .integer(let number)):
      JSONText.append(Timestamp(microseconds: number).jsonText, to: &output)
    case (_, .integer(let number)): output.append(contentsOf: String(number).utf8)
    case (_, .real(let number)):
      let text = FloatText.text(of: number)
      if number.isFinite { output.append(contentsOf: text.utf8) } else { JSONText.append(text, to: &output) }
    case (.json, .text(let text)), (.jsonb, .text(let text)), (.textArray, .text(let text)),
      (.int4Array, .text(let text)):
      output.append(contentsOf: text.utf8)
    case (.numeric, .text(let text)):
      let isFinite = text != "NaN" && !text.hasSuffix("Infinity")
      if isFinite { output.append(contentsOf: text.utf8) } else { JSONText.append(text, to: &output) }
    case (_, .text(let text)): JSONText.append(text, to: &output)
    case (_, .blob): output.append(contentsOf: "null".utf8)
    }
  }

  /// A stored value as a stored value of `jsonb`.
  func jsonb(_ value: SQLiteValue) -> SQLiteValue {
    guard value != .null else { return .null }
    if self == .jsonb { return value }
    var text: [UInt8] = []
    appendJSON(value, to: &text)
    return (try? JSONValue(parsing: text)).map { .text(JSONBText.text(of: $0)) } ?? .null
  }

  /// Appends a stored value in JSON with no member in it that is null.
  func appendJSONWithoutNulls(_ value: SQLiteValue, to output: inout [UInt8]) {
    guard self == .json || self == .jsonb, case .text(let text) = value, let document = try? JSONValue(parsing: text)
    else { return appendJSON(value, to: &output) }
    output.append(contentsOf: JSONBText.withoutNulls(document).serializedBytes())
  }

  /// Appends a stored value as it is written within a `jsonb` document.
  func appendJSONB(_ value: SQLiteValue, to output: inout [UInt8]) {
    switch (self, value) {
    case (.float8, .real), (.json, .text), (.textArray, .text), (.int4Array, .text):
      guard case .text(let text) = jsonb(value) else { return output.append(contentsOf: "null".utf8) }
      output.append(contentsOf: text.utf8)
    default: appendJSON(value, to: &output)
    }
  }

  /// A stored value as PostgreSQL prints it in messages and casts; `nil` for NULL.
  func postgresText(_ value: SQLiteValue) -> String? {
    switch (self, value) {
    case (_, .null), (_, .blob): return nil
    case (.boolean, .integer(let number)): return number == 0 ? "f" : "t"
    case (.date, .integer(let day)): return Self.dateText(day)
    case (.timestamptz, .integer(let number)): return Timestamp(microseconds: number).postgresText
    case (_, .integer(let number)): return String(number)
    case (_, .real(let number)): return FloatText.text(of: number)
    case (.textArray, .text(let text)), (.int4Array, .text(let text)):
      return ArrayText.text(of: Self.elements(ofStored: text))
    case (_, .text(let text)): return text
    }
  }

  private static func dateText(_ day: Int64) -> String {
    if day == .max { return "infinity" }
    if day == .min { return "-infinity" }
    return CivilDate(daysSinceEpoch: Int(day)).text
  }
}

/// Doubles as PostgreSQL prints them: the shortest digits that read back, an exponent from 1e+15 on and below 1e-04.
enum FloatText {
  static func text(of number: Double) -> String {
    if number.isNaN { return "NaN" }
    if number.isInfinite { return number < 0 ? "-Infinity" : "Infinity" }
    if number == 0 { return number.sign == .minus ? "-0" : "0" }
    let (digits, exponent) = shortest(number.magnitude)
    let sign = number < 0 ? "-" : ""
    if exponent < -4 || exponent >= 15 {
      let mantissa = digits.count == 1 ? digits : digits.prefix(1) + "." + digits.dropFirst()
      return "\(sign)\(mantissa)e\(exponent < 0 ? "-" : "+")\(padded(abs(exponent), to: 2))"
    }
    if exponent < 0 { return sign + "0." + String(repeating: "0", count: -exponent - 1) + digits }
    if digits.count <= exponent + 1 {
      return sign + digits + String(repeating: "0", count: exponent + 1 - digits.count)
    }
    return sign + digits.prefix(exponent + 1) + "." + digits.dropFirst(exponent + 1)
  }

  /// The shortest digits and the power of ten of the first one, taken from Swift's own shortest description.
  private static func shortest(_ number: Double) -> (digits: String, exponent: Int) {
    let parts = number.description.split(separator: "e")
    let mantissa = parts[0].split(separator: ".", omittingEmptySubsequences: false)
    let whole = mantissa[0]
    let fraction = mantissa.count > 1 ? mantissa[1] : ""
    var exponent = (parts.count > 1 ? Int(parts[1]) ?? 0 : 0) + whole.count - 1
    var digits = String(whole + fraction)
    while digits.hasPrefix("0") && digits.count > 1 {
      digits.removeFirst()
      exponent -= 1
    }
    while digits.hasSuffix("0") && digits.count > 1 { digits.removeLast() }
    return (digits, exponent)
  }
}
