import FoundationEssentials
import LosslessJSON

/// Rows between a developer's types and JSON.
///
/// Times are written in UTC with the microseconds PostgreSQL keeps (RFC 3339), and read with any number of digits. What a
/// type encodes as `nil` is left out, and what it encodes as null is null: an update then clears the column.
enum RowCoding {
  /// The JSON of a value.
  static func json(_ value: some Encodable) throws(OfflineError) -> JSONValue {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    encoder.dateEncodingStrategy = .custom { date, encoder in
      guard microseconds(date) != nil else {
        throw EncodingError.invalidValue(
          date, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "no calendar holds the time"))
      }
      var container = encoder.singleValueContainer()
      try container.encode(text(date))
    }
    do {
      return try JSONValue(parsing: Array(encoder.encode(value)))
    } catch {
      throw .invalidRequest(reason: "the value cannot be written as JSON: \(place(error))")
    }
  }

  /// A value from JSON.
  static func value<T: Decodable>(_ type: T.Type, _ json: JSONValue) throws(OfflineError) -> T {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { decoder in
      let container = try decoder.singleValueContainer()
      let text = try container.decode(String.self)
      guard let date = date(text) else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a date or time")
      }
      return date
    }
    do {
      return try decoder.decode(type, from: Data(json.serialized().utf8))
    } catch {
      throw .decoding(reason: place(error))
    }
  }

  /// The time in UTC, such as `2026-10-18T13:00:27.486123Z`; a text that the server refuses for what is no time.
  static func text(_ date: Date) -> String {
    guard let microseconds = microseconds(date) else { return "no time" }
    let (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    let fraction = rest < 0 ? rest + 1_000_000 : rest
    let whole = Date(timeIntervalSince1970: Double(rest < 0 ? seconds - 1 : seconds)).formatted(.iso8601)
    guard fraction != 0 else { return whole }
    let digits = String(fraction)
    return whole.dropLast() + "." + String(repeating: "0", count: 6 - digits.count) + digits + "Z"
  }

  /// The microseconds since 1970 of a time in the years that have four digits.
  private static func microseconds(_ date: Date) -> Int64? {
    let seconds = date.timeIntervalSince1970
    guard seconds >= -62_135_769_600, seconds < 253_402_300_799 else { return nil }
    return Int64((seconds * 1_000_000).rounded())
  }

  /// The time that a text of the server means; a date without a time is its first moment in UTC.
  static func date(_ text: String) -> Date? {
    let stamp = ServerTimestamp(text.utf8.count == 10 ? text + "T00:00:00Z" : text)
    return stamp.map { Date(timeIntervalSince1970: Double($0.microseconds) / 1_000_000) }
  }

  /// Where and why coding failed, without any value.
  private static func place(_ error: any Error) -> String {
    let (path, reason): ([any CodingKey], String) =
      switch error {
      case DecodingError.keyNotFound(let key, let context): (context.codingPath + [key], "it is missing")
      case DecodingError.valueNotFound(_, let context): (context.codingPath, "it is null")
      case DecodingError.typeMismatch(let type, let context): (context.codingPath, "it is not \(type)")
      case DecodingError.dataCorrupted(let context): (context.codingPath, context.debugDescription)
      case EncodingError.invalidValue(_, let context): (context.codingPath, context.debugDescription)
      default: ([], "\(type(of: error))")
      }
    guard !path.isEmpty else { return reason }
    return "'" + path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".") + "': \(reason)"
  }
}
