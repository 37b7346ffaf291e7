/// PostgREST's grammar of query parameters.
enum QueryGrammar {
  /// `id.desc.nullslast,title`.
  static func order(_ text: String) throws(RestError) -> [OrderTerm] {
    var scanner = QueryScanner("order", text)
    var terms: [OrderTerm] = []
    repeat {
      var field = try scanner.field()
      var relation: String?
      if field.path.isEmpty, scanner.take("(") {
        relation = field.column
        field = try scanner.field()
        try scanner.expect(")")
      }
      var direction: Bool?
      var nullsFirst: Bool?
      while !scanner.isAtEnd, scanner.next != "," {
        let start = scanner
        guard scanner.take("."), nullsFirst == nil else {
          throw scanner.failure(expecting: "\"asc\", \"desc\", \"nullsfirst\" or \"nullslast\"")
        }
        if direction == nil, scanner.take("asc") {
          direction = false
        } else if direction == nil, scanner.take("desc") {
          direction = true
        } else if scanner.take("nullsfirst") {
          nullsFirst = true
        } else if scanner.take("nullslast") {
          nullsFirst = false
        } else {
          throw start.failure(expecting: "\"asc\", \"desc\", \"nullsfirst\" or \"nullslast\"")
        }
      }
      let isDescending = direction ?? false
      // PostgreSQL takes NULL for greater than every value, unless told otherwise.
      terms.append(
        OrderTerm(
          relation: relation, field: field, isDescending: isDescending, nullsFirst: nullsFirst ?? isDescending))
      scanner.skipBlanks()
    } while scanner.take(",")
    return terms
  }

  /// A parameter that is none of the reserved ones.
  enum Parameter {
    /// A condition; the path is not empty for a column of an embedded table.
    case filter([String], FilterNode)
    /// An argument of a function.
    case argument(String)
  }

  /// `col=op.value`, or `name=value` of a function's argument.
  static func parameter(
    _ name: String, _ value: String, mayBeArgument: Bool
  ) throws(RestError) -> Parameter {
    var names = QueryScanner("tree path", name)
    var path = [try names.fieldName()]
    while names.take(".") { path.append(try names.fieldName()) }
    let (steps, isText) = try names.jsonPath()
    guard names.isAtEnd else { throw names.failure(expecting: "\".\" or end of input") }
    var scanner = QueryScanner("filter", value)
    let column = path.removeLast()
    if mayBeArgument, !startsLikeOperation(value) { return .argument(column) }
    let (isNegated, comparison) = try operation(&scanner, isInLogic: false)
    let field = FieldReference(column: column, path: steps, isText: isText)
    return .filter(path, .condition(field, isNegated: isNegated, comparison))
  }

  /// The tables before the last name of a parameter such as `photos.order`.
  static func path(_ name: String) throws(RestError) -> [String] {
    guard name.contains(".") else { return [] }
    var names = QueryScanner("tree path", name)
    var path = [try names.fieldName()]
    while names.take(".") { path.append(try names.fieldName()) }
    guard names.isAtEnd else { throw names.failure(expecting: "\".\" or end of input") }
    path.removeLast()
    return path
  }

  /// Whether a value begins with an operator, so that it is a condition and no argument.
  private static func startsLikeOperation(_ value: String) -> Bool {
    // After these two PostgREST never turns back, whatever follows.
    if value.hasPrefix("in.") || value.hasPrefix("is.") { return true }
    var scanner = QueryScanner("filter", value)
    return (try? operation(&scanner, isInLogic: false)) != nil
  }

  /// `or(a.eq.1,not.and(b.gt.2,c.is.null))`.
  static func logic(_ text: String) throws(RestError) -> FilterNode {
    var scanner = QueryScanner("logic tree", text)
    let node = try logicNode(&scanner, depth: 0)
    guard scanner.isAtEnd else { throw scanner.failure(expecting: "end of input") }
    return node
  }

  /// `id,"title"`.
  static func names(_ what: String, _ text: String) throws(RestError) -> [String] {
    var scanner = QueryScanner(what, text)
    var found: [String] = []
    repeat {
      scanner.skipBlanks()
      found.append(try scanner.fieldName())
      scanner.skipBlanks()
    } while scanner.take(",")
    guard scanner.isAtEnd else { throw scanner.failure(expecting: "\",\" or end of input") }
    return found
  }

  // MARK: Parts

  /// Deeper trees are refused rather than answered from an overflown stack.
  private static let depthMax = 100

  private static func logicNode(_ scanner: inout QueryScanner, depth: Int) throws(RestError) -> FilterNode {
    guard depth < depthMax else { throw scanner.failure(expecting: "at most \(depthMax) levels") }
    scanner.skipBlanks()
    let condition = try scanner.attempt { (scanner) throws(RestError) -> FilterNode? in
      guard let field = try? scanner.field(), scanner.take(".") else { return nil }
      // "not.and(…)" and "and(…)" begin like a column; a column called so must be quoted or have an operator.
      if field.column == "not", field.path.isEmpty, Self.startsGroup(scanner) { return nil }
      let (isNegated, comparison) = try operation(&scanner, isInLogic: true)
      return .condition(field, isNegated: isNegated, comparison)
    }
    if let condition {
      scanner.skipBlanks()
      return condition
    }
    let isNegated = scanner.take("not.")
    let isOr: Bool
    if scanner.take("and") {
      isOr = false
    } else if scanner.take("or") {
      isOr = true
    } else {
      throw scanner.failure(
        expecting: "field name (* or [a..z0..9_$]), negation operator (not) or logic operator (and, or)")
    }
    scanner.skipBlanks()
    try scanner.expect("(")
    var nodes: [FilterNode] = []
    repeat {
      nodes.append(try logicNode(&scanner, depth: depth + 1))
      scanner.skipBlanks()
    } while scanner.take(",")
    try scanner.expect(")", as: "\",\" or \")\"")
    scanner.skipBlanks()
    return .group(isNegated: isNegated, isOr: isOr, nodes)
  }

  private static func startsGroup(_ scanner: QueryScanner) -> Bool {
    var ahead = scanner
    guard ahead.take("and") || ahead.take("or") else { return false }
    ahead.skipBlanks()
    return ahead.next == "("
  }

  private static let rangeOperators = ["sl", "sr", "nxr", "nxl", "adj"]
  private static let textSearchOperators = ["fts", "plfts", "phfts", "wfts"]

  private static func operation(
    _ scanner: inout QueryScanner, isInLogic: Bool
  ) throws(RestError) -> (isNegated: Bool, Comparison) {
    let isNegated = scanner.take("not.")
    if scanner.take("in.") { return (isNegated, .list(try list(&scanner))) }
    if scanner.take("is.") { return (isNegated, .isValue(try isValue(&scanner))) }
    if scanner.take("isdistinct.") { return (isNegated, .isDistinct(value(&scanner, isInLogic))) }
    if scanner.take("neq.") { return (isNegated, .notEqual(value(&scanner, isInLogic))) }
    for name in ["cs", "cd", "ov"] where scanner.take("\(name).") {
      return (isNegated, .containment(name, value(&scanner, isInLogic)))
    }
    for name in rangeOperators where scanner.take("\(name).") {
      return (isNegated, .containment(name, value(&scanner, isInLogic)))
    }
    for name in textSearchOperators {
      let found = try scanner.attempt { (scanner) throws(RestError) -> Bool? in
        guard scanner.take(name) else { return nil }
        if scanner.take("(") {
          _ = scanner.until([")"])
          guard scanner.take(")") else { return nil }
        }
        return scanner.take(".") ? true : nil
      }
      guard found != nil else { continue }
      _ = value(&scanner, isInLogic)
      return (isNegated, .unsupported("full-text search"))
    }
    for name in [Comparison.Operator.eq, .gte, .gt, .lte, .lt, .like, .ilike, .match, .imatch] {
      let quantifier = try scanner.attempt { (scanner) throws(RestError) -> Comparison.Quantifier?? in
        guard scanner.take(name.rawValue) else { return nil }
        var quantifier: Comparison.Quantifier?
        if scanner.take("(any)") { quantifier = .any } else if scanner.take("(all)") { quantifier = .all }
        return scanner.take(".") ? .some(quantifier) : nil
      }
      if let quantifier { return (isNegated, .compare(name, quantifier, value(&scanner, isInLogic))) }
    }
    throw scanner.failure(expecting: isNegated ? "operator (eq, gt, ...)" : "\"not\" or operator (eq, gt, ...)")
  }

  /// A plain filter's value is everything that follows; in a logic tree it ends at a comma or parenthesis.
  private static func value(_ scanner: inout QueryScanner, _ isInLogic: Bool) -> String {
    guard isInLogic else { return scanner.rest() }
    if let quoted = scanner.quotedElement() { return quoted }
    var ahead = scanner
    if ahead.take("{") {
      let inner = ahead.until(["{", "}"])
      if ahead.take("}") {
        scanner = ahead
        return "{\(inner)}"
      }
    }
    return scanner.until([",", ")"])
  }

  private static func list(_ scanner: inout QueryScanner) throws(RestError) -> [String] {
    scanner.skipBlanks()
    try scanner.expect("(")
    scanner.skipBlanks()
    var elements: [String] = []
    repeat {
      elements.append(scanner.quotedElement() ?? scanner.until([",", ")"]))
    } while scanner.take(",")
    try scanner.expect(")", as: "\",\" or \")\"")
    scanner.skipBlanks()
    // One empty element is the empty list: `in.()` matches nothing.
    return elements == [""] ? [] : elements
  }

  private static func isValue(_ scanner: inout QueryScanner) throws(RestError) -> Comparison.IsValue {
    var ahead = scanner
    let word = ahead.until([",", ")", " "]).lowercased()
    guard let value = Comparison.IsValue(rawValue: word) else {
      throw scanner.failure(expecting: "isVal: (null, not_null, true, false, unknown)")
    }
    scanner = ahead
    return value
  }
}
