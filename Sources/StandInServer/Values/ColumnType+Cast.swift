import LosslessJSON
import SQLite

extension ColumnType {
  /// Casts a stored value as PostgreSQL's `::` does, or says that the types cannot be cast.
  func cast(_ value: SQLiteValue, to other: ColumnType, now: Timestamp) throws(DatabaseFault) -> SQLiteValue {
    guard canCast(to: other) else {
      throw DatabaseFault("42846", "cannot cast type \(name) to \(other.name)")
    }
    switch (self, other, value) {
    case (_, _, .null): return .null
    case (.boolean, .text, .integer(let number)): return .text(number == 0 ? "false" : "true")
    case (.boolean, _, .integer), (.date, .date, _): return value
    case (_, .boolean, .integer(let number)): return .integer(number == 0 ? 0 : 1)
    case (_, _, .integer(let number)) where isInteger && other == .float8: return .real(Double(number))
    case (_, _, .integer(let number)) where isInteger && other.isInteger:
      return try other.number(String(number), beyond: "\(other.name) out of range", now: now)
    case (.float8, _, .real(let number)) where other.isInteger:
      let rounded = number.rounded(.toNearestOrEven)
      guard rounded.magnitude < 9e18 else { throw DatabaseFault("22003", "\(other.name) out of range") }
      return try other.number(String(Int64(rounded)), beyond: "\(other.name) out of range", now: now)
    case (.numeric, _, .text(let text)) where other.isInteger:
      guard let rounded = DecimalText(text)?.roundedText else {
        throw DatabaseFault("22023", "cannot convert \(text) to \(other.name)")
      }
      return try other.number(rounded, beyond: "\(other.name) out of range", now: now)
    case (.json, .jsonb, .text(let text)), (.jsonb, .json, .text(let text)): return try other.stored(text, now: now)
    case (.jsonb, _, .text(let text)) where other != .text: return try other.scalar(ofJSONB: text, now: now)
    case (.textArray, .int4Array, .text(let text)), (.int4Array, .textArray, .text(let text)):
      return try other.stored(ArrayText.text(of: Self.elements(ofStored: text)), now: now)
    default:
      guard let text = postgresText(value) else { return .null }
      return try other.stored(text, now: now)
    }
  }

  private var isInteger: Bool { self == .int2 || self == .int4 || self == .int8 }
  private var isNumber: Bool { isInteger || self == .numeric || self == .float8 }

  private func canCast(to other: ColumnType) -> Bool {
    if self == other || self == .text || other == .text { return true }
    if isNumber, other.isNumber { return true }
    switch (self, other) {
    case (.boolean, .int4), (.int4, .boolean), (.date, .timestamptz), (.timestamptz, .date), (.json, .jsonb),
      (.jsonb, .json), (.jsonb, .boolean), (.textArray, .int4Array), (.int4Array, .textArray):
      return true
    case (.jsonb, _): return other.isNumber
    default: return false
    }
  }

  private func number(_ text: String, beyond message: String, now: Timestamp) throws(DatabaseFault) -> SQLiteValue {
    do {
      return try stored(text, now: now)
    } catch {
      throw error.code == "22003" ? DatabaseFault("22003", message) : error
    }
  }

  /// A scalar within a document; a text in it is none of another type.
  private func scalar(ofJSONB text: String, now: Timestamp) throws(DatabaseFault) -> SQLiteValue {
    let document = try? JSONValue(parsing: text)
    switch (document, self) {
    case (.bool(let flag)?, .boolean): return .integer(flag ? 1 : 0)
    case (.number(let number)?, _) where isNumber:
      return try ColumnType.numeric.cast(.text(DecimalText(number.text)?.text ?? number.text), to: self, now: now)
    default:
      let kind =
        switch document {
        case .bool?: "boolean"
        case .number?: "numeric"
        case .string?: "string"
        case .array?: "array"
        case .object?: "object"
        case .null?, nil: "null"
        }
      throw DatabaseFault("22023", "cannot cast jsonb \(kind) to type \(name)")
    }
  }

  /// Bytes whose order is that of a stored array: element by element, NULL behind all others, the shorter first.
  func arrayKey(of text: String) -> [UInt8] {
    var key: [UInt8] = []
    for element in (try? JSONValue(parsing: text))?.arrayValue ?? [] {
      switch element {
      case .null: key.append(2)
      case .number(let number):
        let shifted = UInt64(bitPattern: number.int64 ?? 0) ^ (1 << 63)
        key.append(1)
        for shift in stride(from: 56, through: 0, by: -8) {
          key.append(UInt8(truncatingIfNeeded: shifted >> UInt64(shift)))
        }
      default:
        key.append(1)
        // A zero ends the text, so that a prefix comes first; a zero within is told apart.
        for byte in (element.stringValue ?? "").utf8 { key += byte == 0 ? [0, 0xFF] : [byte] }
        key += [0, 0]
      }
    }
    return key + [0]
  }
}
