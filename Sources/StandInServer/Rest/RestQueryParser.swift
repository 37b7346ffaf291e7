extension RestQuery {
  /// Reads the query string of a request for a table.
  init(parsing query: String) throws(RestError) {
    guard QueryText.isUTF8(query) else { throw RestError(400, "PGRST100", "the query string is not UTF-8") }
    let parameters = QueryText.parameters(query).compactMap { name, value in value.map { (name: name, value: $0) } }
    var hasOrder = false
    var hasLimit = false
    var hasOffset = false
    var foreign: String?
    for (name, value) in parameters {
      let words = name.split(separator: ".", omittingEmptySubsequences: false)
      let prefix = words.dropLast()
      switch words.last {
      case "order", "limit", "offset":
        guard prefix.isEmpty else {
          foreign = foreign ?? prefix.joined(separator: ".")
          continue
        }
        // Of two parameters of one name the first counts.
        if words.last == "order", !hasOrder {
          order = try QueryGrammar.order(value)
          hasOrder = true
        } else if words.last == "limit", !hasLimit {
          limit = Int(value)
          hasLimit = true
        } else if words.last == "offset", !hasOffset {
          offset = max(0, Int(value) ?? 0)
          hasOffset = true
        }
      case "and", "or":
        let isNegated = prefix.last == "not"
        let path = isNegated ? prefix.dropLast() : prefix
        filters.append(try QueryGrammar.logic("\(isNegated ? "not." : "")\(words[words.count - 1])\(value)"))
        if !path.isEmpty { foreign = foreign ?? path.joined(separator: ".") }
      default:
        switch name {
        case "select", "columns", "on_conflict": continue
        default:
          let (path, node) = try QueryGrammar.filter(name, value)
          if path.isEmpty { filters.append(node) } else { foreign = foreign ?? path.joined(separator: ".") }
        }
      }
    }
    if let value = parameters.first(where: { $0.name == "select" })?.value, !value.isEmpty {
      select = try QueryGrammar.select(value)
    }
    columns = try parameters.first { $0.name == "columns" }.map { (found) throws(RestError) in
      try QueryGrammar.names("columns parameter", found.value)
    }
    onConflict = try parameters.first { $0.name == "on_conflict" }.map { (found) throws(RestError) in
      try QueryGrammar.names("on_conflict parameter", found.value)
    }
    if let foreign {
      throw RestError(
        400, "PGRST108", "'\(foreign)' is not an embedded resource in this request",
        hint: "Verify that '\(foreign)' is included in the 'select' query parameter.")
    }
  }
}

/// PostgREST's grammar of query parameters.
enum QueryGrammar {
  /// `id,name:title,done::text,detail->>colour`, `*`.
  static func select(_ text: String) throws(RestError) -> [SelectItem] {
    var scanner = QueryScanner("select parameter", text)
    var items: [SelectItem] = []
    repeat {
      scanner.skipBlanks()
      items.append(try selectItem(&scanner))
      scanner.skipBlanks()
    } while scanner.take(",")
    guard scanner.isAtEnd else { throw scanner.failure(expecting: "\",\" or end of input") }
    return items
  }

  /// `id.desc.nullslast,title`.
  static func order(_ text: String) throws(RestError) -> [OrderTerm] {
    var scanner = QueryScanner("order", text)
    var terms: [OrderTerm] = []
    repeat {
      let field = try scanner.field()
      if scanner.next == "(" { throw .notImplemented("ordering by a related table") }
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
      terms.append(OrderTerm(field: field, isDescending: isDescending, nullsFirst: nullsFirst ?? isDescending))
    } while scanner.take(",")
    return terms
  }

  /// `col=op.value`; the path is not empty for a column of an embedded table.
  static func filter(_ name: String, _ value: String) throws(RestError) -> (path: [String], FilterNode) {
    var names = QueryScanner("tree path", name)
    var path = [try names.fieldName()]
    while names.take(".") { path.append(try names.fieldName()) }
    let (steps, isText) = try names.jsonPath()
    guard names.isAtEnd else { throw names.failure(expecting: "\".\" or end of input") }
    var scanner = QueryScanner("filter", value)
    let (isNegated, comparison) = try operation(&scanner, isInLogic: false)
    let field = FieldReference(column: path.removeLast(), path: steps, isText: isText)
    return (path, .condition(field, isNegated: isNegated, comparison))
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

  private static let aggregates = ["avg", "count", "max", "min", "sum"]

  private static func selectItem(_ scanner: inout QueryScanner) throws(RestError) -> SelectItem {
    let start = scanner
    if scanner.take("*") {
      let isWhole = scanner.isAtEnd || scanner.next == ","
      guard isWhole else { throw scanner.failure(expecting: "\",\" or end of input") }
      return .everything
    }
    if scanner.take("...") { throw .notImplemented("spreading related tables") }
    let alias = try scanner.attempt { (scanner) throws(RestError) -> String? in
      guard let name = try? scanner.fieldName(), scanner.take(":"), scanner.next != ":" else { return nil }
      return name
    }
    var field = try scanner.field()
    if scanner.next == "(" || scanner.next == "!" {
      if field.column == "count", scanner.take("()") { throw aggregatesOff }
      _ = start
      throw .notImplemented("embedding related tables")
    }
    if scanner.take(".") {
      let word = scanner.until(["("])
      guard aggregates.contains(word), scanner.take("()") else {
        throw scanner.failure(expecting: "an aggregate function")
      }
      throw aggregatesOff
    }
    var cast: String?
    if scanner.take("::") { cast = try scanner.fieldName() }
    if scanner.take("."), aggregates.contains(scanner.until(["("])) { throw aggregatesOff }
    if field.column == "*" { field = FieldReference(column: "*", path: [], isText: false) }
    return .field(field, alias: alias, cast: cast)
  }

  private static let aggregatesOff = RestError(400, "PGRST123", "Use of aggregate functions is not allowed")

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
      _ = value(&scanner, isInLogic)
      return (isNegated, .unsupported("range operators"))
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
