import LosslessJSON
import SQLite

extension ColumnType {
  /// Reads a value from text as the type's input function does.
  func stored(_ text: String, now: Timestamp) throws(DatabaseFault) -> SQLiteValue {
    switch self {
    case .text:
      guard !text.utf8.contains(0) else {
        throw DatabaseFault("22021", "invalid byte sequence for encoding \"UTF8\": 0x00")
      }
      return .text(text)
    case .uuid:
      guard let uuid = UUIDText.normalised(text) else { throw .badText(text, for: self) }
      return .text(uuid)
    case .boolean:
      guard let flag = Self.boolean(text) else { throw .badText(text, for: self) }
      return .integer(flag ? 1 : 0)
    case .int2: return .integer(try integer(text, within: Int64(Int16.min)...Int64(Int16.max)))
    case .int4: return .integer(try integer(text, within: Int64(Int32.min)...Int64(Int32.max)))
    case .int8: return .integer(try integer(text, within: Int64.min...Int64.max))
    case .numeric:
      guard let number = DecimalText(text) else { throw .badText(text, for: self) }
      return .text(number.text)
    case .float8: return try double(text)
    case .date, .timestamptz: return try time(text, now: now)
    case .json, .jsonb:
      do {
        let value = try JSONValue(parsing: text)
        return .text(self == .json ? text : JSONBText.text(of: value))
      } catch {
        throw DatabaseFault("22P02", "invalid input syntax for type \(name)")
      }
    case .textArray, .int4Array:
      guard let elements = ArrayText.parse(text), let element else {
        throw DatabaseFault("22P02", "malformed array literal: \"\(text)\"")
      }
      return try array(elements, of: element, now: now)
    case .int4Range: return .text(try range(text))
    case .tsvector:
      guard let vector = TextSearchVector.normalised(text) else {
        throw DatabaseFault("42601", "syntax error in tsvector: \"\(text)\"")
      }
      return .text(vector)
    }
  }

  private func range(_ text: String) throws(DatabaseFault) -> String {
    do throws(IntegerRange.Fault) {
      return try IntegerRange(text).text
    } catch {
      switch error {
      case .malformed: throw DatabaseFault("22P02", "malformed range literal: \"\(text)\"")
      case .order: throw DatabaseFault("22000", "range lower bound must be less than or equal to range upper bound")
      case .outOfRange(let number): throw DatabaseFault("22003", "value \"\(number)\" is out of range for type integer")
      case .notANumber(let word): throw .badText(word, for: .int4)
      }
    }
  }

  /// Reads a value from JSON as `json_to_recordset` does: a scalar by its text, `null` as NULL.
  func stored(_ value: JSONValue, now: Timestamp) throws(DatabaseFault) -> SQLiteValue {
    if case .string(let text) = value, text.utf8.contains(0) {
      throw DatabaseFault(
        "22P05", "unsupported Unicode escape sequence", details: "\\u0000 cannot be converted to text.")
    }
    switch (self, value) {
    case (.json, _): return value.isNull ? .null : .text(value.serialized())
    case (.jsonb, .null), (_, .null): return .null
    case (.jsonb, _): return .text(JSONBText.text(of: value))
    case (_, .string(let text)): return try stored(text, now: now)
    case (_, .number(let number)): return try stored(number.text, now: now)
    case (_, .bool(let flag)): return try stored(flag ? "true" : "false", now: now)
    case (.textArray, .array(let elements)), (.int4Array, .array(let elements)):
      return try array(elements.map(Self.plainText), of: element ?? .text, now: now)
    case (_, .array), (_, .object): return try stored(value.serialized(), now: now)
    }
  }

  /// The text of a JSON value as `->>` gives it: strings without quotes, `nil` for null.
  static func plainText(_ value: JSONValue) -> String? {
    switch value {
    case .null: nil
    case .string(let text): text
    default: value.serialized(.oneLine)
    }
  }

  /// The elements of an array as it is stored, as texts.
  static func elements(ofStored text: String) -> [String?] {
    ((try? JSONValue(parsing: text).arrayValue) ?? []).map(plainText)
  }

  /// PostgreSQL takes every unambiguous beginning of these words, in any case.
  private static func boolean(_ text: String) -> Bool? {
    let word = String(decoding: trimmedBytes(text), as: UTF8.self).lowercased()
    guard !word.isEmpty else { return nil }
    if word == "1" || "true".hasPrefix(word) || "yes".hasPrefix(word) || word == "on" { return true }
    if word == "0" || "false".hasPrefix(word) || "no".hasPrefix(word) || (word.count > 1 && "off".hasPrefix(word)) {
      return false
    }
    return nil
  }

  private func integer(_ text: String, within range: ClosedRange<Int64>) throws(DatabaseFault) -> Int64 {
    let trimmed = trimmedBytes(text)
    let digits =
      trimmed.first.map { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") } == true
      ? trimmed.dropFirst() : trimmed
    guard !digits.isEmpty, digits.allSatisfy(isDigit) else { throw .badText(text, for: self) }
    guard let number = Int64(String(decoding: trimmed, as: UTF8.self)), range.contains(number) else {
      throw DatabaseFault("22003", "value \"\(text)\" is out of range for type \(name)")
    }
    return number
  }

  private func double(_ text: String) throws(DatabaseFault) -> SQLiteValue {
    let trimmed = String(decoding: trimmedBytes(text), as: UTF8.self)
    switch trimmed.lowercased() {
    case "nan": return .text("NaN")
    case "infinity", "+infinity", "inf", "+inf": return .real(.infinity)
    case "-infinity", "-inf": return .real(-.infinity)
    default: break
    }
    // Swift's reader takes "0x1p3" and "nan(7)" as well; a decimal number has only these characters.
    let isDecimal = trimmed.utf8.allSatisfy { isDigit($0) || "+-.eE".utf8.contains($0) }
    guard isDecimal, let number = Double(trimmed) else { throw .badText(text, for: self) }
    guard number.isFinite else {
      throw DatabaseFault("22003", "\"\(text)\" is out of range for type double precision")
    }
    return .real(number)
  }

  private func time(_ text: String, now: Timestamp) throws(DatabaseFault) -> SQLiteValue {
    do throws(TimeFault) {
      if self == .date { return .integer(try TimeReader.day(text, now: now)) }
      return .integer(try TimeReader.timestamp(text, now: now).microseconds)
    } catch {
      switch error {
      case .syntax: throw DatabaseFault("22007", "invalid input syntax for type \(name): \"\(text)\"")
      case .range:
        throw DatabaseFault(
          "22008", "date/time field value out of range: \"\(text)\"",
          hint: "Perhaps you need a different \"datestyle\" setting.")
      }
    }
  }

  private func array(_ elements: [String?], of element: ColumnType, now: Timestamp) throws(DatabaseFault) -> SQLiteValue
  {
    var values: [JSONValue] = []
    for text in elements {
      switch try text.map({ (text) throws(DatabaseFault) in try element.stored(text, now: now) }) {
      case .integer(let number)?: values.append(.number(JSONNumber(number)))
      case .text(let text)?: values.append(.string(text))
      default: values.append(.null)
      }
    }
    return .text(JSONValue.array(values).serialized())
  }
}

extension Column {
  /// Reads a value from JSON as the column's type does, its greatest length with it.
  func stored(_ value: JSONValue, now: Timestamp) throws(DatabaseFault) -> SQLiteValue {
    try limited(try type.stored(value, now: now))
  }

  /// A value that SQLite worked out, as a value of the column.
  func fitted(_ value: SQLiteValue, now: Timestamp) throws(DatabaseFault) -> SQLiteValue {
    try limited(try type.returned(value, now: now))
  }

  /// Spaces beyond the greatest length are cut off in silence, as the SQL standard has it; anything else is refused.
  private func limited(_ value: SQLiteValue) throws(DatabaseFault) -> SQLiteValue {
    guard let lengthMax, case .text(let text) = value, text.unicodeScalars.count > lengthMax else { return value }
    let excess = text.unicodeScalars.dropFirst(lengthMax)
    guard excess.allSatisfy({ $0 == " " }) else {
      throw DatabaseFault("22001", "value too long for type character varying(\(lengthMax))")
    }
    return .text(String(text.unicodeScalars.prefix(lengthMax)))
  }
}

/// The forms of a UUID.
enum UUIDText {
  /// The UUID in lower case with its four hyphens, or `nil` when the text is none.
  ///
  /// PostgreSQL takes upper case, braces, and hyphens after every fourth digit or nowhere.
  static func normalised(_ text: String) -> String? {
    var bytes = Array(text.utf8)[...]
    if bytes.first == UInt8(ascii: "{") {
      guard bytes.last == UInt8(ascii: "}") else { return nil }
      bytes = bytes.dropFirst().dropLast()
    }
    var digits: [UInt8] = []
    digits.reserveCapacity(36)
    var count = 0
    var afterHyphen = true
    for byte in bytes {
      if byte == UInt8(ascii: "-") {
        guard count % 4 == 0, !afterHyphen else { return nil }
        afterHyphen = true
        continue
      }
      guard count < 32, let digit = hexadecimal(byte) else { return nil }
      if count == 8 || count == 12 || count == 16 || count == 20 { digits.append(UInt8(ascii: "-")) }
      digits.append(digit)
      count += 1
      afterHyphen = false
    }
    guard count == 32, !afterHyphen else { return nil }
    return String(decoding: digits, as: UTF8.self)
  }

  /// A random UUID (version 4) from 16 random bytes.
  static func random(_ randomBytes: (Int) -> [UInt8]) -> String {
    var bytes = randomBytes(16)
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for (place, byte) in bytes.enumerated() {
      if place == 4 || place == 6 || place == 8 || place == 10 { text.append(UInt8(ascii: "-")) }
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func hexadecimal(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): byte
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte + 32
    default: nil
    }
  }
}
