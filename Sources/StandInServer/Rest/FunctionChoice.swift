import LosslessJSON

/// What a call gives a function, and which of the functions of one name it means.
struct FunctionArguments {
  /// How the values came.
  enum Values {
    /// By the query or a form: texts, in order.
    case texts([(name: String, value: String)])
    /// By a body of JSON: the members of its object, and the whole document.
    case object(JSONObject, document: JSONValue)
    /// By a body that is no JSON.
    case text(String)
  }

  /// The names that are given, each once, sorted.
  let names: [String]
  let values: Values
  /// Whether a function with one unnamed argument may take the whole body.
  let mayBeWhole: Bool

  /// From the query of a read.
  init(_ arguments: [(name: String, value: String)]) {
    names = Set(arguments.map(\.name)).sorted()
    values = .texts(arguments)
    mayBeWhole = false
  }

  /// From a body.
  init(_ body: [UInt8], contentType: String?, columns: [String]?) throws(RestError) {
    mayBeWhole = true
    switch RestPayload.mediaType(contentType) {
    case "text/plain":
      names = []
      values = .text(String(decoding: body, as: UTF8.self))
    case "application/x-www-form-urlencoded":
      let given = QueryText.parameters(String(decoding: body, as: UTF8.self)).map { ($0, $1 ?? "") }
      names = Set(columns ?? given.map(\.0)).sorted()
      values = .texts(given)
    case "application/octet-stream", "text/xml":
      throw .notImplemented("functions that take bytes or XML")
    default:
      // A call without a body gives nothing.
      let payload = try RestPayload(
        body.isEmpty ? Array("{}".utf8) : body, contentType: contentType, columns: columns)
      names = Set(payload.columns).sorted()
      values = .object(payload.rows.first ?? [:], document: payload.document)
    }
  }

  private var isText: Bool { if case .text = values { true } else { false } }

  /// The function that is meant.
  func choose(named name: String, in schema: Schema) throws(RestError) -> StoredFunction {
    let named = schema.functions.filter { $0.name.utf8.elementsEqual(name.utf8) }
    var matching = named.filter(matches)
    if matching.isEmpty { matching = named.filter(takesWhole) }
    if matching.count == 1 { return matching[0] }
    guard matching.isEmpty else { throw Self.ambiguous(matching) }
    throw none(named: name, overloads: named, in: schema)
  }

  private func matches(_ function: StoredFunction) -> Bool {
    let given = Set(names)
    let required = Set(function.arguments.filter { $0.defaultValue == nil }.map(\.name))
    let known = Set(function.arguments.map(\.name))
    if function.arguments.isEmpty, isText { return false }
    return required.isSubset(of: given) && given.isSubset(of: known)
  }

  private func takesWhole(_ function: StoredFunction) -> Bool {
    guard mayBeWhole, function.arguments.count == 1, function.arguments[0].name.isEmpty else { return false }
    switch (values, function.arguments[0].type) {
    case (.text, .text), (.object, .json), (.object, .jsonb): return true
    default: return false
    }
  }

  private static func ambiguous(_ functions: [StoredFunction]) -> RestError {
    let shown = functions.map { function in
      let arguments = function.arguments.map { "\($0.name) => \($0.type.name)" }
      return "public.\(function.name)(\(arguments.joined(separator: ", ")))"
    }
    return RestError(
      300, "PGRST203",
      "Could not choose the best candidate function between: \(shown.joined(separator: ", "))",
      hint: "Try renaming the parameters or the function itself in the database so function overloading can be resolved"
    )
  }

  private func none(named name: String, overloads: [StoredFunction], in schema: Schema) -> RestError {
    let list = names.joined(separator: ", ")
    var searched = names.isEmpty ? " without parameters" : " with parameter\(names.count > 1 ? "s" : "") \(list)"
    if isText {
      searched = " with a single unnamed text parameter"
    } else if mayBeWhole, case .object = values {
      searched += " or with a single unnamed json/jsonb parameter"
    }
    let suffix = isText ? "" : names.isEmpty ? " without parameters" : "(\(list))"
    let hint: String?
    if isText {
      hint = nil
    } else if overloads.isEmpty {
      hint = Similarity.best(name, among: schema.functions.map(\.name))
    } else {
      let signatures = overloads.map { "(\($0.arguments.map(\.name).sorted().joined(separator: ", ")))" }
      hint = Similarity.best("(\(list))", among: signatures).map { name + $0 }
    }
    return RestError(
      404, "PGRST202", "Could not find the function public.\(name)\(suffix) in the schema cache",
      details: "Searched for the function public.\(name)\(searched), but no matches were found in the schema cache.",
      hint: hint.map { "Perhaps you meant to call the function public.\($0)" })
  }
}
