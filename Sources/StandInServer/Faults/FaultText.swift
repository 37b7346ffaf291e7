import LosslessJSON

extension StandInFault {
  /// Reads faults as a command line writes them: `dropAfter method=POST probability=0.1; latency milliseconds=200`.
  ///
  /// The words behind a kind are the members of its JSON; a JSON array of faults is read too. Without `times` a fault
  /// stays.
  ///
  /// - Throws: What is wrong with the first fault that cannot be read.
  public static func faults(parsing text: String) throws(Mistake) -> [StandInFault] {
    if text.utf8.first == UInt8(ascii: "[") {
      guard let values = try? JSONValue(parsing: text).arrayValue else { throw Mistake(description: "not JSON") }
      return try values.map { (value) throws(Mistake) in try StandInFault(json: value, times: nil) }
    }
    return try text.split(separator: ";").map { (part) throws(Mistake) in
      var object = JSONObject()
      for word in part.split(separator: " ") {
        if object.isEmpty {
          object["kind"] = .string(String(word))
          continue
        }
        guard let equals = word.firstIndex(of: "=") else {
          throw Mistake(description: "'\(word)' is no NAME=VALUE")
        }
        object[String(word[..<equals])] = value(String(word[word.index(after: equals)...]))
      }
      return try StandInFault(json: .object(object), times: nil)
    }
  }

  /// A number where it is one, and otherwise a text.
  private static func value(_ text: String) -> JSONValue {
    if let value = try? JSONValue(parsing: text), value.numberValue != nil { return value }
    return .string(text)
  }
}
