/// An error as PostgreSQL raises it: the SQLSTATE code and its texts.
struct DatabaseFault: Error, Equatable {
  let code: String
  let message: String
  var details: String?
  var hint: String?

  init(_ code: String, _ message: String, details: String? = nil, hint: String? = nil) {
    self.code = code
    self.message = message
    self.details = details
    self.hint = hint
  }

  /// A text that is no value of a type.
  static func badText(_ text: String, for type: ColumnType) -> DatabaseFault {
    DatabaseFault("22P02", "invalid input syntax for type \(type.name): \"\(text)\"")
  }

  /// An operator that a type lacks.
  static func noOperator(_ operation: String, left: String, right: String = "unknown") -> DatabaseFault {
    DatabaseFault(
      "42883", "operator does not exist: \(left) \(operation) \(right)",
      hint: "No operator matches the given name and argument types. You might need to add explicit type casts.")
  }
}
