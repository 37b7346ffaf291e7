import LosslessJSON

/// What the types of columns allow in a file.
extension RowFile {
  /// Checks a value against its column and returns it in the form in which it is compared and sent.
  static func check(
    _ value: JSONValue, _ column: CollectionColumn, _ document: JSONDocument
  ) throws(RowFileProblem) -> JSONValue {
    func problem(_ message: String) -> RowFileProblem {
      RowFileProblem(document.error(message, at: JSONPath([.name(column.name)])))
    }
    if value.isNull {
      if column.isRequired, !column.isReadOnly {
        throw problem("null in \(JSONError.quoted(column.name)); expected \(expectation(of: column.type))")
      }
      return value
    }
    let mistake =
      "found \(describe(value, column.type)) in \(JSONError.quoted(column.name)); expected \(expectation(of: column.type))"
      + (column.isRequired || column.type == .json ? "" : " or null")
    switch column.type {
    case .json:
      return value
    case .boolean:
      guard value.boolValue != nil else { throw problem(mistake) }
      return value
    case .number:
      guard value.numberValue != nil else { throw problem(mistake) }
      return value
    case .integer:
      guard let number = value.numberValue, number.isIntegral else { throw problem(mistake) }
      guard let integer = number.int64 else {
        throw problem("the number in \(JSONError.quoted(column.name)) does not fit in 64 bits")
      }
      return .integer(integer)
    case .text:
      guard let text = value.stringValue else { throw problem(mistake) }
      // PostgreSQL cannot store it, so the row would only come back refused.
      if text.utf8.contains(0) {
        throw problem("the text in \(JSONError.quoted(column.name)) holds \\u0000, which no database text can hold")
      }
      return value
    case .uuid:
      guard let text = value.stringValue, UUIDText.isValid(text) else { throw problem(mistake) }
      return .string(text.lowercased())
    case .date:
      guard let text = value.stringValue, DateText.isDate(text) else { throw problem(mistake) }
      return value
    case .timestamp:
      guard let text = value.stringValue, DateText.isTimestamp(text) else { throw problem(mistake) }
      return value
    }
  }

  /// Brings a row's value into the form in which a file's values are compared.
  static func compared(_ value: JSONValue, _ type: ColumnType) -> JSONValue {
    switch (type, value) {
    case (.uuid, .string(let text)): .string(text.lowercased())
    default: value
    }
  }

  /// Whether two values of a column mean the same.
  ///
  /// Numbers by value, UUIDs whatever their case, everything else (times too) by its text.
  public static func isSame(_ left: JSONValue, _ right: JSONValue, _ type: ColumnType) -> Bool {
    compared(left, type) == compared(right, type)
  }

  /// What a column's type allows, for a sentence.
  static func expectation(of type: ColumnType) -> String {
    switch type {
    case .uuid: "a UUID such as \"8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10\""
    case .text: "a text in double quotes"
    case .boolean: "true or false"
    case .integer: "a whole number"
    case .number: "a number"
    case .date: "a date such as \"2026-10-18\""
    case .timestamp: "a time such as \"2026-10-18T13:00:00+00:00\""
    case .json: "any JSON value"
    }
  }

  /// Names what was found by its kind; its text belongs to the person and stays out of messages.
  private static func describe(_ value: JSONValue, _ type: ColumnType) -> String {
    switch (value, type) {
    case (.string, .uuid): "a text that is no UUID"
    case (.string, .date): "a text that is no date"
    case (.string, .timestamp): "a text that is no time"
    case (.number, .integer): "a number with a fraction"
    case (.string, _): "a text"
    case (.bool(let flag), _): flag ? "true" : "false"
    default: value.kindName
    }
  }
}
